/* See names.h. */
#include "binding/tracedata/base/names.h"

static int set_function(struct fg_name_table *names, uint32_t index, PyObject *item)
{
    const char *name, *arguments;
    Py_ssize_t name_bytes, arguments_bytes;
    unsigned int size_bytes;
    if (!PyTuple_Check(item)) {
        PyErr_SetString(PyExc_TypeError, "a function must be a tuple (name, arguments, size_bytes)");
        return -1;
    }
    if (!PyArg_ParseTuple(item, "s#s#I;a function must be (name, arguments, size_bytes)", &name, &name_bytes,
                          &arguments, &arguments_bytes, &size_bytes))
        return -1;
    if (fg_name_table_set_function(names, index, name, (size_t)name_bytes, arguments, (size_t)arguments_bytes,
                                   size_bytes)) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

static int add_task(struct fg_name_table *names, PyObject *item)
{
    const char *name;
    unsigned int lane;
    int tid, pid, selected;
    unsigned long long first_ns, last_ns;
    if (!PyTuple_Check(item)) {
        PyErr_SetString(PyExc_TypeError,
                        "a task must be a tuple (lane, tid, pid, name, first_ns, last_ns, selected)");
        return -1;
    }
    if (!PyArg_ParseTuple(item, "IiisKKp;a task must be (lane, tid, pid, name, first_ns, last_ns, selected)",
                          &lane, &tid, &pid, &name, &first_ns, &last_ns, &selected))
        return -1;
    struct fg_task_name task = {.name = (char *)name,
                                .lane = lane,
                                .tid = tid,
                                .pid = pid,
                                .first_ns = first_ns,
                                .last_ns = last_ns,
                                .selected = selected};
    if (fg_name_table_add_task(names, &task)) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

static int set_functions(struct fg_name_table *names, PyObject *functions, Py_ssize_t nr_functions)
{
    PyObject *iterator = PyObject_GetIter(functions), *item;
    uint32_t n = 0;
    int error = iterator ? 0 : -1;

    while (error == 0 && (item = PyIter_Next(iterator)) != NULL) {
        if (n < nr_functions) {
            error = set_function(names, n++, item);
        } else {
            PyErr_SetString(PyExc_ValueError, "more functions than their len() says");
            error = -1;
        }
        Py_DECREF(item);
    }
    Py_XDECREF(iterator);
    if (error == 0 && !PyErr_Occurred() && n < nr_functions)
        PyErr_SetString(PyExc_ValueError, "fewer functions than their len() says");
    return PyErr_Occurred() ? -1 : 0;
}

int fg_fill_names(struct fg_name_table *names, const struct fg_trace_file *file, PyObject *functions,
                  PyObject *tasks, int select_unknown)
{
    Py_ssize_t nr_functions = functions ? PyObject_Size(functions) : 0, nr_tasks = PyList_GET_SIZE(tasks);

    if (nr_functions < 0)
        return -1;
    if (nr_functions > INT32_MAX || nr_tasks > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "too many functions or tasks");
        return -1;
    }
    if (fg_name_table_init(names, (uint32_t)nr_functions, (uint32_t)nr_tasks) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    if (functions && set_functions(names, functions, nr_functions) < 0)
        return -1;
    for (Py_ssize_t i = 0; i < nr_tasks; i++)
        if (add_task(names, PyList_GET_ITEM(tasks, i)) < 0)
            return -1;
    names->by_thread = file->kernel != NULL;
    if (fg_name_table_sort(names) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    names->select_unknown = select_unknown;
    return 0;
}

PyObject *fg_unknown_tasks(const struct fg_name_table *names)
{
    PyObject *list = PyList_New(0);

    for (uint32_t i = names->nr_known_tasks; list && i < names->nr_tasks; i++)
        fg_list_append(&list, Py_BuildValue("(Ii)", names->tasks[i].lane, names->tasks[i].tid));
    return list;
}
