/* See instance_object.h. */
#include "binding/engine/instance_object.h"

#include <errno.h>

#include "binding/base/raise.h"
#include "binding/core/error.h"

struct fg_instance *fg_instance_take(PyObject *object)
{
    struct fg_instance *instance = fg_instance_get(((struct fg_instance_object *)object)->handle);

    if (!instance)
        PyErr_SetString(PyExc_ValueError, "the instance is closed");
    return instance;
}

PyObject *fg_instance_result(int error)
{
    if (!error)
        Py_RETURN_NONE;
    if (error == -ENODEV)
        return fg_raise_killed();
    return PyErr_Occurred() ? NULL : fg_raise_errno(error, NULL);
}
