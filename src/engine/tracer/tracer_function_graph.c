/* The function_graph tracer: records of entries, suspends, resumes and returns. */
#include <string.h>

#include "engine/base/clock.h"
#include "engine/core/regs.h"
#include "engine/graph/data.h"
#include "engine/graph/frame.h"
#include "engine/tracer/instance.h"
#include "engine/writer/plain_record.h"

#define HEAD_WORDS (sizeof(struct fg_record) / 8)

/* Writes a record whose size is known only at its end. */
struct writer {
    struct fg_record *record;
    uint64_t *at;
    uint32_t info;
};

static inline uint32_t irq_of(const uint64_t *frame)
{
    return fg_frame_is_irq(frame) ? FG_RECORD_IRQ : 0;
}

static inline bool writer_open(struct writer *writer, struct fgraph_ops *ops, struct fg_task *task,
                               size_t bytes, uint32_t irq)
{
    writer->record = fg_ring_reserve(&fg_instance_of(ops)->ring, task, fg_instance_cursor(task, ops), bytes);
    if (fg_unlikely(!writer->record))
        return false;
    writer->at = (uint64_t *)(writer->record + 1);
    writer->info = irq;
    return true;
}

static inline void writer_word(struct writer *writer, uint64_t word)
{
    *writer->at++ = word;
}

static inline void writer_start(struct writer *writer, uint64_t start)
{
    writer_word(writer, start);
    writer->info |= FG_RECORD_HAS_START;
}

static inline void writer_values(struct writer *writer, struct fgraph_ops *ops,
                                 const struct ftrace_regs *regs, fg_encode_func encode)
{
    size_t used_words = (size_t)(writer->at - (uint64_t *)writer->record);
    size_t room = (FG_RECORD_MAX_WORDS - used_words) * 8;
    size_t bytes = encode(regs, fg_instance_style(fg_instance_of(ops)), (uint8_t *)writer->at, room);
    size_t words = (bytes + 7) / 8;

    if (!bytes)
        return;
    memset((uint8_t *)writer->at + bytes, 0, words * 8 - bytes);
    writer->at += words;
    writer->info |= FG_RECORD_HAS_VALUES;
}

static inline void writer_close(struct writer *writer, struct fgraph_ops *ops, struct fg_task *task,
                                const struct fg_func *func, enum fg_record_kind kind, uint32_t depth,
                                uint64_t time)
{
    size_t words = (size_t)(writer->at - (uint64_t *)writer->record);

    writer->record->time = time;
    writer->record->func = func->id;
    writer->record->info = writer->info | FG_RECORD_INFO(kind, words, depth);
    fg_ring_commit(fg_instance_cursor(task, ops), words * 8);
}

/* nosleep-time: durations exclude the thread's sleep. The frame keeps the value that the clock of the
 * thread's work had when the call began to run. It is read last: writing a record may wait for pages of a
 * new sub-buffer, which is no work of the call. */
static void note_work(struct ftrace_graph_ent *trace, const struct fgraph_ops *ops)
{
    uint64_t *begin = fgraph_reserve_data(trace, ops, sizeof(*begin));

    if (begin)
        *begin = fg_clock_work_ns();
}

/* The call was resumed, perhaps in another thread. */
static void note_work_again(const struct ftrace_graph_ent *trace, const struct fgraph_ops *ops)
{
    const struct ftrace_graph_ret frame = {.task = trace->task, .frame = trace->frame};
    uint64_t *begin = fgraph_retrieve_data(&frame, ops, NULL);

    if (begin)
        *begin = fg_clock_work_ns();
}

/* The time at which the call would have begun had its thread never slept; no earlier than the real one. */
static uint64_t calltime_of_work(const struct ftrace_graph_ret *trace, struct fgraph_ops *ops)
{
    double ticks_per_ns = fg_instance_of(ops)->ticks_per_ns;
    const uint64_t *begin = fgraph_retrieve_data(trace, ops, NULL);
    uint64_t worked = begin ? (uint64_t)((double)(fg_clock_work_ns() - *begin) * ticks_per_ns) : UINT64_MAX;

    return worked < trace->rettime - trace->calltime ? trace->rettime - worked : trace->calltime;
}

