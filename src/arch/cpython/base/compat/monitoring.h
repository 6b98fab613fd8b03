/* sys.monitoring's internal data (PEP 669): the tools, and the events of a code object. */
#ifndef FG_COMPAT_MONITORING_H
#define FG_COMPAT_MONITORING_H

#include "arch/cpython/base/compat/python.h"

/* A callback may return DISABLE for a function that has no users. Without the GIL, another thread may
 * register a user of the function before DISABLE takes effect. The function's events would then stay
 * disabled for good, so DISABLE is not used there: entries stay hooked. */
#ifdef Py_GIL_DISABLED
#define FG_CAN_DISABLE 0
#else
#define FG_CAN_DISABLE 1
#endif

#if FG_HAVE_MONITORING

#include <stdatomic.h>
#include <string.h>

#include "engine/base/compiler.h"
#include "internal/pycore_code.h"
#include "internal/pycore_interp.h"
#if PY_VERSION_HEX < 0x030D0000
#include "internal/pycore_instruments.h"
#endif

/* The name object under which we hold a tool id, in the interpreter that took one last. Only its
 * address is compared. */
extern _Atomic(const PyObject *) fg_tool_name;

/* True if we are the only listener in this interpreter: no other tool of sys.monitoring, no trace or
 * profile function. We hold a tool id. */
static inline bool fg_is_only_tool(const PyThreadState *tstate)
{
    const PyInterpreterState *interp = tstate->interp;
    uintptr_t names = 0;
    int tools = 0;

    if (interp->sys_profiling_threads | interp->sys_tracing_threads)
        return false;
    for (int id = 0; id < PY_MONITORING_SYS_PROFILE_ID; id++)
        names += (uintptr_t)interp->monitoring_tool_names[id];
    /* The sum is our name's address only if all other entries are NULL: no set of other addresses adds
     * up to 0. */
    if (fg_likely(names == (uintptr_t)atomic_load_explicit(&fg_tool_name, memory_order_relaxed)))
        return true;
    for (int id = 0; id < PY_MONITORING_SYS_PROFILE_ID; id++)
        tools += interp->monitoring_tool_names[id] != NULL;
    return tools == 1;
}

/* True if the events of a tool that has some were set before its tool id was last given back. From 3.14 on
 * that ends the local events of a tool, but CPython clears the bits of a code object only at its next call
 * or change. */
static inline bool fg_local_events_are_old(const _PyCoMonitoringData *data, int tool_id)
{
#if PY_VERSION_HEX >= 0x030E0000
    return data->tool_versions[tool_id] != PyInterpreterState_Get()->monitoring_tool_versions[tool_id];
#else
    (void)data, (void)tool_id;
    return false;
#endif
}

/* The events that a tool has set for this code object alone: sys.monitoring.get_local_events() without
 * making objects, and without those that have ended. CPython keeps one bit for each tool
 * (_PyCoMonitoringData in cpython/code.h). */
static inline long fg_local_events(const PyCodeObject *code, int tool_id)
{
    const _PyCoMonitoringData *data = code->_co_monitoring;
    const int nr_events = sizeof(data->local_monitors.tools); /* differs between versions */
    long set = 0;

    for (int event = 0; data && event < nr_events; event++)
        set |= (long)(data->local_monitors.tools[event] >> tool_id & 1) << event;
    return set && fg_local_events_are_old(data, tool_id) ? 0 : set;
}

/* Makes CPython treat the tool's next local PY_START of this code object as a new event.
 *
 * After a function's callback has returned DISABLE, the function gets PY_START again only if CPython
 * takes that event for a new one. CPython instruments the events that are missing in `active_monitors`.
 * PY_START is set globally, so it is never missing unless we remove it there. The alternatives cost
 * more. restart_events() restarts the events of every tool. Without the global event, CPython would
 * instrument the function's code twice, and every other function's code at its next call. */
static inline void fg_local_start_forget(PyCodeObject *code, int tool_id)
{
    _PyCoMonitoringData *data = code->_co_monitoring;

    if (FG_CAN_DISABLE && data)
        data->active_monitors.tools[PY_MONITORING_EVENT_PY_START] &= (uint8_t) ~(1u << tool_id);
}

/**
 * fg_instruction_tools_make() - Make a code object's table of the tools that have INSTRUCTION events.
 *
 * Call before we set INSTRUCTION events. CPython makes the table only when an event of the code gets a
 * second tool, and it starts empty. A tool that had INSTRUCTION events before gets no more of them then
 * (gh-157900).
 *
 * Return: 0; -1 with an exception.
 */
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
