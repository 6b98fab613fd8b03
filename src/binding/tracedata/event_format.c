/* See event_format.h. */
#include "binding/tracedata/event_format.h"

#include "binding/base/raise.h"
#include "tracedata/make/event_format.h"

PyDoc_STRVAR(event_format_doc, "event_format($module, system, name, fields, fields_at, id, /)\n--\n\n"
                               "The format text of an event, as the kernel's file of that name has it.");

static PyObject *event_format(PyObject *Py_UNUSED(module), PyObject *args)
{
    struct fg_event_words words;
    struct fg_text text = {0};
    PyObject *made = NULL;
    unsigned fields_at, id;
    int error;

    if (!PyArg_ParseTuple(args, "sssII:event_format", &words.system, &words.name, &words.fields, &fields_at,
                          &id))
        return NULL;
    words.fields_at = fields_at;
    error = fg_event_format(&words, id, &text);
    if (error == 0)
        made = PyUnicode_DecodeUTF8(text.data + FG_EVENT_FORMAT_AT,
                                    (Py_ssize_t)(text.bytes - FG_EVENT_FORMAT_AT), "replace");
    else
        fg_raise_errno(error, NULL);
    fg_text_free(&text);
    return made;
}

static PyMethodDef functions[] = {
    {"event_format", event_format, METH_VARARGS, event_format_doc},
    {NULL, NULL, 0, NULL},
};

int fg_add_event_format(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
