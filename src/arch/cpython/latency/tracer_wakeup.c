/* wakeup: how long a callback, or a step of a task, waited for its turn in an asyncio event loop after
 * it had become ready.
 *
 * A section begins when a handle becomes ready. There are three ways: call_soon() makes a handle and
 * queues it at once; the loop queues a handle because of I/O; or a timer's time comes. The first two
 * are noted in a table, by the handle's address. The section ends when asyncio.events.Handle._run runs
 * the handle. A callback that ran meanwhile, and long enough to be shown, is named when it ends: later
 * it may be freed. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/cpython/base/compat/lookup.h"
#include "arch/cpython/latency/asyncio_handle.h"
#include "arch/cpython/latency/latency_label.h"
#include "arch/cpython/latency/latency_tracer.h"
#include "arch/cpython/latency/uvloop.h"
#include "arch/cpython/read/regs.h"
#include "arch/cpython/value/attribute.h"
#include "engine/base/clock.h"
#include "engine/base/hash_table.h"
#include "engine/graph/data.h"
#include "engine/graph/user.h"

static struct fg_latency latency;
static double ns_per_tick; /* measured once, at start: measuring for each timer would cost too much */

/* ---- handles that are ready
 *
 * A cancelled handle leaves its entry in the table. The table is bounded. If the address is reused, the
 * new handle overwrites the entry, because every handle except a timer's is put in here before it runs. */

enum readied_by { READIED_BY_CALL, READIED_BY_IO, READIED_BY_TIMER };

static const char *const readied_by_names[] = {
    [READIED_BY_CALL] = "asyncio.base_events.BaseEventLoop._call_soon",
    [READIED_BY_IO] = "asyncio.base_events.BaseEventLoop._add_callback",
    [READIED_BY_TIMER] = "asyncio.events.TimerHandle.when",
};

struct ready {
    _Atomic uintptr_t handle; /* address; 0: free */
    _Atomic uint64_t ticks;
    _Atomic uint32_t by;
};

#define NR_READY 4096u /* a power of two */
#define MAX_PROBES 8u

static struct ready ready[NR_READY];
static _Atomic uint64_t nr_ready_lost; /* entries overwritten by other handles */

static struct ready *place_of(uintptr_t handle, uint32_t probe)
{
    return &ready[(fg_hash_uint64(handle) + probe) & (NR_READY - 1)];
}

static struct ready *find_ready(uintptr_t handle)
{
    for (uint32_t i = 0; i < MAX_PROBES; i++) {
        struct ready *at = place_of(handle, i);

        if (fg_likely(atomic_load_explicit(&at->handle, memory_order_acquire) == handle))
            return at;
    }
    return NULL;
}

/* The entry to use for a handle: its own, a free one, or that of the handle which has waited longest.
 * An older entry of the same handle may remain further on. That does no harm, as the first one is found
 * first. */
static struct ready *take_place(uintptr_t handle)
{
    struct ready *oldest = place_of(handle, 0);

    for (uint32_t i = 0; i < MAX_PROBES; i++) {
        struct ready *at = place_of(handle, i);
        uintptr_t other = atomic_load_explicit(&at->handle, memory_order_relaxed);

        if (fg_likely(!other || other == handle))
            return at;
        if (atomic_load_explicit(&at->ticks, memory_order_relaxed) <
            atomic_load_explicit(&oldest->ticks, memory_order_relaxed))
            oldest = at;
    }
    atomic_fetch_add_explicit(&nr_ready_lost, 1, memory_order_relaxed);
    return oldest;
}

static void put_ready(PyObject *handle, uint64_t ticks, enum readied_by by)
{
    struct ready *at = take_place((uintptr_t)handle);

    /* Without the GIL two threads may choose the same entry. Then one handle is lost. `handle` is 0
     * meanwhile, so that no handle gets another's time. */
    atomic_store_explicit(&at->handle, 0, memory_order_relaxed);
    atomic_store_explicit(&at->ticks, ticks, memory_order_release);
    atomic_store_explicit(&at->by, (uint32_t)by, memory_order_relaxed);
    atomic_store_explicit(&at->handle, (uintptr_t)handle, memory_order_release);
}

