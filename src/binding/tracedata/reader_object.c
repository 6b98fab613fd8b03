/* See reader_object.h. */
#include "binding/tracedata/reader_object.h"

#include <errno.h>

#include "binding/base/raise.h"
#include "binding/tracedata/base/progress.h"

bool fg_reader_begin(struct fg_reader *reader)
{
    if (!reader->has_names || reader->is_busy) {
        PyErr_SetString(PyExc_RuntimeError,
                        reader->is_busy ? "another thread is reading" : "set_names() must be called first");
        return false;
    }
    reader->is_busy = true;
    return true;
}

int fg_reader_step(struct fg_reader *reader)
{
    return fg_progress_call(&reader->reading, reader->progress);
}

PyObject *fg_reader_raise(struct fg_reader *reader, int error, const char *reason)
{
    if ((error != -EINVAL && error != -ENOTSUP) || !reason[0])
        return fg_raise_errno(error, reader->path);
    PyErr_SetString(error == -ENOTSUP ? PyExc_NotImplementedError : PyExc_ValueError, reason);
    return NULL;
}
