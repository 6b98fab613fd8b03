/* See progress.h. */
#include "binding/tracedata/base/progress.h"

#include <errno.h>

#define STEP_BYTES (UINT64_C(1) << 18) /* from one call to the next: some milliseconds */

int fg_progress_call(const struct fg_reading *reading, PyObject *callable)
{
    PyObject *result;

    if (PyErr_CheckSignals() < 0)
        return -1;
    if (!callable || callable == Py_None)
        return 0;
    result = PyObject_CallFunction(callable, "d", fg_reading_share(reading));
    Py_XDECREF(result);
    return result ? 0 : -1;
}

static int report(struct fg_reading *reading)
{
    struct fg_progress *progress = (struct fg_progress *)reading;
    uint64_t done = atomic_load_explicit(&reading->done, memory_order_relaxed);
    int error;

    if (progress->last && done - progress->last < STEP_BYTES)
        return 0;
    progress->last = done;
    PyEval_RestoreThread(progress->thread);
    error = fg_progress_call(reading, progress->callable);
    progress->thread = PyEval_SaveThread();
    return error < 0 ? -ECANCELED : 0;
}

void fg_progress_begin(struct fg_progress *progress, PyObject *callable)
{
    *progress = (struct fg_progress){.reading.report = report, .callable = callable};
    progress->thread = PyEval_SaveThread();
}

bool fg_progress_end(struct fg_progress *progress)
{
    PyEval_RestoreThread(progress->thread);
    return PyErr_Occurred() != NULL;
}