/* When the handle became ready, in ticks; 0: not known. */
static uint64_t take_ready(PyObject *handle, enum readied_by *by)
{
    struct ready *at = find_ready((uintptr_t)handle);
    uint64_t ticks;

    if (!at)
        return 0;
    ticks = atomic_load_explicit(&at->ticks, memory_order_relaxed);
    *by = (enum readied_by)atomic_load_explicit(&at->by, memory_order_relaxed);
    atomic_store_explicit(&at->handle, 0, memory_order_release);
    return ticks;
}

/* ---- timers */

/* When the handle's timer expired, in ticks; 0: it has not expired as far as we can tell. @when is a
 * time of the loop's clock. That is CLOCK_MONOTONIC unless the loop overrides time(), which
 * loop_has_own_clock() checks for sections that are kept. */
static uint64_t timer_ticks(PyObject *when, uint64_t now)
{
    double late_ns;

    if (!PyFloat_CheckExact(when))
        return 0;
    late_ns = (double)fg_clock_monotonic_ns() - PyFloat_AS_DOUBLE(when) * 1e9;
    return late_ns > 0 ? now - (uint64_t)(late_ns / ns_per_tick) : 0;
}

/* True if the loop's time() is not asyncio's. */
static bool loop_has_own_clock(PyObject *handle)
{
    PyObject *loop = fg_c_attribute(handle, "_loop"), *key = PyUnicode_InternFromString("time");
    PyObject *time = loop && key ? fg_type_lookup(Py_TYPE(loop), key) : NULL;
    char label[FG_LATENCY_TEXT_BYTES] = "";

    if (time && fg_is_function(time))
        fg_label_callable(time, label);
    Py_XDECREF(loop);
    Py_XDECREF(key);
    Py_XDECREF(time);
    PyErr_Clear();
    return strncmp(label, "asyncio.base_events.", strlen("asyncio.base_events.")) != 0;
}

/* ---- what ran recently in a thread */

#define NR_RECENT 32u

struct recent {
    uint32_t n; /* total so far; the last NR_RECENT are kept */
    struct run {
        uint64_t begin, end;
        char runs[FG_LATENCY_TEXT_BYTES];
    } runs[NR_RECENT];
};

/* Each thread keeps its `struct recent` until it ends. Runs from before the tracer was enabled do not
 * overlap any section. */
static pthread_key_t recent_key;
static bool has_recent_key;

static void make_recent_key(void)
{
    has_recent_key = pthread_key_create(&recent_key, free) == 0;
}

/* This thread's recent runs; NULL: none yet. */
static struct recent *recent_here(void)
{
    return has_recent_key ? pthread_getspecific(recent_key) : NULL;
}

static struct recent *make_recent_here(void)
{
    struct recent *recent = has_recent_key ? calloc(1, sizeof(struct recent)) : NULL;

    if (recent && pthread_setspecific(recent_key, recent) != 0) {
        free(recent);
        return NULL;
    }
    return recent;
}

FG_COLD static void note_run(uint64_t begin, uint64_t end, PyObject *callback)
{
    struct recent *recent = recent_here();
    struct run *run;

    if (!recent)
        recent = make_recent_here();
    if (!recent)
        return;
    run = &recent->runs[recent->n++ % NR_RECENT];
    run->begin = begin;
    run->end = end;
    fg_label_callback(callback, run->runs, NULL, NULL);
}

/* ---- sections */

