/* Static events: what CPython itself tells, without a probe on functions.
 *
 * One table has them all. Each is a source (engine/event/event_source.h) that runs in an interpreter only
 * while somebody there wants its hits; the scope of a probe is its struct fg_interp. At a hit the values
 * are passed in the table's order, and the fetch programs of the event and of the dynamic events on it read
 * them. */
#ifndef FG_CPYTHON_STATIC_EVENT_H
#define FG_CPYTHON_STATIC_EVENT_H

#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/interp.h"
#include "arch/cpython/value/fetched.h"
#include "engine/event/event_source.h"

/* X(id, system, name, source, values): `values` are names of what is passed, separated by blanks. NAME:TYPE
 * is a field of the event, too. FIELD=NAME:TYPE is one whose name differs. A NAME alone is only for
 * dynamic events on this one. */
#define FG_STATIC_EVENTS(X)                                                                                  \
    X(RAISE, "py", "raise", &fg_raise_source,                                                                \
      "type:string message:string function:symbol line:u32 file:string exc")                                 \
    X(RERAISE, "py", "reraise", &fg_raise_source,                                                            \
      "type:string message:string function:symbol line:u32 file:string exc")                                 \
    X(GC_START, "py", "gc_start", &fg_gc_source, "generation:s32")                                           \
    X(GC_DONE, "py", "gc_done", &fg_gc_source,                                                               \
      "generation:s32 collected:s64 uncollectable:s64 duration_ns:u64")                                      \
    X(IMPORT, "py", "import", &fg_audit_source, "name:string function:symbol line:u32")                      \
    X(THREAD_START, "py", "thread_start", &fg_thread_source, "name:string target:string daemon:bool thread") \
    X(THREAD_EXIT, "py", "thread_exit", &fg_thread_source, "name:string target:string daemon:bool thread")   \
    X(AUDIT, "py", "audit", &fg_audit_source, "event:string args=text:string function:symbol line:u32 args") \
    X(TASK_SWITCH, "asyncio", "task_switch", &fg_asyncio_source,                                             \
      "prev_name:string prev_id:x64 next_name:string next_id:x64 next_coro:string next")                     \
    X(TASK_CREATE, "asyncio", "task_create", &fg_asyncio_source,                                             \
      "name:string id:x64 coro:string parent:string parent_id:x64 task")                                     \
    X(TASK_DONE, "asyncio", "task_done", &fg_asyncio_source,                                                 \
      "name:string id:x64 coro:string result:string task")                                                   \
    X(PRINT, "ftrace", "print", NULL, "ip:symbol buf:string")

enum fg_static_event {
#define X(id, system, name, source, values) FG_STATIC_##id,
    FG_STATIC_EVENTS(X)
#undef X
        FG_NR_STATIC_EVENTS
};

struct fg_static_event_names {
    const char *system, *name, *values;
};

extern const struct fg_static_event_names fg_static_events[FG_NR_STATIC_EVENTS];
extern struct fg_event_source fg_static_sources[FG_NR_STATIC_EVENTS];

extern const struct fg_event_source_ops fg_raise_source, fg_gc_source, fg_audit_source, fg_thread_source,
    fg_asyncio_source;

static inline enum fg_static_event fg_static_of(const struct fg_event_source *source)
{
    return (enum fg_static_event)(source - fg_static_sources);
}

static inline bool fg_static_is_enabled(enum fg_static_event event)
{
    return fg_event_source_is_enabled(&fg_static_sources[event]);
}

/* Where the program is at a hit. */
struct fg_static_site {
    fg_pyframe *frame; /* NULL: no Python code runs */
    struct fg_func *func;
    int only; /* as in struct fg_event_site */
};

/* Makes the function's record if there is none. No exception is left set. */
struct fg_static_site fg_static_site_of(fg_pyframe *frame);
/* The same of the function that runs in this thread now. */
struct fg_static_site fg_static_site_here(void);

/* As values. */
struct fg_fetched fg_static_function(const struct fg_static_site *site);
struct fg_fetched fg_static_line(const struct fg_static_site *site);
struct fg_fetched fg_static_text(const char *text);

/**
 * fg_static_hit() - Hit a static event.
 * @values: in the order of the table, as many as it has
 *
 * Context: the thread has its thread state.
 */
void fg_static_hit(enum fg_static_event event, const struct fg_static_site *site,
                   const struct fg_fetched *values);

/* The same of any source, with @n values. */
void fg_static_hit_source(struct fg_event_source *source, const struct fg_static_site *site,
                          const struct fg_fetched *values, uint32_t n);

#endif
