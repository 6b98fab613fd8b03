/* The function tracer: a record at each entry, with the caller. */
#include <string.h>

#include "engine/core/regs.h"
#include "engine/tracer/instance.h"

#define HEAD_BYTES (sizeof(struct fg_record) + 8)
#define REPEATS_BYTES (sizeof(struct fg_record) + 16)
#define MAX_CALLERS 64u /* a stack trace has the nearest ones */

/* Writes the record of a call. NULL: there was no room. */
static struct fg_record *put_function(struct ftrace_graph_ent *trace, struct fgraph_ops *ops,
                                      struct ftrace_regs *regs, uint64_t caller)
{
    struct fg_instance *instance = fg_instance_of(ops);
    struct fg_ring_cursor *cursor = fg_instance_cursor(trace->task, ops);
    struct fg_record *record;
    bool with_args = instance->args && fg_regs_has_values(regs);
    size_t bytes = 0;

    record = fg_ring_reserve(&instance->ring, trace->task, cursor,
                             with_args ? FG_RECORD_MAX_WORDS * 8 : HEAD_BYTES);
    if (!record)
        return NULL;
    memcpy(record + 1, &caller, sizeof(caller));
    if (with_args)
        bytes = regs->ops->encode_arguments(regs, fg_instance_style(instance), (uint8_t *)record + HEAD_BYTES,
                                            FG_RECORD_MAX_WORDS * 8 - HEAD_BYTES);
    memset((uint8_t *)record + HEAD_BYTES + bytes, 0, -bytes & 7);
    bytes = HEAD_BYTES + ((bytes + 7) & ~(size_t)7);
    *record = (struct fg_record){
        .time = trace->calltime,
        .func = trace->func->id,
        .info = FG_RECORD_INFO(FG_RECORD_FUNCTION, bytes / 8, trace->depth) |
                (bytes > HEAD_BYTES ? FG_RECORD_HAS_VALUES : 0),
    };
    fg_ring_commit(cursor, bytes);
    return record;
}

/* Writes the call stack: the function, then its callers. */
static void put_stack(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, const struct ftrace_regs *regs)
{
    struct fg_ring_cursor *cursor = fg_instance_cursor(trace->task, ops);
    struct fg_record *record =
        fg_ring_reserve(&fg_instance_of(ops)->ring, trace->task, cursor, FG_RECORD_MAX_WORDS * 8);
    struct fg_caller callers[MAX_CALLERS];
    size_t n_callers, n = 0, words;
    uint32_t *ids;

    if (!record)
        return;
    ids = (uint32_t *)(record + 1);
    ids[n++] = trace->func->id;
    n_callers = fg_regs_callers(regs, callers, MAX_CALLERS);
    for (size_t i = 0; i < n_callers; i++) {
        if (callers[i].func)
            ids[n++] = callers[i].func;
    }
    ids[n] = 0;
    words = sizeof(*record) / 8 + (n + 1) / 2;
    *record = (struct fg_record){
        .time = trace->calltime,
        .func = trace->func->id,
        .info = FG_RECORD_INFO(FG_RECORD_STACK, words, trace->depth) | FG_RECORD_HAS_VALUES,
    };
    fg_ring_commit(cursor, words * 8);
}

/* ---- func-no-repeats
 *
 * The task variable points to the task's newest record of a call. If that is the last record in the
 * ring, except for its stack, a repetition of the call only counts. The first repetition adds a
 * REPEATS record; later ones change that record's count in place. A reader at that moment sees the one
 * count or the other. */

static inline const uint8_t *end_of(const struct fg_record *record)
{
    return (const uint8_t *)record + (size_t)fg_record_words(record->info) * 8;
}

static bool is_newest(const struct fg_record *record, const uint8_t *pos)
{
    const struct fg_record *next = (const struct fg_record *)end_of(record);

    return end_of(record) == pos || ((const uint8_t *)next < pos &&
                                     fg_record_kind(next->info) == FG_RECORD_STACK && end_of(next) == pos);
}

static struct fg_record *newest_call(const struct fg_ring_cursor *cursor, const uint64_t *var)
{
    struct fg_record *record = (struct fg_record *)(uintptr_t)*var;
    bool is_ours = fg_ring_has_room(cursor, 0); /* the sub-buffer was not taken away */

