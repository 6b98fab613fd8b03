/* Hooking one Python function by its vectorcall (PEP 590, PyFunction_SetVectorcall).
 *
 * For latency tracers that need only the start and end times of a method that is called very often, and
 * no shadow stack. It costs a fifth of two sys.monitoring events and a shadow stack frame, and needs no
 * other hook. Not available without the GIL, where another thread may be calling the function during
 * the change. */
#ifndef FG_CPYTHON_CALL_HOOK_H
#define FG_CPYTHON_CALL_HOOK_H

#include "arch/cpython/base/compat/python.h"

#ifdef Py_GIL_DISABLED
#define FG_HAVE_CALL_HOOKS 0
#else
#define FG_HAVE_CALL_HOOKS 1
#endif

struct fg_call_hook {
    vectorcallfunc around;   /* the replacement: it calls fg_call_hook_go_on */
    vectorcallfunc original; /* kept after removal: calls may still be inside `around` */
    PyObject *function;      /* NULL: the hook is not installed */
    unsigned generation;     /* counts installations; the end of a call from an earlier one is ignored */
    bool is_buried;          /* could not be removed: another hook replaced this one and may still call it */
    struct fg_call_hook *next; /* list of installed hooks */
};

/**
 * fg_call_hook_install() - Hook a method.
 * @name: "module.Class.method"
 *
 * Return: false: the module is not imported, the method is not a Python function, or this build has no
 * call hooks. No exception is left set.
 * Context: with the GIL.
 */
bool fg_call_hook_install(struct fg_call_hook *hook, const char *name);
/* Unhooks the method. Does nothing if the hook is not installed. Calls in progress continue. */
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

/* True if the hook is still the installation that had this generation. */
static inline bool fg_call_hook_is(const struct fg_call_hook *hook, unsigned generation)
{
    return fg_call_hook_is_installed(hook) && hook->generation == generation;
}

/* Positional argument @n, borrowed; NULL: not passed. */
static inline PyObject *fg_call_hook_argument(PyObject *const *args, size_t nargsf, Py_ssize_t n)
{
    return n < PyVectorcall_NARGS(nargsf) ? args[n] : NULL;
}

#endif
