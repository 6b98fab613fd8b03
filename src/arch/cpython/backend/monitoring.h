/* Shared by monitoring.c and monitoring_callbacks.c, and private to them. */
#ifndef FG_CPYTHON_MONITORING_H
#define FG_CPYTHON_MONITORING_H

#include "arch/cpython/base/compat/monitoring.h"
#include "arch/cpython/hook/hooks.h"

#if FG_HAVE_MONITORING

#include "arch/cpython/base/interp.h"

/* event, its name in sys.monitoring.events, the callback */
#define EVENTS(X)                                                                                            \
    X(PY_START, on_start)                                                                                    \
    X(PY_RESUME, on_resume)                                                                                  \
    X(PY_RETURN, on_return)                                                                                  \
    X(PY_YIELD, on_yield)                                                                                    \
    X(PY_UNWIND, on_unwind)                                                                                  \
    X(PY_THROW, on_throw)                                                                                    \
    X(CALL, on_call)                                                                                         \
    X(C_RETURN, on_c_return)                                                                                 \
    X(C_RAISE, on_c_raise)                                                                                   \
    X(LINE, on_line)                                                                                         \
    X(INSTRUCTION, on_instruction)                                                                           \
    X(RAISE, on_raise)                                                                                       \
    X(RERAISE, on_reraise)

enum event {
#define X(name, callback) EVENT_##name,
    EVENTS(X)
#undef X
        NR_EVENTS
};

/* The data of one interpreter. */
struct monitoring {
    struct fg_interp *interp;
    PyObject *module; /* sys.monitoring */
    PyObject *set_events, *set_local_events, *disable, *missing;
    /* callables; never freed before the interpreter: an event may be in progress */
    PyObject *hooks[NR_EVENTS];
    long bits[NR_EVENTS];
    int tool_id;
    bool has_armed;      /* a function has local events, so the global events that it needs are on */
    bool has_local_ends; /* PY_UNWIND and PY_THROW can be local, so no global ones are needed */
};

/* A callable that CPython calls through its own vectorcall slot: no method object, no argument parsing. */
struct hook {
    PyObject_HEAD vectorcallfunc vectorcall;
    struct monitoring *monitoring;
};

/* The callbacks of an event (monitoring_callbacks.c). */
struct fg_monitoring_event {
    const char *name;
    vectorcallfunc callback, callback_in_greenlet;
};

extern const struct fg_monitoring_event fg_monitoring_events[NR_EVENTS];

/* The events that we have set for this code alone. */
static inline long local_events(const struct monitoring *m, const PyCodeObject *code)
{
    return fg_local_events(code, m->tool_id);
}

/* The events of kprobes, which do not depend on the function's users. */
static inline long events_within(struct monitoring *m)
{
    return m->bits[EVENT_LINE] | m->bits[EVENT_INSTRUCTION];
}

#endif
#endif
