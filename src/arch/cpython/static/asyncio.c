/* The events asyncio/task_switch, task_create and task_done.
 *
 * Where CPython has a table of the tasks that run, that table is watched. Elsewhere the steps of tasks are
 * seen around the method by which an event loop runs them, as a handle's callback. A task ends with a
 * step. Where one is made, its initialization is replaced: of _asyncio.Task in the type, of the class in
 * Python by the method's vectorcall. */
#include <errno.h>
#include <string.h>

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/base/compat/lookup.h"
#include "arch/cpython/latency/asyncio_handle.h"
#include "arch/cpython/latency/call_hook.h"
#include "arch/cpython/static/asyncio_current.h"
#include "arch/cpython/static/asyncio_task.h"
#include "arch/cpython/static/late_source.h"
#include "arch/cpython/static/static_event.h"

static struct fg_task_types types;
static unsigned generation; /* counts installations */

/* The tasks of a thread. What an earlier installation has left is not looked at: the task may be gone. */
static _Thread_local struct {
    unsigned generation;
    PyObject *running;             /* the task that makes a step now; borrowed; NULL: none */
    char name[FG_TASK_TEXT_BYTES]; /* of the task that made the latest step; it may be gone */
    uint64_t id;
} here;

static void refresh(void)
{
    if (here.generation == generation)
        return;
    memset(&here, 0, sizeof(here));
    here.generation = generation;
}

static struct fg_fetched id_of(const void *task)
{
    return fg_fetched_unsigned((uint64_t)(uintptr_t)task);
}

/* ---- hits */

static void report_switch(PyObject *task)
{
    struct fg_static_site site = fg_static_site_here();
    char name[FG_TASK_TEXT_BYTES], coro[FG_TASK_TEXT_BYTES];
    struct fg_fetched values[6];

    fg_task_name(task, name);
    fg_task_coro(task, coro);
    values[0] = fg_static_text(here.name);
    values[1] = fg_fetched_unsigned(here.id);
    values[2] = fg_static_text(name);
    values[3] = id_of(task);
    values[4] = fg_static_text(coro);
    values[5] = fg_fetched_object(task);
    fg_static_hit(FG_STATIC_TASK_SWITCH, &site, values);
    memcpy(here.name, name, sizeof(name));
    here.id = (uint64_t)(uintptr_t)task;
}

static void report_done(PyObject *task)
{
    struct fg_static_site site = fg_static_site_here();
    char name[FG_TASK_TEXT_BYTES], coro[FG_TASK_TEXT_BYTES], result[FG_TASK_TEXT_BYTES];
    struct fg_fetched values[5];

    fg_task_name(task, name);
    fg_task_coro(task, coro);
    fg_task_result(task, result);
    values[0] = fg_static_text(name);
    values[1] = id_of(task);
    values[2] = fg_static_text(coro);
    values[3] = fg_static_text(result);
    values[4] = fg_fetched_object(task);
    fg_static_hit(FG_STATIC_TASK_DONE, &site, values);
}

static void report_create(PyObject *task)
{
    struct fg_static_site site = fg_static_site_here();
    char name[FG_TASK_TEXT_BYTES], coro[FG_TASK_TEXT_BYTES], parent[FG_TASK_TEXT_BYTES] = "";
    struct fg_fetched values[6];

    refresh();
    fg_task_name(task, name);
    fg_task_coro(task, coro);
    if (here.running)
        fg_task_name(here.running, parent);
    values[0] = fg_static_text(name);
    values[1] = id_of(task);
    values[2] = fg_static_text(coro);
    values[3] = fg_static_text(parent);
    values[4] = id_of(here.running);
    values[5] = fg_fetched_object(task);
    fg_static_hit(FG_STATIC_TASK_CREATE, &site, values);
}

/* ---- steps, from the table */

static void on_current(PyObject *task)
{
    PyObject *before;

    refresh();
    before = here.running;
    if (before && before != task && fg_static_is_enabled(FG_STATIC_TASK_DONE) && fg_task_is_done(before))
        report_done(before);
    here.running = task;
    if (task)
        report_switch(task);
}

/* ---- steps, from handles */

static struct fg_call_hook run_hook, init_hook;

static PyObject *run_step(PyObject *task, PyObject *function, PyObject *const *args, size_t nargsf,
                          PyObject *kwnames)
{
    PyObject *outer, *result;
    fg_exception aside;

    refresh();
    outer = here.running;
    Py_INCREF(task);
    report_switch(task);
    here.running = task;
    result = fg_call_hook_go_on(&run_hook, function, args, nargsf, kwnames);
    here.running = here.generation == generation ? outer : NULL;
    aside = fg_exception_set_aside();
    if (fg_static_is_enabled(FG_STATIC_TASK_DONE) && fg_task_is_done(task))
        report_done(task);
    Py_DECREF(task);
    fg_exception_put_back(aside);
    return result;
}