/* Adds the thread's runs that overlap the section. Return: how much of the section they took, in ticks. */
static uint64_t add_runs(struct fg_latency_section *section, const struct recent *recent)
{
    uint32_t first = recent->n > NR_RECENT ? recent->n - NR_RECENT : 0;
    uint64_t named = 0;

    for (uint32_t i = first; i < recent->n; i++) {
        const struct run *run = &recent->runs[i % NR_RECENT];
        uint64_t begin = run->begin > section->begin ? run->begin : section->begin;

        if (run->end <= begin || run->end > section->end ||
            !fg_latency_section_shows(section, run->end - begin))
            continue;
        fg_latency_section_add(section, begin, run->end - begin, "", run->runs);
        named += run->end - begin;
    }
    return named;
}

FG_COLD static void keep(uint64_t now, PyObject *handle, uint64_t ready_ticks, enum readied_by by)
{
    struct fg_latency_section *section;
    const struct recent *recent = recent_here();
    char runs[FG_LATENCY_TEXT_BYTES];
    uint64_t named;

    if (by == READIED_BY_TIMER && loop_has_own_clock(handle))
        return;
    section = fg_latency_section_new(ready_ticks, now);
    if (!section)
        return;
    fg_label_callback(fg_handle_callback(handle), runs, section->ended_at, NULL);
    snprintf(section->started_at, sizeof(section->started_at), "%s", readied_by_names[by]);
    fg_latency_section_add(section, section->begin, 0, "ready: ", runs);
    named = recent ? add_runs(section, recent) : 0;
    if (section->end - section->begin > named)
        fg_latency_section_add(section, section->end, section->end - section->begin - named, "",
                               "in all: the loop itself, and callbacks too short to name");
    fg_latency_section_add(section, section->end, 0, "runs: ", section->ended_at);
    fg_latency_keep(&latency, section);
}

/* ---- events of a handle */

/* The handle runs now. Return: its callback, borrowed; NULL: not a handle, or not initialized yet. */
static inline PyObject *handle_runs(PyObject *handle, uint64_t now)
{
    struct fg_handle_slots slots = fg_handle_slots(Py_TYPE(handle));
    PyObject *callback = fg_handle_slot(handle, slots.callback), *when;
    enum readied_by by = READIED_BY_TIMER;
    uint64_t ready_ticks;

    if (!callback)
        return NULL;
    when = fg_handle_slot(handle, slots.when);
    ready_ticks = when ? timer_ticks(when, now) : take_ready(handle, &by);
    if (ready_ticks && now > ready_ticks && fg_latency_reports(&latency, now - ready_ticks))
        keep(now, handle, ready_ticks, by);
    return callback;
}

/* A handle was made. call_soon() queues the handle that it makes, so it needs no hook of its own. A
 * handle made for I/O is not ready yet: its time is overwritten when it is. */
static inline void handle_is_made(PyObject *handle, uint64_t now)
{
    if (!fg_handle_slots(Py_TYPE(handle)).when)
        put_ready(handle, now, READIED_BY_CALL);
}

/* ---- with call hooks */

static PyObject *around_run(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *kwnames);
static PyObject *around_add_callback(PyObject *function, PyObject *const *args, size_t nargsf,
                                     PyObject *kwnames);

static struct fg_call_hook run_hook = {.around = around_run},
                           add_callback_hook = {.around = around_add_callback};

static PyObject *around_run(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *handle = fg_call_hook_argument(args, nargsf, 0), *callback = NULL, *result;
    unsigned generation = run_hook.generation;
    uint64_t begin = fg_clock_now(), end;

    if (handle && fg_call_hook_is_installed(&run_hook))
        callback = Py_XNewRef(handle_runs(handle, begin));
    result = fg_call_hook_go_on(&run_hook, function, args, nargsf, kwnames);
    end = fg_clock_now();
    if (callback && fg_latency_is_worth_naming(&latency, end - begin) &&
        fg_call_hook_is(&run_hook, generation))
        note_run(begin, end, callback);
    Py_XDECREF(callback);
    return result;
}

