/* loopblock: how long one callback kept an asyncio event loop from running anything else. A section is
 * one call of asyncio.events.Handle._run. Every event loop written in Python runs its callbacks, timers
 * and steps of tasks through that method. Of uvloop it is one callback (uvloop.h). What ran is named only if
 * the section is kept. */
#include <stdio.h>

#include "arch/cpython/latency/asyncio_handle.h"
#include "arch/cpython/latency/latency_label.h"
#include "arch/cpython/latency/latency_tracer.h"
#include "arch/cpython/latency/slowest_call.h"
#include "arch/cpython/latency/uvloop.h"
#include "arch/cpython/read/regs.h"
#include "engine/base/clock.h"
#include "engine/graph/data.h"

static struct fg_latency latency;

static void note_awaited(void *section, const char *is_at)
{
    fg_latency_section_add(section, ((struct fg_latency_section *)section)->end, 0, FG_LATENCY_STACK, is_at);
}

/* @unknown: the text if there is no callback to name */
FG_COLD static void keep(uint64_t begin, uint64_t end, PyObject *callback, const char *unknown)
{
    struct fg_latency_section *section = fg_latency_section_new(begin, end);
    char runs[FG_LATENCY_TEXT_BYTES], is_at[FG_LATENCY_TEXT_BYTES];

    if (!section)
        return;
    snprintf(runs, sizeof(runs), "%s", unknown);
    snprintf(is_at, sizeof(is_at), "%s", unknown);
    /* Adds the first two events now and fills in their texts below. fg_label_callback appends the
     * coroutines that are awaited, and they must come after these two. */
    fg_latency_section_add(section, section->begin, section->end - section->begin, "", runs);
    fg_latency_section_add(section, section->end, 0, "", is_at);
    if (callback)
        fg_label_callback(callback, runs, is_at, &(struct fg_label_awaited){note_awaited, section});
    snprintf(section->started_at, sizeof(section->started_at), "%s", runs);
    snprintf(section->ended_at, sizeof(section->ended_at), "%s", is_at);
    snprintf(section->events[0].text, sizeof(section->events[0].text), "%s", runs);
    snprintf(section->events[1].text, sizeof(section->events[1].text), "%s", is_at);
    fg_slowest_call_note(section, fg_interp_known());
    fg_latency_keep(&latency, section);
}

/* ---- with a call hook */

static PyObject *around(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *kwnames);

static struct fg_call_hook hook = {.around = around};

static PyObject *around(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *handle = fg_call_hook_argument(args, nargsf, 0);
    PyObject *callback = handle ? Py_XNewRef(fg_handle_callback(handle)) : NULL, *result;
    unsigned generation = hook.generation;
    uint64_t begin, end;

    fg_slowest_call_begin();
    begin = fg_clock_now();
    result = fg_call_hook_go_on(&hook, function, args, nargsf, kwnames);
    end = fg_clock_now();
    if (fg_latency_reports(&latency, end - begin) && fg_call_hook_is(&hook, generation))
        keep(begin, end, callback, "?");
    Py_XDECREF(callback);
    return result;
}

/* ---- as a user of the function graph */

static int entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    PyObject *handle = fg_regs_argument(regs, 0);
    PyObject *callback = handle ? fg_handle_callback(handle) : NULL;

    /* Reserve the callback now. By the end of the call the handle may have been freed, or cancelled,
     * which drops its callback. */
    if (callback && fgraph_reserve_object(trace, ops, callback))
        Py_INCREF(callback);
    fg_slowest_call_begin();
    return 1;
}

static void end(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)regs;
    /* If CPython did not report the return (FG_END_CLOSE), the end time is not known. */
    if (fg_latency_reports(&latency, trace->rettime - trace->start) && trace->end != FG_END_CLOSE)
        keep(trace->start, trace->rettime, fgraph_retrieve_object(trace, ops), "?");
}

/* ---- uvloop */

static void uvloop_ended(uint64_t begin, uint64_t end, PyObject *context)
{
    PyObject *callback;

    if (fg_latency_reports(&latency, end - begin)) {
        callback = fg_uvloop_callback(context);
        keep(begin, end, callback, "a callback of a transport of uvloop");
        Py_XDECREF(callback);
    }
    fg_slowest_call_begin(); /* between callbacks uvloop calls no Python function */
}

/* The program imported uvloop after the tracer was enabled. */
static int uvloop_entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)trace, (void)ops, (void)regs;
    fg_uvloop_hook(uvloop_ended);
    return 0;
}

static int start(struct fg_interp *interp, const char **why)
{
    (void)interp, (void)why;
    fg_clock_init();
    fg_handle_types_hold();
    fg_uvloop_hook(uvloop_ended);
    return 0;
}

static void stop(void)
{
    fg_uvloop_unhook();
    fg_handle_types_release();
}

static struct fgraph_ops ops = {.entryfunc = entry, .retfunc = end, .name = "loopblock"};
static struct fgraph_ops uvloop_ops = {.entryfunc = uvloop_entry, .name = "loopblock"};

const struct fg_latency_tracer fg_tracer_loopblock = {
    .name = "loopblock",
    .what = "one callback kept an asyncio event loop from running anything else",
    .latency = &latency,
    .users = {{.ops = &ops, .function = "asyncio.events.Handle._run", .hook = &hook},
              {.ops = &uvloop_ops, .function = "uvloop.*", .is_late = true},
              {.ops = &fg_slowest_call_ops, .function = "*", .c_calls = true}},
    .graph = "asyncio.events.Handle._run",
    .start = start,
    .stop = stop,
};
