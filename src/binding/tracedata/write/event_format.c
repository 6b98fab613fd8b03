/* See event_format.h. */
#include "binding/tracedata/write/event_format.h"

#include "binding/base/raise.h"
#include "tracedata/make/event_format.h"
#include "tracedata/make/trace_head.h"

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

static PyObject *header(void (*put)(struct fg_text *text))
{
    struct fg_text text = {0};
    PyObject *made = NULL;

    put(&text);
    if (text.failed)
        PyErr_NoMemory();
    else
        made = PyUnicode_DecodeASCII(text.data, (Py_ssize_t)text.bytes, NULL);
    fg_text_free(&text);
    return made;
}

static PyObject *header_page(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return header(fg_put_header_page);
}

static PyObject *header_event(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return header(fg_put_header_event);
}

static PyMethodDef functions[] = {
    {"header_page", header_page, METH_NOARGS, "header_page() -> str: how a page of a trace.dat begins."},
    {"header_event", header_event, METH_NOARGS, "header_event() -> str: how a record in it begins."},
    {"event_format", event_format, METH_VARARGS, event_format_doc},
    {NULL, NULL, 0, NULL},
};

int fg_add_event_format(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
