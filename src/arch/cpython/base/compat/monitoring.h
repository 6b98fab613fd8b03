/* sys.monitoring's own data (PEP 669): which tools there are, and the events that a code object has. */
#ifndef FG_COMPAT_MONITORING_H
#define FG_COMPAT_MONITORING_H

#include "arch/cpython/base/compat/python.h"

#if FG_HAVE_MONITORING

#include <stdatomic.h>
#include <string.h>

#include "engine/core/compiler.h"
#include "internal/pycore_code.h"
#include "internal/pycore_interp.h"
#if PY_VERSION_HEX < 0x030D0000
#include "internal/pycore_instruments.h"
#endif

/* A callback may answer DISABLE for a function that nobody wants. Without the GIL another thread may
 * register a user of the function between the answer and its effect; the function would then stay silent
 * for good. */
#ifdef Py_GIL_DISABLED
#define FG_CAN_DISABLE 0
#else
#define FG_CAN_DISABLE 1
#endif

/* The name under which we hold a tool id, in the interpreter that took one last. It is only compared. */
extern _Atomic(const PyObject *) fg_tool_name;

/* Nobody but us listens in this interpreter: no other tool of sys.monitoring, no trace or profile
 * function. We hold a tool id. */
static inline bool fg_is_only_tool(const PyThreadState *tstate)
{
    const PyInterpreterState *interp = tstate->interp;
    uintptr_t names = 0;
    int tools = 0;

    if (interp->sys_profiling_threads | interp->sys_tracing_threads)
        return false;
    for (int id = 0; id < PY_MONITORING_SYS_PROFILE_ID; id++)
        names += (uintptr_t)interp->monitoring_tool_names[id];
    /* No addresses of others add up to nothing. */
    if (fg_likely(names == (uintptr_t)atomic_load_explicit(&fg_tool_name, memory_order_relaxed)))
        return true;
    for (int id = 0; id < PY_MONITORING_SYS_PROFILE_ID; id++)
        tools += interp->monitoring_tool_names[id] != NULL;
    return tools == 1;
}

/* The events that a tool has set for this code object alone: sys.monitoring.get_local_events() without
 * its objects. CPython keeps a bit for each tool (_PyCoMonitoringData in cpython/code.h). */
static inline long fg_local_events(const PyCodeObject *code, int tool_id)
{
    const _PyCoMonitoringData *data = code->_co_monitoring;
    const int nr_events = sizeof(data->local_monitors.tools); /* differs between versions */
    long set = 0;

    for (int event = 0; data && event < nr_events; event++)
        set |= (long)(data->local_monitors.tools[event] >> tool_id & 1) << event;
    return set;
}

/* Makes CPython take the tool's next local PY_START of this code object for a new event.
 *
 * A function that answered DISABLE gets PY_START again only if CPython takes that event for a new one:
 * what it has instrumented is in `active_monitors`, and it adds what is missing there. PY_START, which is
 * set globally, is never missing unless we take it out. The other ways cost more: restart_events() renews
 * every tool's events, and without the global event CPython instruments the function's code twice, and at
 * its next call that of every other function. */
static inline void fg_local_start_forget(PyCodeObject *code, int tool_id)
{
    _PyCoMonitoringData *data = code->_co_monitoring;

    if (FG_CAN_DISABLE && data)
        data->active_monitors.tools[PY_MONITORING_EVENT_PY_START] &= (uint8_t) ~(1u << tool_id);
}

/* Gives the code object its table of the tools that have INSTRUCTION events, before ours come. -1 with an
 * exception.
 *
 * CPython makes the table only when an event of the code gets a second tool. It starts as nobody's, so
 * that the tool which had INSTRUCTION events hears nothing from then on (gh-157900). */
static inline int fg_instruction_tools_make(PyCodeObject *code)
{
    _PyCoMonitoringData *data = code->_co_monitoring;
    size_t n = (size_t)Py_SIZE(code);

    if (!data || data->per_instruction_tools)
        return 0;
    data->per_instruction_tools = PyMem_Malloc(n);
    if (!data->per_instruction_tools) {
        PyErr_NoMemory();
        return -1;
    }
    memset(data->per_instruction_tools, data->active_monitors.tools[PY_MONITORING_EVENT_INSTRUCTION], n);
    return 0;
}

#endif
#endif