static inline uint64_t calltime_of(const struct ftrace_graph_ret *trace, struct fgraph_ops *ops)
{
    return fg_unlikely(fg_instance_of(ops)->no_sleep_time) ? calltime_of_work(trace, ops) : trace->calltime;
}

static inline void writer_caller(struct writer *writer, const struct ftrace_regs *regs)
{
    struct fg_caller caller = {0, 0};

    fg_regs_callers(regs, &caller, 1);
    writer_word(writer, caller.func | (uint64_t)caller.place << 32);
}

static inline void put_entry(const struct ftrace_graph_ent *trace, struct fgraph_ops *ops,
                             const struct ftrace_regs *regs, bool with_args, bool with_caller)
{
    struct writer writer;
    size_t most = with_args ? FG_RECORD_MAX_WORDS * 8 : (HEAD_WORDS + 1) * 8;
    enum fg_record_kind kind = with_caller ? FG_RECORD_CALL_AT : FG_RECORD_ENTRY;

    if (!writer_open(&writer, ops, trace->task, most, irq_of(trace->frame)))
        return;
    if (with_caller)
        writer_caller(&writer, regs);
    if (with_args)
        writer_values(&writer, ops, regs, regs->ops->encode_arguments);
    writer_close(&writer, ops, trace->task, trace->func, kind, trace->depth, trace->calltime);
}

/* With several users on a function the engine does not write the plain records itself. */
static inline int put_plain_entry(struct fg_instance *instance, const struct ftrace_graph_ent *trace)
{
    struct fg_ring_cursor *cursor = fg_instance_cursor(trace->task, &instance->ops);
    uint8_t *pos = fg_ring_reserve(&instance->ring, trace->task, cursor, FG_PLAIN_ENTRY_BYTES);

    if (fg_likely(pos != NULL))
        fg_plain_entry(cursor, pos, trace->func->id, trace->depth, trace->calltime);
    return 1;
}

static inline void put_plain_return(struct fg_instance *instance, const struct ftrace_graph_ret *trace)
{
    struct fg_ring_cursor *cursor = fg_instance_cursor(trace->task, &instance->ops);
    uint8_t *pos = fg_ring_reserve(&instance->ring, trace->task, cursor, FG_PLAIN_RETURN_BYTES);

    if (fg_likely(pos != NULL))
        fg_plain_return(cursor, pos, trace->func->id, trace->depth, trace->calltime, trace->rettime);
}

/* The most bytes that the record of a call's entry or resume can have. 0: there is none. */
static size_t entry_bytes(const struct fg_instance *instance)
{
    if (instance->thresh_ticks) /* only the return shows whether to record the call */
        return 0;
    return instance->args ? FG_RECORD_MAX_WORDS * 8 : (HEAD_WORDS + 1) * 8;
}

static void ready(struct fg_task *task, const struct fg_func *func, struct fgraph_ops *ops,
                  const struct ftrace_regs *regs)
{
    struct fg_instance *instance = fg_instance_of(ops);
    size_t bytes = entry_bytes(instance);

    (void)func;
    if (!bytes || !fg_task_hold(task))
        return;
    fg_ring_get_ready(&instance->ring, task, fg_instance_cursor(task, ops), bytes);
    fg_task_release(task);
    if (instance->retaddr)
        fg_regs_calling_func(regs); /* makes its record, if it has none */
}

static inline int record_entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops,
                               const struct ftrace_regs *regs)
{
    struct fg_instance *instance = fg_instance_of(ops);

    bool is_import = trace->func->flags & FG_FUNC_IMPORTS;

    if (fg_likely(instance->is_plain && !fg_frame_is_irq(trace->frame) && !is_import))
        return put_plain_entry(instance, trace);
    if (instance->max_graph_depth && trace->depth >= instance->max_graph_depth)
        return 0;
    if (!instance->thresh_ticks)
        put_entry(trace, ops, regs, (instance->args || is_import) && fg_regs_has_values(regs),
                  instance->retaddr);
    if (instance->no_sleep_time)
        note_work(trace, ops);
    return 1;
}

static int entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    int wants_return;

    if (fg_unlikely(!fg_instance_hold(trace->task, ops)))
        return 1;
    wants_return = record_entry(trace, ops, regs);
    fg_task_release(trace->task);
    return wants_return;
}

