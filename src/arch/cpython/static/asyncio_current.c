/* See asyncio_current.h. */
#include "arch/cpython/static/asyncio_current.h"

#if FG_HAVE_TASK_TABLE

#include <string.h>

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/base/compat/lookup.h"

/* Of one interpreter. Under its GIL. */
static struct {
    fg_current_task_changes changes;
    PyObject *table; /* owned; NULL: it is not watched */
    int watcher;
} current;

static int on_change(PyDict_WatchEvent event, PyObject *dict, PyObject *key, PyObject *task)
{
    fg_exception aside;

    (void)key;
    if (event > PyDict_EVENT_CLEARED || dict != current.table)
        return 0;
    aside = fg_exception_set_aside();
    current.changes(event == PyDict_EVENT_DELETED || task == Py_None ? NULL : task);
    fg_exception_put_back(aside);
    return 0;
}

/* New reference, or NULL. */
static PyObject *find_table(void)
{
    PyObject *module = fg_imported("_asyncio", strlen("_asyncio"));
    PyObject *table = module ? fg_dict_get(PyModule_GetDict(module), "_current_tasks") : NULL;

    Py_XDECREF(module);
    if (table && !PyDict_CheckExact(table))
        Py_CLEAR(table);
    return table;
}

bool fg_current_tasks_watch(fg_current_task_changes changes)
{
    current.changes = changes;
    current.table = find_table();
    current.watcher = current.table ? PyDict_AddWatcher(on_change) : -1;
    if (current.watcher >= 0 && PyDict_Watch(current.watcher, current.table) == 0)
        return true;
    if (current.watcher >= 0)
        PyDict_ClearWatcher(current.watcher);
    Py_CLEAR(current.table);
    PyErr_Clear();
    return false;
}

void fg_current_tasks_unwatch(void)
{
    if (!current.table)
        return;
    PyDict_Unwatch(current.watcher, current.table);
    PyDict_ClearWatcher(current.watcher);
    Py_CLEAR(current.table);
    PyErr_Clear();
}

#else

bool fg_current_tasks_watch(fg_current_task_changes changes)
{
    (void)changes;
    return false;
}

void fg_current_tasks_unwatch(void)
{
}

#endif
