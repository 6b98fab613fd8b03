/* See callback.h. The rare parts: preparing the thread, recognizing calls that are callbacks
 * themselves, and threads that end in the middle of traced calls and have released their thread state. */
#include "arch/cpython/base/callback.h"

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/compat/thread.h"
#include "arch/cpython/base/interp.h"
#include "arch/cpython/base/tstate.h"

_Thread_local struct fg_callback_scope *fg_callback_scope __attribute__((tls_model("initial-exec")));

_Thread_local unsigned fg_untraced __attribute__((tls_model("initial-exec")));

bool fg_callback_is_own_call(const struct ftrace_regs *regs)
{
    const fg_pyframe *frame = regs->frame;
    fg_pyframe *caller;

    if (fg_untraced)
        return true;
    if (!frame || !fg_callback_scope)
        return false;
#if FG_HAVE_MONITORING
    caller = fg_complete_pyframe(frame->previous);
#else
    caller = fg_current_pyframe(fg_tstate()); /* the frame is not linked to its caller yet */
#endif
    return caller == fg_callback_scope->caller;
}

bool fg_callback_attach(const struct fg_func *func, PyGILState_STATE *attached)
{
    const struct fg_interp *interp = fg_func_interp(func);

    if (!interp->is_main || !Py_IsInitialized() || fg_is_finalizing())
        return false;
    *attached = PyGILState_Ensure();
    return true;
}

void fg_callback_detach(PyGILState_STATE attached)
{
    PyGILState_Release(attached);
}

void fg_callback_prepare(struct fg_callback_scope *scope, PyThreadState *tstate)
{
    scope->has_exception = fg_exception_is_set(tstate);
    if (scope->has_exception)
        scope->exception = fg_exception_set_aside();
    fg_recursion_room(tstate, FG_CALLBACK_ROOM);
    fg_tracing_pause(tstate);
}

void fg_callback_restore(const struct fg_callback_scope *scope, PyThreadState *tstate)
{
    fg_tracing_resume(tstate);
    fg_recursion_room(tstate, -FG_CALLBACK_ROOM);
    if (scope->has_exception)
        fg_exception_put_back(scope->exception);
}
