/* See uvloop.h. */
#include "arch/cpython/latency/uvloop.h"

#include <string.h>

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/compat/gc.h"
#include "arch/cpython/base/compat/lookup.h"
#include "arch/cpython/base/tstate.h"
#include "arch/elf/got.h"
#include "engine/base/clock.h"

#define MODULE "uvloop.loop"

static struct fg_got_hook enter_hook, exit_hook;
static _Atomic(fg_uvloop_ended) ended; /* NULL: not hooked */
static _Atomic unsigned generation;    /* counts how often it was hooked */

/* The contexts that uvloop has entered in this thread. Its own methods, such as the one that runs all handles
 * that are ready, have contexts as well. They are distinguished from callbacks by the next context: uvloop
 * enters that one before any Python function has run. A context that a callback's own code has uvloop enter,
 * as by a write to a transport, belongs to that callback. */
#define MAX_LEVELS 4u

static _Thread_local struct {
    struct level {
        uint64_t begin;
        const fg_pyframe *frame; /* the newest at the time; only compared */
        bool is_own;             /* uvloop's own method, not a callback */
    } levels[MAX_LEVELS];
    unsigned n;
    unsigned nr_inside; /* contexts entered within the callback */
    unsigned generation;
} entered __attribute__((tls_model("initial-exec")));

static void push(const fg_pyframe *frame)
{
    struct level *last = entered.n ? &entered.levels[entered.n - 1] : NULL;

    if (entered.nr_inside || entered.n == MAX_LEVELS || (last && last->frame != frame)) {
        entered.nr_inside++;
        return;
    }
    if (last)
        last->is_own = true;
    entered.levels[entered.n++] = (struct level){.begin = fg_clock_now(), .frame = frame};
}

/* The callback that ends, or NULL. */
static const struct level *pop(void)
{
    const struct level *last;

    if (entered.nr_inside) {
        entered.nr_inside--;
        return NULL;
    }
    last = entered.n ? &entered.levels[--entered.n] : NULL;
    return last && !last->is_own ? last : NULL;
}

static int context_enter(PyObject *context)
{
    unsigned now = atomic_load_explicit(&generation, memory_order_relaxed);
    int result = PyContext_Enter(context);

    if (result != 0)
        return result;
    if (entered.generation != now) /* left over from the last time: exited after the hooks were removed */
        entered.n = entered.nr_inside = 0;
    entered.generation = now;
    push(fg_current_pyframe(fg_tstate()));
    return result;
}

static int context_exit(PyObject *context)
{
    fg_uvloop_ended on_ended = atomic_load_explicit(&ended, memory_order_relaxed);
    bool is_known = entered.generation == atomic_load_explicit(&generation, memory_order_relaxed);
    const struct level *callback = is_known ? pop() : NULL;

    if (callback && on_ended)
        on_ended(callback->begin, fg_clock_now(), context);
    return PyContext_Exit(context);
}

/* ---- hooking */

/* New reference, or NULL. */
static PyObject *module(void)
{
    fg_exception aside = fg_exception_set_aside();
    PyObject *found = fg_imported(MODULE, strlen(MODULE));

    PyErr_Clear();
    fg_exception_put_back(aside);
    return found;
}

/* The event loop that runs in this thread. New reference, or NULL; an exception may be set. */
static PyObject *running_loop(void)
{
    PyObject *asyncio = fg_imported("_asyncio", strlen("_asyncio")), *loop;

    if (!asyncio)
        return NULL;
    loop = PyObject_CallMethod(asyncio, "_get_running_loop", NULL); /* a C function */
    Py_DECREF(asyncio);
    if (loop == Py_None)
        Py_CLEAR(loop);
    return loop;
}

static bool is_uvloops(PyObject *loop)
{
    const PyTypeObject *type = Py_TYPE(loop);

    while (type && strcmp(type->tp_name, MODULE ".Loop") != 0)
        type = type->tp_base;
    return type;
}

bool fg_uvloop_is_likely(void)
{
    PyObject *found = module(), *loop;
    fg_exception aside;
    bool is_likely;

    if (!found)
        return false;
    aside = fg_exception_set_aside();
    loop = running_loop();
    is_likely = !loop || is_uvloops(loop);
    Py_XDECREF(loop);
    PyErr_Clear();
    fg_exception_put_back(aside);
    Py_DECREF(found);
    return is_likely;
}

static bool replace(const void *inside)
{
    if (fg_got_replace(&exit_hook, inside, "PyContext_Exit", (void *)(uintptr_t)context_exit) != 0)
        return false;
    if (fg_got_replace(&enter_hook, inside, "PyContext_Enter", (void *)(uintptr_t)context_enter) == 0)
        return true;
    fg_got_restore(&exit_hook);
    return false;
}

bool fg_uvloop_hook(fg_uvloop_ended function)
{
    PyObject *found = atomic_load(&ended) ? NULL : module();
    const PyModuleDef *def = found && PyModule_Check(found) ? PyModule_GetDef(found) : NULL;

    if (def) { /* it is data of the shared object */
        atomic_fetch_add(&generation, 1);
        atomic_store(&ended, function);
        if (!replace(def))
            atomic_store(&ended, NULL);
    }
    Py_XDECREF(found);
    return atomic_load(&ended) != NULL;
}

void fg_uvloop_unhook(void)
{
    if (!atomic_exchange(&ended, NULL))
        return;
    fg_got_restore(&enter_hook);
    fg_got_restore(&exit_hook);
}

/* ---- the callback of a handle */

struct search {
    PyObject *context;
    PyObject *found;    /* a new reference, or NULL */
    PyObject *callable; /* the first one that the present object refers to; borrowed */
    bool has_context;   /* the present object refers to the context */
};

static int look_at(PyObject *object, void *arg)
{
    struct search *search = arg;

    if (object == search->context)
        search->has_context = true;
    else if (!search->callable && PyCallable_Check(object))
        search->callable = object;
    return 0;
}

static bool is_handle(PyObject *object)
{
    const char *name = Py_TYPE(object)->tp_name;

    return strcmp(name, MODULE ".Handle") == 0 || strcmp(name, MODULE ".TimerHandle") == 0;
}

/* The collector's lists have older handles first. The one that runs now is older than those with the same
 * context that it scheduled. */
static int visit(PyObject *object, void *arg)
{
    struct search *search = arg;

    if (search->found || !is_handle(object))
        return 1;
    search->callable = NULL;
    search->has_context = false;
    Py_TYPE(object)->tp_traverse(object, look_at, search);
    if (search->has_context)
        search->found = Py_XNewRef(search->callable);
    return 1;
}

PyObject *fg_uvloop_callback(PyObject *context)
{
    struct search search = {.context = context};

    fg_visit_objects(visit, &search);
    return search.found;
}
