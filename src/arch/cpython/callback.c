/* Python's functions in a thread that has let go of Python: one that ends in the middle of traced calls. */
#include "callback.h"

#include "interp.h"

#if !FG_HAVE_MONITORING
_Thread_local bool fg_callback_starts __attribute__((tls_model("initial-exec")));
#endif

bool fg_callback_attach(const struct fg_func *func, PyGILState_STATE *attached)
{
    const struct fg_interp *interp = func->domain;

    if (!interp->is_main || !Py_IsInitialized() || fg_is_finalizing())
        return false;
    *attached = PyGILState_Ensure();
    return true;
}

void fg_callback_detach(PyGILState_STATE attached)
{
    PyGILState_Release(attached);
}
