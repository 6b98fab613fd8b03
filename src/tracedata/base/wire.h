/* The events of a trace.dat file as funcgraph writes them: one table for writer, reader and format texts.
 *
 * Fields are smaller than the kernel's where they can be: trace.dat readers take offsets and sizes from the
 * format text. Every event starts with the four common fields:
 *     u16 common_type, u8 common_flags, u8 common_preempt_count, s32 common_pid (the thread id)
 *
 * `tail[]` of entry and exit: u64 start (CLOCK_MONOTONIC ns at which the call first began; names the call
 * across suspends) if kind has FG_WIRE_HAS_START; in an entry that has FG_WIRE_HAS_CALLER, where the call was made:
 * u32 the caller's address, u32 its line (of a native function: the offset in it); then values as in record.h, ended
 * by a 0 tag or the record.
 */
#ifndef FG_WIRE_H
#define FG_WIRE_H

#include <stdint.h>

#define FG_WIRE_PAGE_BYTES 4096u
#define FG_WIRE_PAGE_HEADER_BYTES 16u

/* Function i of the trace has the synthetic address FG_WIRE_FUNC_BASE + FG_WIRE_FUNC_STEP * i. */
#define FG_WIRE_FUNC_BASE 0x10000000u
#define FG_WIRE_FUNC_STEP 16u
/* What a record has whose function is not known: its symbol found no room, or the file is damaged. */
#define FG_WIRE_FUNC_UNKNOWN (FG_WIRE_FUNC_BASE - FG_WIRE_FUNC_STEP)
/* What a text that no function put in comes from: the kernel's name for it. */
#define FG_WIRE_FUNC_MARK (FG_WIRE_FUNC_UNKNOWN - FG_WIRE_FUNC_STEP)
#define FG_WIRE_MARK_NAME "tracing_mark_write"

#define FG_WIRE_HAS_START 0x80u
#define FG_WIRE_HAS_CALLER 0x40u
#define FG_WIRE_IRQ 0x20u /* of an entry or exit: the call was made for a signal */

enum fg_wire_entry_kind { FG_WIRE_START = 0, FG_WIRE_RESUME = 1 };
enum fg_wire_exit_kind { FG_WIRE_RETURN = 0, FG_WIRE_RAISE = 1, FG_WIRE_SUSPEND = 2, FG_WIRE_CLOSE = 3 };

/* X(event, id, system) and below F(type, name, offset, size, is_signed); size 0: to the end of the record */
#define FG_WIRE_EVENTS(X)                                                                                    \
    X(funcgraph_entry, 11, "ftrace")                                                                         \
    X(funcgraph_exit, 10, "ftrace")                                                                          \
    X(function, 1, "ftrace")                                                                                 \
    X(kernel_stack, 4, "ftrace")                                                                             \
    X(func_repeats, 20, "ftrace")                                                                            \
    X(print, 5, "ftrace")                                                                                    \
    X(recorder_wait, 2001, "funcgraph")                                                                      \
    X(overrun, 2002, "funcgraph")

#define FG_WIRE_FIELDS_funcgraph_entry(F)                                                                    \
    F("unsigned int", func, 8, 4, 0)                                                                         \
    F("unsigned int", depth, 12, 4, 0)                                                                       \
    F("unsigned char", kind, 16, 1, 0)                                                                       \
    F("unsigned char", tail[], 17, 0, 0)

#define FG_WIRE_FIELDS_funcgraph_exit(F)                                                                     \
    F("unsigned int", func, 8, 4, 0)                                                                         \
    F("unsigned int", depth, 12, 4, 0)                                                                       \
    F("unsigned long long", calltime, 16, 8, 0)                                                              \
    F("unsigned long long", rettime, 24, 8, 0)                                                               \
    F("unsigned short", overrun, 32, 2, 0)                                                                   \
    F("unsigned char", kind, 34, 1, 0)                                                                       \
    F("unsigned char", tail[], 35, 0, 0)

#define FG_WIRE_FIELDS_function(F)                                                                           \
    F("unsigned int", ip, 8, 4, 0)                                                                           \
    F("unsigned int", parent_ip, 12, 4, 0)                                                                   \
    F("unsigned char", tail[], 16, 0, 0)

/* What the call before it was made from, the nearest first: addresses of 8 bytes, as its readers take for granted. */
#define FG_WIRE_FIELDS_kernel_stack(F)                                                                       \
    F("int", size, 8, 4, 1)                                                                                  \
    F("unsigned long", caller[], 16, 0, 0)

/* delta_ts: from the last of the repeated calls to this record's time; 0, for the record is that of the last. */
#define FG_WIRE_FIELDS_func_repeats(F)                                                                       \
    F("unsigned int", ip, 8, 4, 0)                                                                           \
    F("unsigned int", parent_ip, 12, 4, 0)                                                                   \
    F("unsigned short", count, 16, 2, 0)                                                                     \
    F("unsigned short", top_delta_ts, 18, 2, 0)                                                              \
    F("unsigned int", bottom_delta_ts, 20, 4, 0)

#define FG_WIRE_FIELDS_print(F)                                                                              \
    F("unsigned long", ip, 8, 8, 0)                                                                          \
    F("char", buf[], 16, 0, 0)

#define FG_WIRE_FIELDS_recorder_wait(F) F("unsigned long long", duration_ns, 8, 8, 0)

#define FG_WIRE_FIELDS_overrun(F) F("unsigned long long", total, 8, 8, 0)

/* The trace's own JSON lies behind the last lane's data, and this at the file's very end says where. Stock
 * trace-cmd never looks there. (It passes over options that it does not know, but options come before the
 * data, and what the JSON says of the tasks is known only behind it.) */
#define FG_WIRE_FOOTER_MAGIC "FGEXTRA1"

struct fg_wire_footer {
    char magic[8];
    uint64_t offset;
    uint64_t bytes;
};

#endif