static const enum fg_record_kind end_kinds[] = {
    [FG_END_RETURN] = FG_RECORD_RETURN,
    [FG_END_RAISE] = FG_RECORD_RAISE,
    [FG_END_CLOSE] = FG_RECORD_CLOSE,
};

static inline bool has_value(const struct ftrace_regs *regs)
{
    return fg_regs_has_values(regs) && regs->value;
}

static inline void put_end(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs,
                           enum fg_record_kind kind, uint64_t calltime, bool with_value)
{
    struct writer writer;
    size_t most = with_value ? FG_RECORD_MAX_WORDS * 8 : (HEAD_WORDS + 2) * 8;

    if (!writer_open(&writer, ops, trace->task, most, irq_of(trace->frame)))
        return;
    writer_word(&writer, calltime);
    if (fg_unlikely(trace->start != trace->calltime || kind == FG_RECORD_SUSPEND))
        writer_start(&writer, trace->start);
    if (with_value)
        writer_values(&writer, ops, regs,
                      trace->end == FG_END_RETURN ? regs->ops->encode_value : regs->ops->encode_exception);
    writer_close(&writer, ops, trace->task, trace->func, kind, trace->depth, trace->rettime);
}

/* An exception's type is recorded whatever the options: exceptions are rare, and readers look for them. */
static inline void record_end(struct ftrace_graph_ret *trace, struct fgraph_ops *ops,
                              struct ftrace_regs *regs)
{
    struct fg_instance *instance = fg_instance_of(ops);
    uint64_t calltime;

    if (fg_likely(instance->is_plain) && trace->end == FG_END_RETURN && trace->start == trace->calltime &&
        !fg_frame_is_irq(trace->frame)) {
        put_plain_return(instance, trace);
        return;
    }
    calltime = calltime_of(trace, ops);
    if (instance->thresh_ticks && trace->rettime - calltime < instance->thresh_ticks)
        return;
    put_end(trace, ops, regs, end_kinds[trace->end], calltime,
            has_value(regs) && (instance->retval || trace->end == FG_END_RAISE));
}

static void end(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    if (fg_unlikely(!fg_instance_hold(trace->task, ops)))
        return;
    record_end(trace, ops, regs);
    fg_task_release(trace->task);
}

/* Calls are not suspended or resumed in handlers of signals. */
static void suspend(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    const struct fg_instance *instance = fg_instance_of(ops);
    uint64_t calltime = calltime_of(trace, ops);

    if (instance->thresh_ticks && trace->rettime - calltime < instance->thresh_ticks)
        return;
    fg_task_hold(trace->task);
    put_end(trace, ops, regs, FG_RECORD_SUSPEND, calltime, instance->retval && has_value(regs));
    fg_task_release(trace->task);
}

static void put_resume(const struct ftrace_graph_ent *trace, struct fgraph_ops *ops)
{
    struct writer writer;

    if (!writer_open(&writer, ops, trace->task, (HEAD_WORDS + 1) * 8, 0))
        return;
    writer_start(&writer, trace->start);
    writer_close(&writer, ops, trace->task, trace->func, FG_RECORD_RESUME, trace->depth, trace->calltime);
}

static void resume(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    const struct fg_instance *instance = fg_instance_of(ops);

    (void)regs;
    fg_task_hold(trace->task);
    if (!instance->thresh_ticks)
        put_resume(trace, ops);
    fg_task_release(trace->task);
    if (instance->no_sleep_time)
        note_work_again(trace, ops);
}

static void init(struct fg_instance *instance)
{
    instance->ops.entryfunc = entry;
    instance->ops.retfunc = end;
    instance->ops.suspendfunc = suspend;
    instance->ops.resumefunc = resume;
    fg_user_of(&instance->ops)->readyfunc = ready;
}

static bool is_plain(const struct fg_instance *instance)
{
    return !instance->max_graph_depth && !instance->thresh_ticks && !instance->args && !instance->retval &&
           !instance->retaddr && !instance->no_sleep_time;
}

const struct fg_tracer fg_tracer_function_graph = {
    .name = "function_graph", .init = init, .is_plain = is_plain, .reports_irqs = true, .sees_native = true};
