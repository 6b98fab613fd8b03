/* See unseen.h. */
#include "arch/cpython/base/unseen.h"

int fg_call_unseen(PyObject *function, PyObject *const *args, size_t n)
{
    PyThreadState *tstate = PyThreadState_Get();
    int collects = PyGC_Disable();
    PyObject *result;

    PyThreadState_EnterTracing(tstate);
    result = PyObject_Vectorcall(function, args, n, NULL);
    PyThreadState_LeaveTracing(tstate);
    if (collects)
        PyGC_Enable();
    Py_XDECREF(result);
    return result ? 0 : -1;
}
