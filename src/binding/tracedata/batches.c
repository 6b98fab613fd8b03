/* See batches.h. */
#include "binding/tracedata/batches.h"

#include "binding/base/critical_section.h"
#include "binding/tracedata/base/column.h"
#include "binding/tracedata/base/names.h"

static int open_merge(struct fg_batches *batches, int (*start)(struct fg_batches *batches))
{
    int error =
        fg_selected_open(&batches->selected, &batches->merge, &batches->reader->file, &batches->names);

    return error || !start ? error : start(batches);
}

PyObject *fg_batches_new(PyTypeObject *type, PyObject *reader, const struct fg_batch_arguments *arguments,
                         int (*start)(struct fg_batches *batches))
{
    struct fg_batches *batches;
    int error;

    if (fg_check_batch_size(arguments->size) < 0)
        return NULL;
    batches = (struct fg_batches *)type->tp_alloc(type, 0);
    if (!batches)
        return NULL;
    batches->reader = (struct fg_reader *)Py_NewRef(reader);
    batches->size = (size_t)arguments->size;
    if (fg_fill_names(&batches->names, &batches->reader->file, arguments->functions, arguments->tasks,
                      arguments->select_unknown) < 0 ||
        fg_selected_parse(&batches->selected, batches->reader, &batches->names, arguments->selection) < 0) {
        Py_DECREF(batches);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    error = open_merge(batches, start);
    Py_END_ALLOW_THREADS;
    if (!error)
        return (PyObject *)batches;
    fg_reader_raise(batches->reader, error, batches->merge.reason);
    Py_DECREF(batches);
    return NULL;
}

void fg_batches_clear(struct fg_batches *batches)
{
    if (batches->merge.file)
        fg_merge_close(&batches->merge);
    fg_selected_free(&batches->selected);
    fg_name_table_free(&batches->names);
    Py_CLEAR(batches->reader);
}

static bool is_free(const struct fg_batches *batches)
{
    if (batches->is_busy)
        PyErr_SetString(PyExc_RuntimeError, "another thread is reading");
    return !batches->is_busy;
}

bool fg_batches_begin(struct fg_batches *batches)
{
    if (!is_free(batches))
        return false;
    if (batches->error)
        fg_reader_raise(batches->reader, batches->error, batches->merge.reason);
    else if (!batches->at_end && fg_reader_step(batches->reader) < 0)
        return false;
    batches->is_busy = !batches->error && !batches->at_end;
    return batches->is_busy;
}

void fg_batches_end(struct fg_batches *batches, int result)
{
    batches->is_busy = false;
    batches->at_end = result == 0;
    if (result < 0)
        batches->error = result;
}

PyObject *fg_batches_raise(struct fg_batches *batches, int result)
{
    return result < 0 ? fg_reader_raise(batches->reader, result, batches->merge.reason) : NULL;
}

PyDoc_STRVAR(unknown_tasks_doc,
             "unknown_tasks($self, /)\n--\n\n"
             "Return (lane, tid) of the tasks that events had so far and the list of tasks has not.\n\n"
             "Their numbers follow those of the list.");

static PyObject *unknown_tasks(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct fg_batches *batches = (struct fg_batches *)self;

    return is_free(batches) ? fg_unknown_tasks(&batches->names) : NULL;
}

FG_ALONE(unknown_tasks)

PyMethodDef fg_batches_methods[] = {
    {"unknown_tasks", unknown_tasks_alone, METH_NOARGS, unknown_tasks_doc},
    {NULL, NULL, 0, NULL},
};
