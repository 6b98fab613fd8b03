/* The latency tracers: enabling and disabling, maximum and threshold, and the section that was kept. */
#include "binding/engine/latency.h"

#include <errno.h>
#include <string.h>

#include "arch/cpython/register/latency.h"
#include "binding/base/raise.h"
#include "binding/base/sequences.h"
#include "binding/core/error.h"
#include "engine/base/clock.h"
#include "engine/writer/ring_buffer.h"

/* Return: NULL with an exception. */
static const struct fg_latency_tracer *find_tracer(PyObject *name)
{
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;

    for (int i = 0; text && fg_latency_tracers[i]; i++) {
        if (strcmp(fg_latency_tracers[i]->name, text) == 0)
            return fg_latency_tracers[i];
    }
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "%R is not a latency tracer; LATENCY_TRACERS has their names", name);
    return NULL;
}

static PyObject *raise_start_error(const struct fg_latency_tracer *tracer, int error, const char *why)
{
    if (error == -EIO)
        return NULL; /* an exception is set */
    if (error == -ENOMEM)
        return PyErr_NoMemory();
    if (error == -ENODEV)
        return fg_raise_killed();
    if (!why)
        why = error == -EBUSY    ? "already enabled"
              : error == -EINVAL ? "no such instance"
                                 : "all slots for users are taken";
    PyErr_SetObject(PyExc_OSError,
                    Py_BuildValue("(iN)", -error, PyUnicode_FromFormat("%s: %s", tracer->name, why)));
    return NULL;
}

static PyObject *latency_start(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *name;
    Py_ssize_t inside_kb = 0;
    struct fg_latency_output output = {0};
    const struct fg_latency_tracer *tracer;
    int slowest_call = 1, error;
    const char *why;

    if (!PyArg_ParseTuple(args, "O|niip:latency_start", &name, &inside_kb, &output.inside, &output.instance,
                          &slowest_call))
        return NULL;
    output.is_cheap = !slowest_call;
    tracer = find_tracer(name);
    if (!tracer)
        return NULL;
    if (inside_kb && (inside_kb < (Py_ssize_t)FG_RING_MIN_KB || inside_kb > (Py_ssize_t)FG_RING_MAX_KB))
        return PyErr_Format(PyExc_ValueError, "inside_kb must be 0 or in %u to %zd, got %zd", FG_RING_MIN_KB,
                            (Py_ssize_t)FG_RING_MAX_KB, inside_kb);
    output.inside_bytes = (size_t)inside_kb * 1024;
    error = fg_cpython_latency_start(tracer, output, &why);
    if (error)
        return raise_start_error(tracer, error, why);
    Py_RETURN_NONE;
}

static PyObject *latency_stop(PyObject *Py_UNUSED(module), PyObject *name)
{
    const struct fg_latency_tracer *tracer = find_tracer(name);

    if (!tracer)
        return NULL;
    if (fg_cpython_latency_stop(tracer) != 0)
        return PyErr_Format(PyExc_ValueError, "%s is not enabled", tracer->name);
    Py_RETURN_NONE;
}

static PyObject *latency_get(PyObject *Py_UNUSED(module), PyObject *name)
{
    const struct fg_latency_tracer *tracer = find_tracer(name);

    if (!tracer)
        return NULL;
    return Py_BuildValue("{s:O,s:K,s:K,s:K,s:s,s:z}", "is_on",
                         fg_cpython_latency_is_on(tracer) ? Py_True : Py_False, "max_ns",
                         (unsigned long long)fg_latency_max_ns(tracer->latency), "thresh_ns",
                         (unsigned long long)fg_latency_thresh_ns(tracer->latency), "nr_sections",
                         (unsigned long long)atomic_load(&tracer->latency->nr_sections), "what", tracer->what,
                         "graph", tracer->graph);
}

/* Return: true, with *tracer and *ns set; or false with an exception. */
static bool parse_ns(PyObject *args, const struct fg_latency_tracer **tracer, uint64_t *ns)
{
    PyObject *name;
    unsigned long long value;

    if (!PyArg_ParseTuple(args, "OK", &name, &value))
        return false;
    *ns = value;
    *tracer = find_tracer(name);
    return *tracer;
}

static PyObject *latency_set_max(PyObject *Py_UNUSED(module), PyObject *args)
{
    const struct fg_latency_tracer *tracer;
    uint64_t ns;

    if (!parse_ns(args, &tracer, &ns))
        return NULL;
    fg_latency_set_max_ns(tracer->latency, ns);
    Py_RETURN_NONE;
}

