/* The events of a trace.dat file: the one table from which the writer, the reader, the format texts in
 * the file and the check for damage are made. docs/reference/trace-file.md has the same table for
 * people; a test compares the two.
 *
 * Only what makes a trace.dat and what reads one knows these images. All else sees decoded events
 * (trace_event.h): read/dat/dat_event.c makes them of the images, make/dat_image.h makes the images of them.
 *
 * To add a field: add a line to its event's FG_WIRE_FIELDS below, to the event's data in trace_event.h, to
 * these two files, and to the table of docs/reference/trace-file.md. To add an event: a line in FG_EVENTS
 * and in FG_WIRE_EVENTS, its FG_WIRE_FIELDS, and the same in the document.
 *
 * Each event begins with the kernel's common fields. A field may be smaller than the kernel's, because
 * readers of trace.dat take offsets and sizes from the format texts.
 *
 * `tail` of entries and exits, in this order:
 *     FG_WIRE_HAS_START in kind: u64, when the call first began, in ns of the trace's clock. It names the
 *         call across its suspends.
 *     FG_WIRE_HAS_CALLER in kind (entries): u32 address of the function that made the call, u32 the line
 *         (in native code: the offset) at which it did.
 *     Values as in record.h, up to a tag 0 or the end of the record.
 *
 * `tail` of function and func_repeats: if `parent_ip` is no function's address but that +
 * FG_WIRE_FUNC_INSIDE, a u32, the line (in native code: the offset) at which the caller made the call. Then,
 * of function, values. */
#ifndef FG_WIRE_H
#define FG_WIRE_H

#include <stdint.h>

#include "tracedata/base/function_address.h"
#include "tracedata/base/trace_event.h"

#define FG_WIRE_PAGE_BYTES 4096u
#define FG_WIRE_PAGE_HEADER_BYTES 16u

#define FG_WIRE_FUNC_INSIDE 1u /* added to a function's address: the place in the function is known */
/* The address in a message that no function wrote: it has the name FG_MARK_NAME. */
#define FG_WIRE_FUNC_MARK (FG_FUNC_ADDRESS_UNKNOWN - FG_FUNC_ADDRESS_STEP)

/* `kind` of entries and exits: enum fg_entry_kind or fg_exit_kind, and these. */
#define FG_WIRE_HAS_START 0x80u
#define FG_WIRE_HAS_CALLER 0x40u
#define FG_WIRE_IRQ 0x20u /* the interpreter made the call for a signal */

/* X(event, system, print format). Its id is that of FG_EVENTS. Readers that do not know ftrace's own events
 * print them by that format. */
#define FG_WIRE_EVENTS(X)                                                                                    \
    X(funcgraph_entry, "ftrace", "\"depth %u: %ps\", REC->depth, (void *)(unsigned long)REC->func")          \
    X(funcgraph_exit, "ftrace", "\"depth %u: end of %ps\", REC->depth, (void *)(unsigned long)REC->func")    \
    X(function, "ftrace",                                                                                    \
      "\"%ps <-- %ps\", (void *)(unsigned long)REC->ip, (void *)(unsigned long)REC->parent_ip")              \
    X(kernel_stack, "ftrace", "\"<stack trace> of %d functions\", REC->size")                                \
    X(func_repeats, "ftrace",                                                                                \
      "\"%ps <-%ps (repeats:%u  delta: -%llu)\", (void *)(unsigned long)REC->ip, "                           \
      "(void *)(unsigned long)REC->parent_ip, REC->count, "                                                  \
      "((unsigned long long)REC->top_delta_ts << 32) | REC->bottom_delta_ts")                                \
    X(print, "ftrace", "\"%ps: %s\", (void *)REC->ip, REC->buf")                                             \
    X(raw_data, "ftrace", "\"id:%04x %08x\", REC->id, (int)REC->buf[0]")                                     \
    X(recorder_wait, "funcgraph", "\"waited %llu ns for the recorder\", REC->duration_ns")                   \
    X(overrun, "funcgraph", "\"%llu calls not traced so far: shadow stack full\", REC->total")               \
    X(unknown_event, "funcgraph", "\"an event of a kind that the trace does not name\"")

/* M(sort, type, type in the format text, name). Sorts: FIELD; PADDING, which no format text names; TAIL,
 * which takes the rest of the record. */
#define FG_WIRE_COMMON_FIELDS(M)                                                                             \
    M(FIELD, uint16_t, "unsigned short", common_type)                                                        \
    M(FIELD, uint8_t, "unsigned char", common_flags)                                                         \
    M(FIELD, uint8_t, "unsigned char", common_preempt_count)                                                 \
    M(FIELD, int32_t, "int", common_pid) /* the thread id */

