/* Finding the interpreter lock. Its layout comes from the headers of the build, as a wheel fits one
 * minor version. fg_gil_find checks that the running CPython has the same layout. */
#include "arch/cpython/latency/gil.h"

#include <errno.h>

#include "arch/cpython/base/assumptions.h"

#define MAX_THREADS_SEEN 100000

static const struct _gil_runtime_state *state_of(const PyInterpreterState *interp)
{
#if FG_HAVE_OWN_GIL
    return interp->ceval.gil;
#else
    (void)interp;
    return &_PyRuntime.ceval.gil;
#endif
}

static bool is_enabled(const struct _gil_runtime_state *state)
{
#ifdef Py_GIL_DISABLED
    return __atomic_load_n(&state->enabled, __ATOMIC_RELAXED) != 0;
#else
    (void)state;
    return true;
#endif
}

/* sys.getswitchinterval() in microseconds; 0 if the call failed. */
static unsigned long switch_interval(void)
{
    PyObject *getter = PySys_GetObject("getswitchinterval"); /* borrowed */
    PyObject *seconds = getter ? PyObject_CallNoArgs(getter) : NULL;
    unsigned long interval =
        seconds && PyFloat_Check(seconds) ? (unsigned long)(PyFloat_AS_DOUBLE(seconds) * 1e6 + 0.5) : 0;

    Py_XDECREF(seconds);
    PyErr_Clear();
    return interval;
}

int fg_gil_find(struct fg_gil *gil, const char **why)
{
    PyThreadState *tstate = PyThreadState_Get();

    gil->interp = PyThreadState_GetInterpreter(tstate);
    gil->state = state_of(gil->interp);
    if (!gil->state || !is_enabled(gil->state)) {
        *why = "there is no interpreter lock in this process (a free-threaded CPython, PEP 703)";
        return -ENOTSUP;
    }
    if (!fg_gil_is_locked(gil) ||
        !fg_assumption_holds(FG_ASSUME_GIL, (uintptr_t)fg_gil_last_holder(gil), (uintptr_t)tstate) ||
        gil->state->interval != switch_interval()) {
        *why = "the interpreter lock of this CPython is not laid out as that of the one this was built for";
        return -ENOTSUP;
    }
    return 0;
}

bool fg_gil_knows(const struct fg_gil *gil, const PyThreadState *tstate)
{
    const PyThreadState *at = PyInterpreterState_ThreadHead(gil->interp);

    for (int i = 0; at && i < MAX_THREADS_SEEN; i++, at = at->next) {
        if (at == tstate)
            return true;
    }
    return false;
}