static PyObject *around_run(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *handle = fg_call_hook_argument(args, nargsf, 0);
    PyObject *callback = handle && fg_call_hook_is_installed(&run_hook) ? fg_handle_callback(handle) : NULL;
    PyObject *task = callback ? fg_task_stepped_by(&types, callback) : NULL;

    if (!task || fg_task_is_done(task))
        return fg_call_hook_go_on(&run_hook, function, args, nargsf, kwnames);
    return run_step(task, function, args, nargsf, kwnames);
}

/* ---- new tasks */

static void note_new(PyObject *task)
{
    if (task && fg_static_is_enabled(FG_STATIC_TASK_CREATE))
        report_create(task);
}

static PyObject *around_init(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *result = fg_call_hook_go_on(&init_hook, function, args, nargsf, kwnames);

    if (result)
        note_new(fg_call_hook_argument(args, nargsf, 0));
    return result;
}

static initproc c_init; /* of _asyncio.Task; a subclass that was made meanwhile still has ours */

static int init_in_c(PyObject *self, PyObject *args, PyObject *kwargs)
{
    int error = c_init(self, args, kwargs);

    if (!error)
        note_new(self);
    return error;
}

/* The slot of the type, and the one of its subclasses that inherit it. */
static void replace_slot(PyTypeObject *type, initproc from, initproc to)
{
    PyObject *subclasses = PyObject_CallMethod((PyObject *)type, "__subclasses__", NULL);

    if (type->tp_init == from)
        type->tp_init = to;
    for (Py_ssize_t i = 0; subclasses && i < PyList_GET_SIZE(subclasses); i++)
        replace_slot((PyTypeObject *)PyList_GET_ITEM(subclasses, i), from, to);
    Py_XDECREF(subclasses);
}

/* What super().__init__() calls is in a descriptor. */
static void replace_init(initproc from, initproc to)
{
    PyObject *key = PyUnicode_InternFromString("__init__");
    PyObject *descriptor = key && types.in_c ? fg_type_lookup(types.in_c, key) : NULL;

    if (types.in_c)
        replace_slot(types.in_c, from, to);
    if (descriptor && Py_IS_TYPE(descriptor, &PyWrapperDescr_Type) &&
        ((PyWrapperDescrObject *)descriptor)->d_wrapped == (void *)from)
        ((PyWrapperDescrObject *)descriptor)->d_wrapped = (void *)to;
    Py_XDECREF(descriptor);
    Py_XDECREF(key);
    PyErr_Clear();
}

/* ---- the source */

static int install(void)
{
    run_hook.around = around_run;
    init_hook.around = around_init;
    if (!fg_task_types_find(&types) || !(fg_current_tasks_watch(on_current) ||
                                         fg_call_hook_install(&run_hook, "asyncio.events.Handle._run"))) {
        fg_task_types_clear(&types);
        return -EOPNOTSUPP;
    }
    generation++;
    fg_handle_types_hold();
    fg_call_hook_install(&init_hook, "asyncio.tasks._PyTask.__init__"); /* a program may have removed it */
    if (types.in_c && types.in_c->tp_init != init_in_c) {
        c_init = types.in_c->tp_init;
        replace_init(c_init, init_in_c);
    }
    return 0;
}

static void uninstall(void)
{
    fg_exception aside = fg_exception_set_aside();

    fg_current_tasks_unwatch();
    fg_call_hook_remove(&run_hook);
    fg_call_hook_remove(&init_hook);
    replace_init(init_in_c, c_init);
    fg_handle_types_release();
    fg_task_types_clear(&types);
    fg_exception_put_back(aside);
}

const struct fg_late_source fg_asyncio_late = {
    .ops = &fg_asyncio_source,
    .module = "asyncio",
    .functions = "asyncio.*",
    .install = install,
    .remove = uninstall,
};

static int start(struct fg_event_source *source, void *scope)
{
    (void)source;
    return fg_late_source_start(&fg_asyncio_late, scope);
}

static void stop(struct fg_event_source *source, void *scope)
{
    (void)source, (void)scope;
    fg_late_source_stop(&fg_asyncio_late);
}

const struct fg_event_source_ops fg_asyncio_source = {start, stop};