static PyObject *latency_set_thresh(PyObject *Py_UNUSED(module), PyObject *args)
{
    const struct fg_latency_tracer *tracer;
    uint64_t ns;

    if (!parse_ns(args, &tracer, &ns))
        return NULL;
    fg_latency_set_thresh_ns(tracer->latency, ns);
    Py_RETURN_NONE;
}

static PyObject *text_object(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text),
                                "replace"); /* the text may be cut within a character */
}

/* [(time_ns, duration_ns, text), ...] */
static PyObject *events_list(const struct fg_latency_section *section)
{
    PyObject *list = PyList_New(section->nr_events);

    for (uint32_t i = 0; list && i < section->nr_events; i++) {
        const struct fg_latency_event *event = &section->events[i];
        PyObject *item = Py_BuildValue("(KKN)", (unsigned long long)fg_clock_to_ns(event->time),
                                       (unsigned long long)fg_clock_duration_ns(event->duration),
                                       text_object(event->text));

        if (!item)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, item);
    }
    return list;
}

static PyObject *section_dict(const struct fg_latency_section *section)
{
    return Py_BuildValue("{s:K,s:K,s:K,s:i,s:N,s:N,s:N,s:N,s:K,s:N,s:I}", "begin_ns",
                         (unsigned long long)fg_clock_to_ns(section->begin), "end_ns",
                         (unsigned long long)fg_clock_to_ns(section->end), "latency_ns",
                         (unsigned long long)fg_clock_duration_ns(section->end - section->begin), "tid",
                         section->tid, "task", text_object(section->task), "started_at",
                         text_object(section->started_at), "ended_at", text_object(section->ended_at),
                         "slowest_call", text_object(section->slowest), "slowest_ns",
                         (unsigned long long)fg_clock_duration_ns(section->slowest_ticks), "events",
                         events_list(section), "left_out", section->nr_left_out);
}

static PyObject *latency_section(PyObject *Py_UNUSED(module), PyObject *name)
{
    const struct fg_latency_tracer *tracer = find_tracer(name);
    struct fg_latency_section *section = tracer ? fg_latency_take(tracer->latency) : NULL;
    PyObject *dict;

    if (!section)
        return tracer ? Py_NewRef(Py_None) : NULL;
    dict = section_dict(section);
    fg_latency_give_back(tracer->latency, section);
    return dict;
}

/* The ring-buffer file of the section's inside. A copy, because a longer section may replace this one at
 * any time. */
static PyObject *latency_inside(PyObject *Py_UNUSED(module), PyObject *name)
{
    const struct fg_latency_tracer *tracer = find_tracer(name);
    struct fg_latency_section *section = tracer ? fg_latency_take(tracer->latency) : NULL;
    PyObject *inside;

    if (!section)
        return tracer ? Py_NewRef(Py_None) : NULL;
    inside = section->frozen ? PyBytes_FromStringAndSize(section->frozen, (Py_ssize_t)section->frozen_bytes)
                             : Py_NewRef(Py_None);
    fg_latency_give_back(tracer->latency, section);
    return inside;
}

static PyMethodDef functions[] = {
    {"latency_start", latency_start, METH_VARARGS,
     "latency_start(tracer, inside_kb=0, inside=0, instance=0, slowest_call=True): enable a latency tracer."},
    {"latency_inside", latency_inside, METH_O,
     "latency_inside(tracer) -> bytes | None: ring-buffer file of what ran inside the section that was "
     "kept."},
    {"latency_stop", latency_stop, METH_O,
     "latency_stop(tracer): disable it; the section that was kept stays."},
    {"latency_get", latency_get, METH_O, "latency_get(tracer) -> dict: its state."},
    {"latency_set_max", latency_set_max, METH_VARARGS,
     "latency_set_max(tracer, ns): keep sections that are longer."},
    {"latency_set_thresh", latency_set_thresh, METH_VARARGS,
     "latency_set_thresh(tracer, ns): keep each section of at least ns; 0: keep each new longest section."},
    {"latency_section", latency_section, METH_O,
     "latency_section(tracer) -> dict | None: the section that was kept."},
    {NULL, NULL, 0, NULL},
};

int fg_latency_add(PyObject *module)
{
    const char *names[FG_MAX_LATENCY_TRACERS];
    size_t n = 0;

    for (; fg_latency_tracers[n]; n++)
        names[n] = fg_latency_tracers[n]->name;
    if (fg_add_names(module, "LATENCY_TRACERS", names, n) != 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
