/* Events as slices: when each stretch of each call begins and ends, each end with what is known of its call.
 *
 *     events of a thread          slices
 *     entry f, depth 0            begin f
 *       entry g, depth 1            begin g
 *       suspend g                   suspend g     the call goes on in a later stretch
 *       resume g                    resume g
 *       (lost: return of g)         lost g        ended by what comes next
 *     return f                    return f
 *     entry h, depth 0            begin h
 *     (no more events)            open h          ended at the thread's last event
 *
 * calls/assembler.h has the rules. A stretch whose end was lost has FG_SLICE_LOST_END: a `lost` row if its
 * call is over, a `suspend` if that has a name and may go on.
 *
 * Begins and ends of a thread are balanced, but for ends that have FG_SLICE_ONLY_END: their begins are not in
 * the trace (--thresh, losses). Times never go back within a thread; those of ends in progress at the
 * trace's end come last of all.
 *
 * Each call has one last row: an end that is no suspend, or `suspended`. A slicer may leave out rows of any
 * kind; the others are the same. */
#ifndef FG_SLICES_H
#define FG_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracedata/view/columns.h"

/* X(name, type, format of Python's struct module, meaning). */
#define FG_SLICES(X)                                                                                         \
    X(time_ns, uint64_t, "Q", "when")                                                                        \
    X(begin_ns, uint64_t, "Q", "when this stretch began; of a begin: time_ns")                               \
    X(call_ns, uint64_t, "Q", "when the call first began: its name, with function and process")              \
    X(ran_ns, uint64_t, "Q",                                                                                 \
      "of an end: how long the call has run so far, without suspends and waits for the recorder")            \
    X(self_ns, uint64_t, "Q", "of an end: how much of that without traced callees")                          \
    X(id, uint64_t, "Q", "the call's number, in the order in which calls are met")                           \
    X(above, uint64_t, "Q", "the number of the call in progress in the thread when it began; 0: none")       \
    X(root, uint64_t, "Q", "the number of the outermost call above it, which may be itself")                 \
    X(event, uint32_t, "I", "place of the event in its batch; FG_SLICE_NO_EVENT: none")                      \
    X(function, uint32_t, "I", "its index, or FG_FUNC_UNKNOWN")                                              \
    X(parent, uint32_t, "I", "function of the traced call around it, or FG_FUNC_UNKNOWN")                    \
    X(caller, uint32_t, "I", "function that made the call, or FG_FUNC_UNKNOWN")                              \
    X(caller_line, uint32_t, "I", "the line at which it did (native code: the offset), or 0")                \
    X(thread, uint32_t, "I", "its number")                                                                   \
    X(task, uint32_t, "I", "number of the task in which the event is")                                       \
    X(depth, uint32_t, "I", "of the call")                                                                   \
    X(resumes, uint32_t, "I", "of an end: how often the call was resumed so far")                            \
    X(what, uint8_t, "B", "enum fg_slice_what")                                                              \
    X(flags, uint8_t, "B", "FG_SLICE_...")

/* X(name, number): the first six are those of enum fg_column_kind. */
#define FG_SLICE_WHATS(X)                                                                                    \
    X(begin, 0)                                                                                              \
    X(resume, 1)                                                                                             \
    X(return, 2)                                                                                             \
    X(raise, 3)                                                                                              \
    X(suspend, 4)                                                                                            \
    X(close, 5)                                                                                              \
    X(lost, 6)      /* its end was lost */                                                                   \
    X(open, 7)      /* in progress when the thread's events end */                                           \
    X(suspended, 8) /* no slice: a call that is suspended at the trace's end */

enum fg_slice_what {
#define X(name, value) FG_SLICE_##name = (value),
    FG_SLICE_WHATS(X)
#undef X
};

#define FG_SLICE_NO_EVENT UINT32_MAX
#define FG_SLICE_ONLY_END 1u /* no begin came before: the stretch began at begin_ns */
#define FG_SLICE_WHOLE 2u    /* of an end: ran_ns has all stretches of the call */
#define FG_SLICE_IRQ 4u      /* the interpreter made the call for a signal */
#define FG_SLICE_LOST_END 8u /* the end of the stretch was lost */

struct fg_slices {
    size_t n, capacity;
#define X(name, type, format, text) type *name;
    FG_SLICES(X)
#undef X
    int32_t *data_offsets; /* n + 1 of them */
    uint8_t *data;         /* of ends: the arguments that the call's entry had, as values (record.h) */
    size_t data_bytes, data_capacity;
};

void fg_slices_free(struct fg_slices *slices);

struct fg_slicer;

/* The tasks of a batch: which thread each belongs to, and which process. */
struct fg_slice_tasks {
    const uint32_t *threads;
    const int32_t *pids;
    size_t n;
};

/* What a slicer makes.
 *
 * @has_times: the trace's clock counts nanoseconds.
 * @whats: a bit, 1 << enum fg_slice_what, for each kind of row that is wanted.
 * @first_id: the number of the first call. */
struct fg_slicer_options {
    bool has_times;
    uint32_t whats;
    uint64_t first_id;
};

/* Return: NULL: memory is short. */
struct fg_slicer *fg_slicer_new(struct fg_slicer_options options);
void fg_slicer_free(struct fg_slicer *slicer);

/* Adds the slices of the events in @columns. Return: 0; -ENOMEM; -EINVAL: a task or depth is impossible. */
int fg_slicer_add(struct fg_slicer *slicer, const struct fg_columns *columns, struct fg_slice_tasks tasks,
                  struct fg_slices *slices);

/* Adds the ends of calls that are in progress, then a row for each that is suspended. Return: 0 or
 * -ENOMEM. */
int fg_slicer_finish(struct fg_slicer *slicer, struct fg_slices *slices);

#endif