static PyObject *around_add_callback(PyObject *function, PyObject *const *args, size_t nargsf,
                                     PyObject *kwnames)
{
    PyObject *handle = fg_call_hook_argument(args, nargsf, 1);

    if (handle && fg_call_hook_is_installed(&add_callback_hook))
        put_ready(handle, fg_clock_now(), READIED_BY_IO);
    return fg_call_hook_go_on(&add_callback_hook, function, args, nargsf, kwnames);
}

#if FG_INIT_HAS_VECTORCALL
static PyObject *around_init(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *kwnames);

static struct fg_call_hook init_hook = {.around = around_init};
#define INIT_HOOK (&init_hook)

static PyObject *around_init(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *handle = fg_call_hook_argument(args, nargsf, 0);

    if (handle && fg_call_hook_is_installed(&init_hook))
        handle_is_made(handle, fg_clock_now());
    return fg_call_hook_go_on(&init_hook, function, args, nargsf, kwnames);
}
#else
#define INIT_HOOK NULL /* from 3.14 on CPython enters __init__ directly and ignores its vectorcall */
#endif

/* ---- as users of the function graph */

static int run_entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    PyObject *handle = fg_regs_argument(regs, 0);
    PyObject *callback = handle ? handle_runs(handle, trace->calltime) : NULL;

    if (callback && fgraph_reserve_object(trace, ops, callback))
        Py_INCREF(callback);
    return callback != NULL;
}

static void run_end(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    PyObject *callback;

    (void)regs;
    if (fg_likely(!fg_latency_is_worth_naming(&latency, trace->rettime - trace->start)) ||
        trace->end == FG_END_CLOSE)
        return;
    callback = fgraph_retrieve_object(trace, ops);
    if (callback)
        note_run(trace->start, trace->rettime, callback);
}

static int init_entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    PyObject *handle = fg_regs_argument(regs, 0);

    (void)ops;
    if (handle)
        handle_is_made(handle, trace->calltime);
    return 0;
}

static int add_callback_entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops,
                              struct ftrace_regs *regs)
{
    PyObject *handle = fg_regs_argument(regs, 1);

    (void)ops;
    if (handle)
        put_ready(handle, trace->calltime, READIED_BY_IO);
    return 0;
}

static struct fgraph_ops run_ops = {.entryfunc = run_entry, .retfunc = run_end, .name = "wakeup"};
static struct fgraph_ops init_ops = {.entryfunc = init_entry, .name = "wakeup: call_soon"};
static struct fgraph_ops add_callback_ops = {.entryfunc = add_callback_entry, .name = "wakeup: add_callback"};

static int start(struct fg_interp *interp, const char **why)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)interp;
    if (fg_uvloop_is_likely()) {
        *why =
            "uvloop is imported, and when its handles, which are written in C, become ready cannot be heard; "
            "loopblock hears its callbacks";
        return -ENOTSUP;
    }
    memset(ready, 0, sizeof(ready));
    atomic_store(&nr_ready_lost, 0);
    fg_clock_init();
    ns_per_tick = fg_clock_ns_per_tick();
    pthread_once(&once, make_recent_key);
    fg_user_of(&init_ops)->is_entry_only = fg_user_of(&add_callback_ops)->is_entry_only = true;
    fg_handle_types_hold();
    return 0;
}

const struct fg_latency_tracer fg_tracer_wakeup = {
    .name = "wakeup",
    .what = "a callback or a task that was ready waited to run in an asyncio event loop",
    .latency = &latency,
    .users = {{.ops = &run_ops, .function = "asyncio.events.Handle._run", .hook = &run_hook},
              {.ops = &init_ops, .function = "asyncio.events.Handle.__init__", .hook = INIT_HOOK},
              {.ops = &add_callback_ops,
               .function = "asyncio.base_events.BaseEventLoop._add_callback",
               .hook = &add_callback_hook}},
    .start = start,
    .stop = fg_handle_types_release,
};
