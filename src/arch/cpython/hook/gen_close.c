/* See gen_close.h. Our functions replace close(), throw() and the finalizer of the generator types.
 * Each calls the original. If the generator has ended and its call is still parked after that, CPython
 * fired no event for the end, so the call is ended here. */
#include "arch/cpython/hook/gen_close.h"

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/base/compat/generator.h"

#if FG_HAVE_SILENT_CLOSE

#include <pthread.h>

#include "arch/cpython/hook/c_method.h"
#include "arch/cpython/read/regs.h"
#include "engine/core/task.h"
#include "engine/graph/parked.h"
#include "engine/graph/suspended.h"

#define MAX_DELEGATES 64

/* A generator type, and the functions that were replaced. */
struct watched_type {
    PyTypeObject *type;
    const char *delegate; /* name of the attribute that holds the awaited object */
    destructor finalize;
    struct fg_c_method close_method, throw_method;
};

static struct watched_type watched[] = {
    {.type = &PyGen_Type, .delegate = "gi_yieldfrom"},
    {.type = &PyCoro_Type, .delegate = "cr_await"},
    {.type = &PyAsyncGen_Type, .delegate = "ag_await"},
};
#define NR_WATCHED (sizeof(watched) / sizeof(watched[0]))

static struct watched_type *watched_of(PyObject *object)
{
    for (size_t i = 0; i < NR_WATCHED; i++) {
        if (Py_IS_TYPE(object, watched[i].type))
            return &watched[i];
    }
    return NULL;
}

/* The frames of a generator and of the generators that it delegates to, which close() closes too. Holds
 * only addresses, because a reference would change when the objects are freed. */
struct frames {
    uintptr_t fps[MAX_DELEGATES];
    int n;
};

static void collect_frames(PyObject *object, struct frames *frames)
{
    fg_exception aside = fg_exception_set_aside();
    struct watched_type *at;

    frames->n = 0;
    Py_INCREF(object);
    while (object && frames->n < MAX_DELEGATES && (at = watched_of(object))) {
        frames->fps[frames->n++] = (uintptr_t)fg_generator_frame((PyGenObject *)object);
        /* A C getter of an exact built-in type. */
        Py_SETREF(object, PyObject_GetAttrString(object, at->delegate));
    }
    Py_XDECREF(object);
    fg_exception_put_back(aside);
}

/* Collects nothing while no call is parked, so that ending a generator stays cheap. */
static inline void collect_parked(PyObject *object, struct frames *frames)
{
    frames->n = 0;
    if (fg_unlikely(fg_parked_count()))
        collect_frames(object, frames);
}

/* Ends the calls that are still parked, innermost first. Call after the generator has ended. */
static void abandon_frames(const struct frames *frames)
{
    struct fg_task *task = fg_task_current();
    struct ftrace_regs regs = fg_no_regs();

    for (int i = frames->n; task && i-- > 0;)
        fg_abandon(task, frames->fps[i], &regs);
}

static void on_finalize(PyObject *object)
{
    struct frames frames;

    collect_parked(object, &frames);
    watched_of(object)->finalize(object);
    if (frames.n && fg_generator_has_ended(object))
        abandon_frames(&frames);
}

static PyObject *on_close(PyObject *object, PyObject *argument)
{
    struct frames frames;
    PyObject *result;

    collect_parked(object, &frames);
    result = watched_of(object)->close_method.original(object, argument);
    if (frames.n && fg_generator_has_ended(object))
        abandon_frames(&frames);
    return result;
}

static PyObject *on_throw(PyObject *object, PyObject *const *args, Py_ssize_t n)
{
    struct frames frames;
    PyObject *result;

    collect_parked(object, &frames);
    result = fg_c_method_go_on_fast(&watched_of(object)->throw_method, object, args, n);
    if (frames.n && fg_generator_has_ended(object))
        abandon_frames(&frames);
    return result;
}

static void install(void)
{
    for (size_t i = 0; i < NR_WATCHED; i++) {
        struct watched_type *at = &watched[i];

        at->finalize = at->type->tp_finalize;
        at->type->tp_finalize = on_finalize;
        fg_c_method_stand_before(&at->close_method, fg_c_method_of(at->type, "close"), METH_NOARGS, on_close);
        fg_c_method_stand_before(&at->throw_method, fg_c_method_of(at->type, "throw"), METH_FASTCALL,
                                 fg_fast_method_as_c(on_throw));
    }
}

static void restore(void)
{
    for (size_t i = 0; i < NR_WATCHED; i++) {
        struct watched_type *at = &watched[i];

        if (at->type->tp_finalize == on_finalize)
            at->type->tp_finalize = at->finalize;
        fg_c_method_step_aside(&at->close_method);
        fg_c_method_step_aside(&at->throw_method);
    }
}

/* All interpreters share the types, so the last one that stops restores them. */
static struct {
    pthread_mutex_t lock;
    unsigned count;
} interpreters = {.lock = PTHREAD_MUTEX_INITIALIZER};

void fg_gen_close_install(void)
{
    pthread_mutex_lock(&interpreters.lock);
    if (!interpreters.count++)
        install();
    pthread_mutex_unlock(&interpreters.lock);
}

void fg_gen_close_remove(void)
{
    pthread_mutex_lock(&interpreters.lock);
    if (!--interpreters.count)
        restore();
    pthread_mutex_unlock(&interpreters.lock);
}

#else

void fg_gen_close_install(void)
{
}

void fg_gen_close_remove(void)
{
}

#endif
