/* The events py/thread_start and py/thread_exit: a thread of the module threading begins and ends. They
 * are hit in the thread itself, around the method in which it runs. */
#include <errno.h>

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/latency/call_hook.h"
#include "arch/cpython/read/task_name.h"
#include "arch/cpython/static/late_source.h"
#include "arch/cpython/static/peek.h"
#include "arch/cpython/static/static_event.h"
#include "arch/cpython/static/text_writer.h"

#define NAME_BYTES 128u

/* The function that the thread runs: its name, or that of its type. */
static void copy_target(PyObject *thread, char *text)
{
    PyObject *target = fg_peek(thread, "_target");

    text[0] = 0;
    if (target && target != Py_None)
        fg_peek_text(target, "__qualname__", text, NAME_BYTES);
    if (target && PyMethod_Check(target))
        fg_peek_text(PyMethod_GET_FUNCTION(target), "__qualname__", text, NAME_BYTES);
    Py_XDECREF(target);
}

static void report(enum fg_static_event event, PyObject *thread, const char *target)
{
    fg_exception aside = fg_exception_set_aside();
    struct fg_static_site site = {0};
    char name[NAME_BYTES];
    PyObject *daemon = fg_peek(thread, "_daemonic");
    struct fg_fetched values[4];

    fg_peek_text(thread, "_name", name, sizeof(name));
    values[0] = fg_static_text(name);
    values[1] = fg_static_text(target);
    values[2] = fg_fetched_object(daemon);
    values[3] = fg_fetched_object(thread);
    fg_static_hit(event, &site, values);
    Py_XDECREF(daemon);
    fg_exception_put_back(aside);
}

/* Otherwise the thread has no name before it runs Python code. */
static void begin(PyObject *thread, const char *target)
{
    struct fg_task *task = fg_task_current();

    if (task)
        fg_cpython_task_name_of(task, thread);
    report(FG_STATIC_THREAD_START, thread, target);
}

static struct fg_call_hook hook;

/* When it ends, a thread has forgotten its function. */
static PyObject *around(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *thread = fg_call_hook_argument(args, nargsf, 0);
    char target[NAME_BYTES] = "";
    PyObject *result;

    if (thread)
        copy_target(thread, target);
    if (thread && fg_static_is_enabled(FG_STATIC_THREAD_START))
        begin(thread, target);
    result = fg_call_hook_go_on(&hook, function, args, nargsf, kwnames);
    if (thread && fg_static_is_enabled(FG_STATIC_THREAD_EXIT))
        report(FG_STATIC_THREAD_EXIT, thread, target);
    return result;
}

/* ---- the source */

static int install(void)
{
    hook.around = around;
    return fg_call_hook_install(&hook, "threading.Thread._bootstrap") ? 0 : -EOPNOTSUPP;
}

static void uninstall(void)
{
    fg_call_hook_remove(&hook);
}

const struct fg_late_source fg_thread_late = {
    .ops = &fg_thread_source,
    .module = "threading",
    .functions = "threading.*",
    .install = install,
    .remove = uninstall,
};

static int start(struct fg_event_source *source, void *scope)
{
    (void)source;
    return fg_late_source_start(&fg_thread_late, scope);
}

static void stop(struct fg_event_source *source, void *scope)
{
    (void)source, (void)scope;
    fg_late_source_stop(&fg_thread_late);
}

const struct fg_event_source_ops fg_thread_source = {start, stop};
