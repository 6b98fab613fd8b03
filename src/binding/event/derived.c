/* See derived.h. */
#include "binding/event/derived.h"

#include <stdlib.h>

#include "binding/base/raise.h"

static int refuse(const char *what)
{
    PyErr_Format(PyExc_ValueError, "an event that others make: %s", what);
    return -1;
}

/* ---- fields */

static int fill_field(struct fg_image_form *form, PyObject *tuple, const char **name)
{
    struct fg_field *field = &form->fields[form->nr_fields];
    const char *type;
    PyObject *source, *steps;
    int number;

    if (!PyTuple_Check(tuple))
        return refuse("a field must be a tuple");
    if (!PyArg_ParseTuple(tuple, "ssbOO", name, &type, &field->count, &source, &steps))
        return -1;
    number = fg_field_type_by_name(type);
    if (number < 0 || (field->count && number != FG_FIELD_SYMBOL))
        return refuse("no such type");
    field->type = (uint8_t)number;
    form->nr_fields++;
    return 0;
}

static int fill_fields(struct fg_image_form *form, PyObject *fields, PyObject *limits, const char **names)
{
    int error = 0;

    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fields) && !error; i++) {
        unsigned long limit = PyLong_AsUnsignedLong(PyTuple_GET_ITEM(limits, i));

        if (limit >= FG_EVENT_MAX_BYTES)
            return PyErr_Occurred() ? -1 : refuse("too large a limit");
        form->most_bytes[i] = (uint16_t)limit;
        error = fill_field(form, PyTuple_GET_ITEM(fields, i), &names[i]);
    }
    return error;
}

struct fg_derived_event *fg_derived_event_of(PyObject *fields, PyObject *limits, const char ***names)
{
    struct fg_derived_event *made;
    int error;

    if (!PyTuple_Check(fields) || !PyTuple_Check(limits) ||
        PyTuple_GET_SIZE(fields) != PyTuple_GET_SIZE(limits) ||
        PyTuple_GET_SIZE(fields) > (Py_ssize_t)FG_EVENT_MAX_FIELDS) {
        refuse("as many limits as fields, and not too many");
        return NULL;
    }
    made = calloc(1, sizeof(*made));
    *names = calloc((size_t)PyTuple_GET_SIZE(fields) + 1, sizeof(char *));
    if (!made || !*names) {
        free(made);
        PyErr_NoMemory();
        return NULL;
    }
    error = fill_fields(&made->form, fields, limits, *names);
    if (!error && fg_image_lay_out(&made->form) != 0) {
        fg_raise_os_error(E2BIG, PyUnicode_FromString("the fields do not fit into an event"));
        error = -1;
    }
    if (error) {
        free(made);
        return NULL;
    }
    fg_derived_event_init(made);
    return made;
}

/* ---- a probe on another event */

static int fill_value(struct fg_eprobe_value *value, PyObject *object, const struct fg_hist_fields *fields)
{
    if (!PyUnicode_Check(object))
        return fg_hist_term_fill(&value->term, object, fields);
    value->text = PyUnicode_AsUTF8(object);
    return value->text ? 0 : -1;
}

static int fill_values(struct fg_eprobe *probe, PyObject *values, const struct fg_hist_fields *fields)
{
    Py_ssize_t n = PyTuple_GET_SIZE(values);

    probe->values = calloc((size_t)n + 1, sizeof(probe->values[0]));
    if (!probe->values) {
        PyErr_NoMemory();
        return -1;
    }
    for (; probe->nr_values < (uint32_t)n; probe->nr_values++) {
        if (fill_value(&probe->values[probe->nr_values], PyTuple_GET_ITEM(values, probe->nr_values),
                       fields) != 0)
            return -1;
    }
    return fg_eprobe_init(probe) == 0 ? 0 : refuse("one value for each field");
}

struct fg_eprobe_parts *fg_eprobe_parts_new(struct fg_derived_event *made, PyObject *values,
                                            const struct fg_hist_fields *fields,
                                            struct fg_event_filter *filter)
{
    struct fg_eprobe_parts *parts = calloc(1, sizeof(*parts));

    if (!parts) {
        fg_event_filter_free(filter);
        PyErr_NoMemory();
        return NULL;
    }
    parts->tuple = Py_NewRef(values);
    parts->probe.made = made;
    parts->probe.filter = filter;
    if (fill_values(&parts->probe, values, fields) == 0)
        return parts;
    fg_eprobe_parts_free(parts);
    return NULL;
}

void fg_eprobe_parts_free(struct fg_eprobe_parts *parts)
{
    if (!parts)
        return;
    fg_event_filter_free(parts->probe.filter);
    free(parts->probe.values);
    Py_DECREF(parts->tuple);
    free(parts);
}
