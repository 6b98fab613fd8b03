/* The object behind Instance: it knows its instance by the handle, and holds the instance only while it
 * works with it. */
#ifndef FG_BINDING_INSTANCE_OBJECT_H
#define FG_BINDING_INSTANCE_OBJECT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "engine/tracer/instance.h"

struct fg_instance_object {
    PyObject_HEAD int handle; /* 0: closed */
};

/* The instance, which the caller gives back with fg_instance_put(). NULL with ValueError: it is closed. */
struct fg_instance *fg_instance_take(PyObject *object);

/* None, or NULL with the exception that `error`, a negative errno, stands for. An exception that is set
 * stays. */
PyObject *fg_instance_result(int error);

#endif
