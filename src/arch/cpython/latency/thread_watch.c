/* See thread_watch.h. A thread that runs Thread.start() waits there until the new one has begun. So the new
 * thread finds who starts it in a list of the threads that are inside of start(). */
#include "arch/cpython/latency/thread_watch.h"

#include <errno.h>
#include <stddef.h>

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/latency/call_hook.h"

/* A thread inside of Thread.start(), on its own stack. With the GIL. */
struct starting {
    PyObject *thread; /* what it starts */
    int tid;
    struct starting *next;
};

static struct starting *first;
static const struct fg_thread_watch *watch;
static struct fg_call_hook start_hook, run_hook;

static int own_tid(void)
{
    return (int)PyThread_get_thread_native_id();
}

/* The threads end start() in any order. */
static void remove_starting(const struct starting *one)
{
    struct starting **at = &first;

    while (*at && *at != one)
        at = &(*at)->next;
    if (*at)
        *at = one->next;
}

static PyObject *around_start(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    struct starting one = {fg_call_hook_argument(args, nargsf, 0), own_tid(), first};
    PyObject *result;

    first = &one;
    result = fg_call_hook_go_on(&start_hook, function, args, nargsf, kwnames);
    remove_starting(&one);
    return result;
}

/* 0: it was not started by Thread.start(), or that was given up. */
static int starter_of(const PyObject *thread)
{
    const struct starting *one = first;

    while (one && one->thread != thread)
        one = one->next;
    return one ? one->tid : 0;
}

static PyObject *around_run(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    int parent = starter_of(fg_call_hook_argument(args, nargsf, 0));
    PyObject *result;
    fg_exception aside;

    if (parent && watch)
        watch->begins(parent, own_tid());
    result = fg_call_hook_go_on(&run_hook, function, args, nargsf, kwnames);
    aside = fg_exception_set_aside();
    if (watch)
        watch->ends(own_tid());
    fg_exception_put_back(aside);
    return result;
}

int fg_thread_watch_start(const struct fg_thread_watch *new_watch)
{
    if (watch)
        return -EBUSY;
    start_hook.around = around_start;
    run_hook.around = around_run;
    if (!fg_call_hook_install(&start_hook, "threading.Thread.start") ||
        !fg_call_hook_install(&run_hook, "threading.Thread._bootstrap")) {
        fg_call_hook_remove(&start_hook);
        return -EOPNOTSUPP;
    }
    watch = new_watch;
    return 0;
}

void fg_thread_watch_stop(void)
{
    watch = NULL;
    first = NULL; /* a fork's child has none of these threads */
    fg_call_hook_remove(&run_hook);
    fg_call_hook_remove(&start_hook);
}
