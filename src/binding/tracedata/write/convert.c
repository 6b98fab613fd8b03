/* convert(): a `.fg` trace as a trace.dat. */
#include "binding/tracedata/write/convert.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "binding/base/file_arg.h"
#include "binding/base/raise.h"
#include "binding/base/types.h"
#include "binding/tracedata/base/progress.h"
#include "binding/tracedata/write/dat_format.h"

/* Which of the two files an error is about. */
struct outcome {
    int error;
    bool of_output;
    uint64_t damaged_at;
};

static int open_source(const struct fg_file_arg *source)
{
    int fd = source->path ? open(PyBytes_AS_STRING(source->path), O_RDONLY | O_CLOEXEC)
                          : fcntl(source->fd, F_DUPFD_CLOEXEC, 0);

    return fd < 0 ? -errno : fd;
}

static void convert(const struct fg_file_arg *source, const struct fg_file_arg *output,
                    const struct fg_trace_dat_format *format, struct fg_reading *reading,
                    struct outcome *outcome)
{
    struct fg_recorded recorded;
    int fd = open_source(source);

    if (fd < 0) {
        outcome->error = fd;
        return;
    }
    outcome->error = fg_recorded_open(fd, &recorded);
    if (outcome->error == 0) {
        outcome->of_output = true;
        outcome->error = output->path
                             ? fg_assemble(&recorded, PyBytes_AS_STRING(output->path), format, reading,
                                           &outcome->damaged_at)
                             : fg_assemble_into(&recorded, output->fd, format, reading, &outcome->damaged_at);
    }
    fg_recorded_close(&recorded);
    close(fd);
}

static PyObject *raise_error(const struct outcome *outcome, PyObject *source, PyObject *output)
{
    if (outcome->of_output)
        return fg_raise_errno(outcome->error, output);
    if (outcome->error == -EINVAL)
        return PyErr_Format(PyExc_ValueError, "not a .fg trace");
    if (outcome->error == -ENOTSUP)
        return PyErr_Format(PyExc_ValueError, "compressed with zstd, and this system has no zstd library");
    return fg_raise_errno(outcome->error, source);
}

PyDoc_STRVAR(
    convert_doc,
    "convert($module, source, output, /, *, version=7, compression=None, values_are_texts=False, "
    "progress=None)\n--\n\nWrite a trace.dat of a .fg trace; return the offset of damage in it, or None.");

static PyObject *convert_files(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"", "", "version", "compression", "values_are_texts", "progress", NULL};
    struct fg_trace_dat_format format;
    const char *compression = NULL;
    int version = 7, values_are_texts = 0;
    bool is_ended;
    struct fg_file_arg source = {.fd = -1}, output = {.fd = -1};
    struct outcome outcome = {0};
    PyObject *source_arg, *output_arg, *callable = NULL;
    struct fg_progress progress;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|$izpO:convert", keywords, &source_arg, &output_arg,
                                     &version, &compression, &values_are_texts, &callable) ||
        !fg_dat_format_parse(version, compression, &format) || !fg_file_arg_convert(source_arg, &source))
        return NULL;
    format.values_are_texts = values_are_texts;
    if (!fg_file_arg_convert(output_arg, &output)) {
        fg_file_arg_clear(&source);
        return NULL;
    }
    fg_progress_begin(&progress, callable);
    convert(&source, &output, &format, &progress.reading, &outcome);
    is_ended = fg_progress_end(&progress);
    fg_file_arg_clear(&source);
    fg_file_arg_clear(&output);
    if (is_ended)
        return NULL;
    if (outcome.error < 0)
        return raise_error(&outcome, source_arg, output_arg);
    if (outcome.damaged_at)
        return PyLong_FromUnsignedLongLong(outcome.damaged_at);
    Py_RETURN_NONE;
}

static PyMethodDef convert_functions[] = {
    {"convert", FG_KEYWORDS(convert_files), convert_doc},
    {NULL, NULL, 0, NULL},
};

int fg_add_convert_functions(PyObject *module)
{
    return PyModule_AddFunctions(module, convert_functions);
}
