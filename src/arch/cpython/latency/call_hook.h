/* Hooking one Python function by its vectorcall (PEP 590, PyFunction_SetVectorcall).
 *
 * For latency tracers that need only the start and end times of a method that is called all the time, and
 * no shadow stack. It costs a fifth of two events of sys.monitoring and a frame, and needs no other hook.
 * Not without the GIL, where another thread may be calling the function. */
#ifndef FG_CPYTHON_CALL_HOOK_H
#define FG_CPYTHON_CALL_HOOK_H

#include "arch/cpython/base/compat/python.h"

struct fg_call_hook {
    vectorcallfunc around;   /* what is called instead: it ends with, or calls, fg_call_hook_go_on */
    vectorcallfunc original; /* stays when the hook is gone: calls may still be inside */
    PyObject *function;      /* NULL: the hook is gone */
    unsigned generation;     /* counts installations: a call that began under an earlier one is ignored */
    bool is_buried;          /* could not be removed: another hook had replaced it, and may call it forever */
    struct fg_call_hook *next; /* of all that are installed */
};

/* `name` is "module.Class.method". False: the module was not imported yet, the method is no Python
 * function, or there are no such hooks here. No exception is left set. With the GIL. */
bool fg_call_hook_install(struct fg_call_hook *hook, const char *name);
/* Does nothing if it is not installed. Calls in progress go on. */
void fg_call_hook_remove(struct fg_call_hook *hook);

static inline PyObject *fg_call_hook_go_on(const struct fg_call_hook *hook, PyObject *function,
                                           PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    return hook->original(function, args, nargsf, kwnames);
}

static inline bool fg_call_hook_is_installed(const struct fg_call_hook *hook)
{
    return hook->function != NULL;
}

/* It is still installed as it was when it had this generation. */
static inline bool fg_call_hook_is(const struct fg_call_hook *hook, unsigned generation)
{
    return fg_call_hook_is_installed(hook) && hook->generation == generation;
}

/* An argument by position; NULL: there is none. */
static inline PyObject *fg_call_hook_argument(PyObject *const *args, size_t nargsf, Py_ssize_t n)
{
    return n < PyVectorcall_NARGS(nargsf) ? args[n] : NULL;
}

#endif