#define FG_WIRE_FIELDS_funcgraph_entry(M)                                                                    \
    M(FIELD, uint32_t, "unsigned int", func)                                                                 \
    M(FIELD, uint32_t, "unsigned int", depth)                                                                \
    M(FIELD, uint8_t, "unsigned char", kind)                                                                 \
    M(TAIL, uint8_t, "unsigned char", tail)

#define FG_WIRE_FIELDS_funcgraph_exit(M)                                                                     \
    M(FIELD, uint32_t, "unsigned int", func)                                                                 \
    M(FIELD, uint32_t, "unsigned int", depth)                                                                \
    M(FIELD, uint64_t, "unsigned long long", calltime)                                                       \
    M(FIELD, uint64_t, "unsigned long long", rettime)                                                        \
    M(FIELD, uint16_t, "unsigned short", overrun)                                                            \
    M(FIELD, uint8_t, "unsigned char", kind)                                                                 \
    M(TAIL, uint8_t, "unsigned char", tail)

#define FG_WIRE_FIELDS_function(M)                                                                           \
    M(FIELD, uint32_t, "unsigned int", ip)                                                                   \
    M(FIELD, uint32_t, "unsigned int", parent_ip)                                                            \
    M(TAIL, uint8_t, "unsigned char", tail)

/* The callers of the call before it, the nearest first. Readers take addresses of 8 bytes at offset 16
 * for granted. */
#define FG_WIRE_FIELDS_kernel_stack(M)                                                                       \
    M(FIELD, int32_t, "int", size)                                                                           \
    M(PADDING, uint32_t, "", padding)                                                                        \
    M(TAIL, uint64_t, "unsigned long", caller)

/* delta_ts is the time from the last of the repeated calls to this record: 0, since the record has the
 * last one's time. */
#define FG_WIRE_FIELDS_func_repeats(M)                                                                       \
    M(FIELD, uint32_t, "unsigned int", ip)                                                                   \
    M(FIELD, uint32_t, "unsigned int", parent_ip)                                                            \
    M(FIELD, uint16_t, "unsigned short", count)                                                              \
    M(FIELD, uint16_t, "unsigned short", top_delta_ts)                                                       \
    M(FIELD, uint32_t, "unsigned int", bottom_delta_ts)                                                      \
    M(TAIL, uint8_t, "unsigned char", tail)

#define FG_WIRE_FIELDS_print(M)                                                                              \
    M(FIELD, uint64_t, "unsigned long", ip)                                                                  \
    M(TAIL, uint8_t, "char", buf)

#define FG_WIRE_FIELDS_raw_data(M)                                                                           \
    M(FIELD, uint32_t, "unsigned int", id)                                                                   \
    M(TAIL, uint8_t, "char", buf)

#define FG_WIRE_FIELDS_recorder_wait(M) M(FIELD, uint64_t, "unsigned long long", duration_ns)

#define FG_WIRE_FIELDS_overrun(M) M(FIELD, uint64_t, "unsigned long long", total)

#define FG_WIRE_FIELDS_unknown_event(M)

/* struct fg_wire_EVENT, as it lies in the file: not aligned, and little-endian. */
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "trace.dat is written and read as it lies in memory, little-endian"
#endif
#define FG_WIRE_MEMBER_FIELD(type, name) type name;
#define FG_WIRE_MEMBER_PADDING(type, name) type name;
#define FG_WIRE_MEMBER_TAIL(type, name) type name[];
#define FG_WIRE_MEMBER(sort, type, text, name) FG_WIRE_MEMBER_##sort(type, name)
struct __attribute__((packed)) fg_wire_common {
    FG_WIRE_COMMON_FIELDS(FG_WIRE_MEMBER)
};
#define X(event, system, print)                                                                              \
    struct __attribute__((packed)) fg_wire_##event {                                                         \
        FG_WIRE_COMMON_FIELDS(FG_WIRE_MEMBER)                                                                \
        FG_WIRE_FIELDS_##event(FG_WIRE_MEMBER)                                                               \
    };
FG_WIRE_EVENTS(X)
#undef X

/* The trace's own JSON lies after the last lane's data, and the last bytes of the file say where.
 * trace-cmd never looks there. (It would skip an option that it does not know, but options come before
 * the data, and the JSON says how many records each task has, which is known only after them.) */
#define FG_WIRE_FOOTER_MAGIC "FGEXTRA1"

struct fg_wire_footer {
    char magic[8];
    uint64_t offset;
    uint64_t bytes;
};

#endif
