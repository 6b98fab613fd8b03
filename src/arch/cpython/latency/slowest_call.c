/* See slowest_call.h. */
#include "arch/cpython/latency/slowest_call.h"

#include <stdio.h>

#include "engine/base/clock.h"
#include "engine/core/function.h"
#include "engine/core/regs.h"
#include "engine/graph/data.h"

/* Of this thread. A call that was suspended counts each time that it runs. */
static _Thread_local struct {
    uint64_t began; /* when the section did, in ticks */
    uint64_t below; /* time of the newest call's callees so far */
    uint64_t own;   /* of the slowest call; 0: there is none */
    uint32_t func;  /* its id */
    struct fg_caller caller;
} here __attribute__((tls_model("initial-exec")));

void fg_slowest_call_begin(void)
{
    here.began = fg_clock_now();
    here.own = 0;
}

/* What the task has of a call: its caller's `below`. */
static void runs(uint64_t *outer)
{
    *outer = here.below;
    here.below = 0;
}

static int entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    uint64_t *outer = fgraph_reserve_data(trace, ops, sizeof(*outer));

    (void)regs;
    if (outer)
        runs(outer);
    return outer != NULL;
}

static void resume(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    uint64_t *outer = fgraph_retrieve_parent_data(trace->task, trace->frame, ops, 0, NULL);

    (void)regs;
    if (outer)
        runs(outer);
}

static void keep(const struct ftrace_graph_ret *trace, const struct ftrace_regs *regs, uint64_t own)
{
    here.own = own;
    here.func = trace->func->id;
    here.caller = (struct fg_caller){0, 0};
    fg_regs_callers(regs, &here.caller, 1);
}

/* A call that ends or is suspended. One that began before the section has run in others, too. */
static void stop(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    uint64_t ran = trace->rettime - trace->calltime, own = ran - here.below;
    const uint64_t *outer = fgraph_retrieve_data(trace, ops, NULL);

    if (!outer)
        return;
    if (own > here.own && trace->calltime >= here.began && trace->end != FG_END_CLOSE)
        keep(trace, regs, own);
    here.below = *outer + ran;
}

struct fgraph_ops fg_slowest_call_ops = {
    .entryfunc = entry,
    .retfunc = stop,
    .suspendfunc = stop,
    .resumefunc = resume,
    .name = "slowest call",
};

/* ---- its text */

struct named {
    const struct fg_interp *interp;
    uint32_t id;
    char *out;
    size_t room;
};

/* Ids are never used again. */
static void copy_name(struct fg_func *func, void *arg)
{
    const struct named *named = arg;

    if (func->id == named->id && fg_func_interp(func) == named->interp)
        snprintf(named->out, named->room, "%s", func->name);
}

static void name(const struct fg_interp *interp, uint32_t id, char *out, size_t room)
{
    struct named named = {interp, id, out, room};

    snprintf(out, room, "?");
    fg_func_for_each(copy_name, &named);
}

void fg_slowest_call_note(struct fg_latency_section *section, const struct fg_interp *interp)
{
    char function[FG_LATENCY_TEXT_BYTES / 2], caller[FG_LATENCY_TEXT_BYTES / 2 - 32];

    if (!here.own || !interp)
        return;
    section->slowest_ticks = here.own;
    name(interp, here.func, function, sizeof(function));
    name(interp, here.caller.func, caller, sizeof(caller));
    if (here.caller.func)
        snprintf(section->slowest, sizeof(section->slowest), "%s <-%s:%u", function, caller,
                 here.caller.place);
    else
        snprintf(section->slowest, sizeof(section->slowest), "%s", function);
}
