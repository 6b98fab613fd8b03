/* See slicer.h. */
#include "binding/tracedata/export/slicer.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>

#include "binding/base/critical_section.h"
#include "binding/base/raise.h"
#include "binding/base/sequences.h"
#include "binding/base/types.h"
#include "binding/tracedata/base/column.h"
#include "binding/tracedata/base/column_input.h"
#include "binding/tracedata/base/state.h"

struct slicer {
    PyObject_HEAD struct fg_slicer *slicer;
    bool is_busy; /* a thread works without the GIL */
};

static PyObject *slicer_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"has_times", "whats", "first_id", NULL};
    unsigned long long first_id = 1;
    unsigned int whats = UINT_MAX;
    struct slicer *slicer;
    int has_times;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "p|IK:Slicer", keywords, &has_times, &whats, &first_id))
        return NULL;
    slicer = (struct slicer *)type->tp_alloc(type, 0);
    if (slicer == NULL)
        return NULL;
    slicer->slicer = fg_slicer_new(
        (struct fg_slicer_options){.has_times = has_times, .whats = whats, .first_id = first_id});
    if (slicer->slicer)
        return (PyObject *)slicer;
    Py_DECREF(slicer);
    return PyErr_NoMemory();
}

static void slicer_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    fg_slicer_free(((struct slicer *)self)->slicer);
    type->tp_free(self);
    Py_DECREF(type);
}

static bool begin(struct slicer *slicer)
{
    if (slicer->is_busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread uses it");
        return false;
    }
    slicer->is_busy = true;
    return true;
}

static PyObject *end(struct slicer *slicer, struct fg_slices *slices, int error)
{
    PyObject *result = NULL;

    slicer->is_busy = false;
    if (error == 0)
        result = fg_slices_tuple(PyType_GetModuleState(Py_TYPE(slicer)), slices);
    else if (error == -EINVAL)
        PyErr_SetString(PyExc_ValueError, "an event has an impossible task or depth");
    else
        fg_raise_errno(error, NULL);
    fg_slices_free(slices);
    return result;
}

PyDoc_STRVAR(add_doc, "add($self, columns, threads, pids, /)\n--\n\n"
                      "Return the slices of a batch of events, as a tuple of columns. See the type stub.");

static PyObject *slicer_add(PyObject *self, PyObject *args)
{
    struct slicer *slicer = (struct slicer *)self;
    struct fg_column_input input = {0};
    struct fg_slice_tasks tasks;
    struct fg_columns columns;
    struct fg_slices slices = {0};
    PyObject *arrays, *threads, *pids;
    size_t nr_pids;
    int error;

    if (!PyArg_ParseTuple(args, "OOO:add", &arrays, &threads, &pids))
        return NULL;
    if (!fg_take_columns(&input, arrays, &columns) ||
        !fg_take_array(&input, threads, sizeof(*tasks.threads), (const void **)&tasks.threads, &tasks.n) ||
        !fg_take_array(&input, pids, sizeof(*tasks.pids), (const void **)&tasks.pids, &nr_pids) ||
        !begin(slicer)) {
        fg_column_input_release(&input);
        return NULL;
    }
    if (nr_pids < tasks.n)
        tasks.n = nr_pids;
    Py_BEGIN_ALLOW_THREADS;
    error = fg_slicer_add(slicer->slicer, &columns, tasks, &slices);
    Py_END_ALLOW_THREADS;
    fg_column_input_release(&input);
    return end(slicer, &slices, error);
}

PyDoc_STRVAR(finish_doc, "finish($self, /)\n--\n\n"
                         "Return the ends of the calls that are in progress, as a tuple of columns.");

static PyObject *slicer_finish(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct slicer *slicer = (struct slicer *)self;
    struct fg_slices slices = {0};
    int error;

    if (!begin(slicer))
        return NULL;
    error = fg_slicer_finish(slicer->slicer, &slices);
    return end(slicer, &slices, error);
}

FG_ALONE(slicer_finish)

static PyMethodDef slicer_methods[] = {
    {"add", slicer_add, METH_VARARGS, add_doc},
    {"finish", slicer_finish_alone, METH_NOARGS, finish_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(slicer_doc, "Slicer(has_times, whats=0xffffffff, first_id=1)\n--\n\n"
                         "Makes slices of batches of events. See the type stub.");

static PyType_Slot slicer_slots[] = {
    {Py_tp_doc, (void *)slicer_doc},
    {Py_tp_new, (void *)slicer_new},
    {Py_tp_dealloc, (void *)slicer_dealloc},
    {Py_tp_methods, slicer_methods},
    {0, NULL},
};

static PyType_Spec slicer_spec = {
    .name = "funcgraph._tracedata.Slicer",
    .basicsize = sizeof(struct slicer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slicer_slots,
};

int fg_add_slicer_types(PyObject *module)
{
    static const char *const slices[] = {
#define X(name, type, format, text) #name,
        FG_SLICES(X)
#undef X
            "data_offsets",
        "data",
    };
    static const char *const whats[] = {
#define X(name, value) [(value)] = #name,
        FG_SLICE_WHATS(X)
#undef X
    };

    if (fg_add_names(module, "SLICES", slices, FG_NR_ITEMS(slices)) < 0 ||
        fg_add_names(module, "SLICE_WHATS", whats, FG_NR_ITEMS(whats)) < 0 ||
        PyModule_AddIntConstant(module, "SLICE_ONLY_END", FG_SLICE_ONLY_END) < 0 ||
        PyModule_AddIntConstant(module, "SLICE_WHOLE", FG_SLICE_WHOLE) < 0 ||
        PyModule_AddIntConstant(module, "SLICE_IRQ", FG_SLICE_IRQ) < 0 ||
        PyModule_AddIntConstant(module, "SLICE_LOST_END", FG_SLICE_LOST_END) < 0)
        return -1;
    return fg_add_type(module, &slicer_spec, &fg_tracedata_state(module)->slicer_type);
}
