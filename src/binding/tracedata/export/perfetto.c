/* See perfetto.h. */
#include "binding/tracedata/export/perfetto.h"

#include <stdbool.h>

#include "binding/base/sequences.h"
#include "binding/base/types.h"
#include "binding/tracedata/base/column_input.h"
#include "binding/tracedata/base/state.h"
#include "tracedata/export/perfetto.h"

struct encoder {
    PyObject_HEAD struct fg_perfetto perfetto;
    struct fg_column_input names; /* held as long as the encoder lives */
    bool is_busy;                 /* a thread works without the GIL */
};

static bool are_places(const struct fg_perfetto_names *names)
{
    for (size_t i = 0; i < names->nr_functions; i++)
        if (names->first_argument[i] > names->first_argument[i + 1])
            return false;
    return names->first_argument[names->nr_functions] <= names->nr_arguments;
}

static bool take_names(struct encoder *encoder, PyObject *func_flags, PyObject *first_argument,
                       PyObject *arguments)
{
    struct fg_perfetto_names *names = &encoder->perfetto.names;
    size_t nr_firsts;

    if (!fg_take_array(&encoder->names, func_flags, 1, (const void **)&names->func_flags,
                       &names->nr_functions) ||
        !fg_take_array(&encoder->names, first_argument, sizeof(uint32_t),
                       (const void **)&names->first_argument, &nr_firsts) ||
        !fg_take_array(&encoder->names, arguments, sizeof(uint32_t), (const void **)&names->arguments,
                       &names->nr_arguments))
        return false;
    if (nr_firsts == names->nr_functions + 1 && are_places(names))
        return true;
    PyErr_SetString(PyExc_ValueError,
                    "first_argument must have a place in arguments for each function, and its end");
    return false;
}

static PyObject *encoder_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"clock", "start_ns", "func_flags", "first_argument", "arguments", NULL};
    struct encoder *encoder;
    PyObject *func_flags, *first_argument, *arguments;
    unsigned long long start_ns;
    unsigned int clock;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "IKOOO:PerfettoEncoder", keywords, &clock, &start_ns,
                                     &func_flags, &first_argument, &arguments))
        return NULL;
    encoder = (struct encoder *)type->tp_alloc(type, 0);
    if (encoder == NULL)
        return NULL;
    encoder->perfetto.clock = clock;
    encoder->perfetto.last_ns = start_ns;
    if (take_names(encoder, func_flags, first_argument, arguments))
        return (PyObject *)encoder;
    Py_DECREF(encoder);
    return NULL;
}

static void encoder_dealloc(PyObject *self)
{
    struct encoder *encoder = (struct encoder *)self;
    PyTypeObject *type = Py_TYPE(self);

    fg_perfetto_free(&encoder->perfetto);
    fg_column_input_release(&encoder->names);
    type->tp_free(self);
    Py_DECREF(type);
}

PyDoc_STRVAR(write_doc, "write($self, columns, threads, slices, /)\n--\n\n"
                        "Return the packets of some slices. See the type stub.");

static PyObject *encoder_write(PyObject *self, PyObject *args)
{
    struct encoder *encoder = (struct encoder *)self;
    struct fg_column_input batch = {0}, made = {0};
    struct fg_columns columns = {0};
    struct fg_slices slices;
    struct fg_text packets = {0};
    PyObject *arrays, *numbers, *cut, *result = NULL;
    const uint32_t *threads;
    size_t nr_tasks;

    if (!PyArg_ParseTuple(args, "OOO:write", &arrays, &numbers, &cut))
        return NULL;
    if (encoder->is_busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread uses it");
        return NULL;
    }
    if ((arrays == Py_None || fg_take_columns(&batch, arrays, &columns)) &&
        fg_take_array(&batch, numbers, sizeof(*threads), (const void **)&threads, &nr_tasks) &&
        fg_take_slices(&made, cut, &slices)) {
        encoder->is_busy = true;
        Py_BEGIN_ALLOW_THREADS;
        fg_perfetto_write(&encoder->perfetto, &columns, threads, nr_tasks, &slices, arrays == Py_None,
                          &packets);
        Py_END_ALLOW_THREADS;
        encoder->is_busy = false;
        result = packets.failed ? PyErr_NoMemory()
                                : PyBytes_FromStringAndSize(packets.data, (Py_ssize_t)packets.bytes);
    }
    fg_text_free(&packets);
    fg_column_input_release(&batch);
    fg_column_input_release(&made);
    return result;
}

PyDoc_STRVAR(new_tracks_doc, "new_tracks($self, /)\n--\n\n"
                             "Return (uuid, thread, function) of tracks that packets have had since.");

static PyObject *encoder_new_tracks(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct encoder *encoder = (struct encoder *)self;
    struct fg_await_chains *chains = &encoder->perfetto.chains;
    PyObject *list;

    if (encoder->is_busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread uses it");
        return NULL;
    }
    list = PyList_New(0);
    for (size_t i = 0; list && i < chains->nr_new_tracks; i++) {
        const struct fg_new_track *track = &chains->new_tracks[i];

        fg_list_append(&list, Py_BuildValue("(KII)", FG_PERFETTO_FIRST_TASK + track->number, track->thread,
                                            track->func));
    }
    chains->nr_new_tracks = 0;
    return list;
}

static PyMethodDef encoder_methods[] = {
    {"write", encoder_write, METH_VARARGS, write_doc},
    {"new_tracks", encoder_new_tracks, METH_NOARGS, new_tracks_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(encoder_doc, "PerfettoEncoder(clock, start_ns, func_flags, first_argument, arguments)\n--\n\n"
                          "Encodes slices as packets of a Perfetto trace. See the type stub.");

static PyType_Slot encoder_slots[] = {
    {Py_tp_doc, (void *)encoder_doc},
    {Py_tp_new, (void *)encoder_new},
    {Py_tp_dealloc, (void *)encoder_dealloc},
    {Py_tp_methods, encoder_methods},
    {0, NULL},
};

static PyType_Spec encoder_spec = {
    .name = "funcgraph._tracedata.PerfettoEncoder",
    .basicsize = sizeof(struct encoder),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = encoder_slots,
};

int fg_add_perfetto_types(PyObject *module)
{
    static const char *const notes[] = {"",
#define X(name, value) [(value)] = #name,
                                        FG_PERFETTO_NOTES(X)
#undef X
    };

    if (fg_add_names(module, "PERFETTO_NOTES", notes, FG_NR_ITEMS(notes)) < 0 ||
        PyModule_AddIntConstant(module, "PERFETTO_SEQUENCE", FG_PERFETTO_SEQUENCE) < 0 ||
        PyModule_AddIntConstant(module, "PERFETTO_DELTA_CLOCK", FG_PERFETTO_DELTA_CLOCK) < 0 ||
        PyModule_AddIntConstant(module, "PERFETTO_FIRST_TRACK", FG_PERFETTO_FIRST_TRACK) < 0 ||
        PyModule_AddIntConstant(module, "PERFETTO_ARG0", FG_PERFETTO_ARG0) < 0 ||
        PyModule_AddIntConstant(module, "PERFETTO_FIRST_NAME", FG_PERFETTO_FIRST_NAME) < 0)
        return -1;
    return fg_add_type(module, &encoder_spec, &fg_tracedata_state(module)->perfetto_encoder_type);
}
