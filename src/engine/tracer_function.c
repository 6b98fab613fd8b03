/* The function tracer: one record when a call begins, with the function that called it. */
#include <string.h>

#include "instance.h"

#define HEAD_BYTES (sizeof(struct fg_record) + 8)

/* The caller is the newest frame under this one. */
struct caller {
    const uint64_t *frame;
    uint32_t id;
    bool passed;
};

static bool find_caller(const struct fg_frame_info *frame, void *arg)
{
    struct caller *caller = arg;

    if (!caller->passed) {
        caller->passed = true;
        return true;
    }
    caller->id = frame->func->id;
    return false;
}

static int entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    struct fg_instance *instance = fg_instance_of(ops);
    struct fg_ring_cursor *cursor = fg_instance_cursor(trace->task, ops);
    struct caller caller = {trace->frame, 0, false};
    struct fg_record *record;
    bool with_args = instance->args && regs->ops;
    uint64_t parent;
    size_t bytes = 0;

    record = fg_ring_reserve(&instance->ring, trace->task, cursor,
                             with_args ? FG_RECORD_MAX_WORDS * 8 : HEAD_BYTES);
    if (!record)
        return 1;
    fg_walk(trace->task, find_caller, &caller);
    parent = caller.id;
    memcpy(record + 1, &parent, sizeof(parent));
    if (with_args)
        bytes = regs->ops->encode_arguments(regs, (uint8_t *)record + HEAD_BYTES,
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
    return 1; /* the frame stays, so that callees find their caller */
}

static void end(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)trace, (void)ops, (void)regs;
}

static void init(struct fg_instance *instance)
{
    instance->ops.entryfunc = entry;
    instance->ops.retfunc = end;
}

const struct fg_tracer fg_tracer_function = {.name = "function", .init = init};
