/* Batches: what iterators over a trace's columns have in common. Each has names and cursors of its own, so
 * several may read one Reader's file. */
#ifndef FG_BINDING_BATCHES_H
#define FG_BINDING_BATCHES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

#include "binding/base/critical_section.h"
#include "binding/tracedata/reader_object.h"
#include "binding/tracedata/selection.h"

/* The object of an iterator begins with it. */
struct fg_batches {
    PyObject_HEAD struct fg_reader *reader;
    struct fg_name_table names;
    struct fg_selected selected;
    struct fg_merge merge;
    size_t size;
    int error; /* found after the events that were returned last */
    bool at_end;
    bool is_busy; /* a thread reads without the GIL */
};

/* The arguments of the Reader's methods that make iterators. */
struct fg_batch_arguments {
    PyObject *functions; /* NULL: they are not named */
    PyObject *tasks;
    PyObject *selection; /* NULL: everything is read */
    int select_unknown;
    Py_ssize_t size;
};

/**
 * fg_batches_new() - make an iterator over what is read of @reader
 * @start: called with the open merge, without the GIL: 0 or a negative errno; or NULL
 *
 * Return: an object of @type, whose dealloc calls fg_batches_clear(); or NULL with an exception.
 */
PyObject *fg_batches_new(PyTypeObject *type, PyObject *reader, const struct fg_batch_arguments *arguments,
                         int (*start)(struct fg_batches *batches));
void fg_batches_clear(struct fg_batches *batches);

/* Before a batch is read. Return: false at the end, or with an exception. */
bool fg_batches_begin(struct fg_batches *batches);
/* After it: @result is 1, 0 at the end, or a negative errno, which holds after what the batch has. */
void fg_batches_end(struct fg_batches *batches, int result);
/* What the iterator returns of an empty batch: NULL, with an exception if reading failed. */
PyObject *fg_batches_raise(struct fg_batches *batches, int result);

/* unknown_tasks() of each. */
extern PyMethodDef fg_batches_methods[];

/* Defines METHOD_alone, which runs METHOD(self) in the critical section of its object. */
#define FG_BATCHES_ALONE(method)                                                                             \
    static PyObject *method##_alone(PyObject *self)                                                          \
    {                                                                                                        \
        PyObject *result;                                                                                    \
                                                                                                             \
        Py_BEGIN_CRITICAL_SECTION(self);                                                                     \
        result = method(self);                                                                               \
        Py_END_CRITICAL_SECTION();                                                                           \
        return result;                                                                                       \
    }

#endif