    return record && is_ours && (const uint8_t *)record > (const uint8_t *)cursor->subbuf &&
                   (const uint8_t *)record < cursor->pos && is_newest(record, cursor->pos)
               ? record
               : NULL;
}

static bool is_same_call(const struct fg_record *record, uint32_t func, uint64_t caller)
{
    enum fg_record_kind kind = fg_record_kind(record->info);

    return (kind == FG_RECORD_FUNCTION || kind == FG_RECORD_REPEATS) && record->func == func &&
           *(const uint64_t *)(record + 1) == caller;
}

static void count_repeat(struct fg_record *repeats, uint64_t time)
{
    _Atomic uint64_t *count = (_Atomic uint64_t *)(repeats + 1) + 1;

    repeats->time = time;
    atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1, memory_order_relaxed);
}

static struct fg_record *put_repeats(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, uint64_t caller)
{
    struct fg_ring_cursor *cursor = fg_instance_cursor(trace->task, ops);
    struct fg_record *record =
        fg_ring_reserve(&fg_instance_of(ops)->ring, trace->task, cursor, REPEATS_BYTES);

    if (!record)
        return NULL;
    *record = (struct fg_record){
        .time = trace->calltime,
        .func = trace->func->id,
        .info = FG_RECORD_INFO(FG_RECORD_REPEATS, REPEATS_BYTES / 8, trace->depth),
    };
    ((uint64_t *)(record + 1))[0] = caller;
    ((uint64_t *)(record + 1))[1] = 1;
    fg_ring_commit(cursor, REPEATS_BYTES);
    return record;
}

/* True: the call repeats the one before, and is counted there. */
static bool fold(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, uint64_t caller)
{
    uint64_t *var = fgraph_task_var(trace->task, ops);
    struct fg_record *newest = newest_call(fg_instance_cursor(trace->task, ops), var);

    if (!newest || !is_same_call(newest, trace->func->id, caller))
        return false;
    if (fg_record_kind(newest->info) == FG_RECORD_REPEATS)
        count_repeat(newest, trace->calltime);
    else
        *var = (uint64_t)(uintptr_t)put_repeats(trace, ops, caller);
    return true;
}

/* Who called, as the record has it. To look up a place costs as much again as all else. */
static inline uint64_t caller_of(const struct fg_instance *instance, const struct ftrace_regs *regs)
{
    const struct fg_func *func;
    struct fg_caller caller;

    if (fg_unlikely(instance->places))
        return fg_regs_callers(regs, &caller, 1) ? caller.func | (uint64_t)caller.place << 32 : 0;
    func = fg_regs_calling_func(regs);
    return func ? func->id : 0;
}

static inline void record(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    const struct fg_instance *instance = fg_instance_of(ops);
    uint64_t caller = caller_of(instance, regs);
    struct fg_record *written;

    if (instance->no_repeats && fold(trace, ops, caller))
        return;
    written = put_function(trace, ops, regs, caller);
    if (instance->no_repeats)
        *fgraph_task_var(trace->task, ops) = (uint64_t)(uintptr_t)written;
    if (instance->stack_trace && written)
        put_stack(trace, ops, regs);
}

static void ready(struct fg_task *task, const struct fg_func *func, struct fgraph_ops *ops,
                  const struct ftrace_regs *regs)
{
    struct fg_instance *instance = fg_instance_of(ops);

    (void)func, (void)regs;
    if (!fg_task_hold(task))
        return;
    fg_ring_get_ready(&instance->ring, task, fg_instance_cursor(task, ops),
                      instance->args ? FG_RECORD_MAX_WORDS * 8 : HEAD_BYTES);
    fg_task_release(task);
}

static int entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    if (fg_unlikely(!fg_instance_hold(trace->task, ops)))
        return 0;
    record(trace, ops, regs);
    fg_task_release(trace->task);
    return 0;
}

static void init(struct fg_instance *instance)
{
    instance->ops.entryfunc = entry;
    fg_user_of(&instance->ops)->readyfunc = ready;
}

const struct fg_tracer fg_tracer_function = {
    .name = "function", .init = init, .is_entry_only = true, .names_callers = true, .sees_native = true};
