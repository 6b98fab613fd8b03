/* See file_arg.h. */
#include "binding/base/file_arg.h"

#include <limits.h>

int fg_file_arg_convert(PyObject *object, void *argument)
{
    struct fg_file_arg *file = argument;
    long fd;

    *file = (struct fg_file_arg){.fd = -1};
    if (object == NULL || !PyLong_Check(object))
        return object ? PyUnicode_FSConverter(object, &file->path) : 1;
    fd = PyLong_AsLong(object);
    if (fd == -1 && PyErr_Occurred())
        return 0;
    if (fd < 0 || fd > INT_MAX) {
        PyErr_Format(PyExc_ValueError, "invalid descriptor %ld: must be 0 or more", fd);
        return 0;
    }
    file->fd = (int)fd;
    return 1;
}

void fg_file_arg_clear(struct fg_file_arg *file)
{
    Py_CLEAR(file->path);
}
