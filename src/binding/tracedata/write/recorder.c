/* Recorder: drains ring buffers into a spool, a `.fg` trace, and makes a trace.dat of it. */
#include "binding/tracedata/write/recorder.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "binding/base/critical_section.h"
#include "binding/base/file_arg.h"
#include "binding/base/raise.h"
#include "binding/base/sequences.h"
#include "binding/base/types.h"
#include "binding/tracedata/base/state.h"
#include "binding/tracedata/write/dat_format.h"
#include "tracedata/make/assemble.h"
#include "tracedata/recorder/dump.h"
#include "tracedata/recorder/recorder.h"
#include "tracedata/recorder/recorder_counts.h"
#include "tracedata/recorder/rotation.h"
#include "tracedata/spool/heaviest.h"

struct recorder {
    PyObject_HEAD PyObject *path; /* NULL: the spool has none */
    struct fg_recorder c;
    bool is_open;
    bool is_busy; /* a thread runs a method without the GIL */
};

static PyObject *raise_ring_error(struct recorder *recorder, uint32_t ring, int error)
{
    const char *damage = error == -EBADMSG || error == -ESRCH ? fg_recorder_damage(&recorder->c, ring) : NULL;

    if (damage)
        return PyErr_Format(PyExc_ValueError, "%s", damage);
    if (error != -ESRCH)
        return fg_raise_errno(error, recorder->path);
    return PyErr_Format(PyExc_ValueError, "ring %u does not exist, or is finished", ring);
}

static bool recorder_begin(struct recorder *recorder)
{
    if (!recorder->is_open) {
        PyErr_SetString(PyExc_ValueError, "the recorder is closed");
        return false;
    }
    if (recorder->is_busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread is using the recorder");
        return false;
    }
    return true;
}

/* Runs `call` without the GIL. Other threads that use the recorder meanwhile get RuntimeError. */
#define WITHOUT_GIL(recorder, call)                                                                          \
    do {                                                                                                     \
        (recorder)->is_busy = true;                                                                          \
        Py_BEGIN_ALLOW_THREADS;                                                                              \
        call;                                                                                                \
        Py_END_ALLOW_THREADS;                                                                                \
        (recorder)->is_busy = false;                                                                         \
    } while (0)

static bool ring_number(PyObject *arg, uint32_t *ring)
{
    unsigned long number = PyLong_AsUnsignedLong(arg);

    if (number == (unsigned long)-1 && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_OverflowError))
            return false;
        PyErr_Clear();
        number = UINT32_MAX;
    }
    *ring = number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
    return true;
}

PyDoc_STRVAR(recorder_doc,
             "Recorder(part, *, clock='mono', resume=False, compress=True, buffer_kb=0)\n--\n\n"
             "Drains ring-buffer files into a spool, and makes a trace of it. See the type stub.");

static int recorder_open(struct fg_recorder *recorder, const struct fg_file_arg *part, int clock, int resume)
{
    if (part->path == NULL)
        return resume ? -ENOTSUP : fg_recorder_open_in(recorder, part->fd, (enum fg_trace_clock)clock);
    return fg_recorder_open(recorder, PyBytes_AS_STRING(part->path), (enum fg_trace_clock)clock, resume != 0);
}

/* Return: a recorder that is not open yet. */
static struct recorder *recorder_alloc(PyTypeObject *type, const struct fg_file_arg *part)
{
    struct recorder *recorder = (struct recorder *)type->tp_alloc(type, 0);

    if (recorder && part->path) {
        recorder->path = PyUnicode_DecodeFSDefault(PyBytes_AS_STRING(part->path));
        if (recorder->path == NULL)
            Py_CLEAR(recorder);
    }
    return recorder;
}

static PyObject *recorder_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"part", "clock", "resume", "compress", "buffer_kb", NULL};
    struct fg_file_arg part = {.fd = -1};
    struct recorder *recorder;
    const char *clock_name = fg_trace_clock_names[FG_TRACE_CLOCK_MONO];
    int clock, resume = 0, compress = 1, error;
    unsigned int buffer_kb = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|$sppI:Recorder", keywords, fg_file_arg_convert, &part,
                                     &clock_name, &resume, &compress, &buffer_kb)) {
        fg_file_arg_clear(&part);
        return NULL;
    }
    clock = fg_name_index(fg_trace_clock_names, FG_NR_TRACE_CLOCKS, clock_name);
    if (clock < 0) {
        fg_file_arg_clear(&part);
        return PyErr_Format(PyExc_ValueError, "unknown clock '%s'; CLOCKS has all names", clock_name);
    }
    recorder = recorder_alloc(type, &part);
    if (recorder == NULL) {
        fg_file_arg_clear(&part);
        return NULL;
    }
    WITHOUT_GIL(recorder, error = recorder_open(&recorder->c, &part, clock, resume));
    fg_file_arg_clear(&part);
    recorder->is_open = error == 0;
    if (error == 0)
        fg_recorder_set_ring_bytes(&recorder->c, (uint64_t)buffer_kb << 10);
    if (error == 0 && !compress)
        fg_recorder_set_codec(&recorder->c, fg_codec_by_id(FG_CODEC_NONE));
    if (error == 0)
        return (PyObject *)recorder;
    if (error == -EINVAL)
        PyErr_SetString(PyExc_ValueError, "not a spool of funcgraph's");
    else
        fg_raise_errno(error, recorder->path);
    Py_DECREF(recorder);
    return NULL;
}

static void recorder_shut(struct recorder *recorder)
{
    if (recorder->is_open)
        fg_recorder_close(&recorder->c);
    recorder->is_open = false;
}

static void recorder_dealloc(PyObject *self)
{
    struct recorder *recorder = (struct recorder *)self;
    PyTypeObject *type = Py_TYPE(self);

    recorder_shut(recorder);
    Py_XDECREF(recorder->path);
    type->tp_free(self);
    Py_DECREF(type);
}

PyDoc_STRVAR(add_ring_doc, "add_ring($self, fd, name='', /, *, private=False)\n--\n\n"
                           "Map an open ring-buffer file. Return its number, for the other methods.");

static PyObject *recorder_add_ring(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"", "", "private", NULL};
    struct recorder *recorder = (struct recorder *)self;
    const char *name = "";
    int fd, number, is_private = 0;

    if (!recorder_begin(recorder))
        return NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "i|s$p:add_ring", keywords, &fd, &name, &is_private))
        return NULL;
    WITHOUT_GIL(recorder, number = fg_recorder_add_ring(&recorder->c, fd, name, is_private != 0));
    if (number >= 0)
        return PyLong_FromLong(number);
    if (number == -EINVAL)
        return PyErr_Format(PyExc_ValueError, "not a ring-buffer file, or damaged");
    return fg_raise_errno(number, NULL);
}

PyDoc_STRVAR(drain_doc,
             "drain($self, ring, /)\n--\n\n"
             "Copy all full sub-buffers and new symbols into the spool. Return the number of records.");

static PyObject *recorder_drain(PyObject *self, PyObject *arg)
{
    struct recorder *recorder = (struct recorder *)self;
    uint32_t ring;
    int64_t records;

    if (!recorder_begin(recorder) || !ring_number(arg, &ring))
        return NULL;
    WITHOUT_GIL(recorder, records = fg_recorder_drain(&recorder->c, ring));
    if (records < 0)
        return raise_ring_error(recorder, ring, (int)records);
    return PyLong_FromLongLong(records);
}

PyDoc_STRVAR(finish_doc,
             "finish($self, ring, /)\n--\n\n"
             "Copy what is left of a ring that no process writes any longer, and unmap its file.");

static PyObject *recorder_finish(PyObject *self, PyObject *arg)
{
    struct recorder *recorder = (struct recorder *)self;
    uint32_t ring;
    int error;

    if (!recorder_begin(recorder) || !ring_number(arg, &ring))
        return NULL;
    WITHOUT_GIL(recorder, error = fg_recorder_finish(&recorder->c, ring));
    if (error < 0)
        return raise_ring_error(recorder, ring, error);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(stop_writer_doc, "stop_writer($self, ring, /)\n--\n\n"
                              "Ask the ring's writer to stop recording. Its program goes on.");

static PyObject *recorder_stop_writer(PyObject *self, PyObject *arg)
{
    struct recorder *recorder = (struct recorder *)self;
    uint32_t ring;
    int error;

    if (!recorder_begin(recorder) || !ring_number(arg, &ring))
        return NULL;
    error = fg_recorder_stop_writer(&recorder->c, ring);
    if (error < 0)
        return raise_ring_error(recorder, ring, error);
    Py_RETURN_NONE;
}

/* Sets dict[key]. Steals the reference to `value`, which may be NULL with an exception set. */
static int set_item(PyObject *dict, const char *key, PyObject *value)
{
    int result = value ? PyDict_SetItemString(dict, key, value) : -1;

    Py_XDECREF(value);
    return result;
}

static int set_counts(PyObject *dict, const struct fg_recorder_counts *counts)
{
#define X(name, text)                                                                                        \
    if (set_item(dict, #name, PyLong_FromUnsignedLongLong(counts->name)) < 0)                                \
        return -1;
    FG_RECORDER_COUNTS(X)
#undef X
    return 0;
}

PyDoc_STRVAR(info_doc, "info($self, ring, /)\n--\n\nReturn the state of a ring, mapped or finished.");

static PyObject *recorder_info(PyObject *self, PyObject *arg)
{
    struct recorder *recorder = (struct recorder *)self;
    struct fg_recorder_info info;
    PyObject *dict, *killed;
    uint32_t ring;
    int error;

    if (!recorder_begin(recorder) || !ring_number(arg, &ring))
        return NULL;
    error = fg_recorder_info(&recorder->c, ring, &info);
    if (error < 0)
        return raise_ring_error(recorder, ring, error);
    dict = PyDict_New();
    if (dict == NULL)
        return NULL;
    killed = info.killed[0] ? PyUnicode_DecodeUTF8(info.killed, (Py_ssize_t)strlen(info.killed), "replace")
                            : Py_NewRef(Py_None);
    if (set_item(dict, "killed", killed) < 0 || set_counts(dict, &info.counts) < 0 ||
        set_item(dict, "pid", PyLong_FromUnsignedLong(info.pid)) < 0 ||
        set_item(dict, "instance",
                 PyUnicode_DecodeUTF8(info.instance, (Py_ssize_t)strlen(info.instance), "surrogateescape")) <
            0 ||
        set_item(dict, "finished", PyBool_FromLong(info.finished)) < 0 ||
        set_item(dict, "seen", PyLong_FromUnsignedLongLong(info.seen)) < 0)
        Py_CLEAR(dict);
    return dict;
}

PyDoc_STRVAR(totals_doc, "totals($self, /)\n--\n\nReturn the counts of all rings together.");

static PyObject *recorder_totals(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct recorder *recorder = (struct recorder *)self;
    struct fg_recorder_counts totals;
    PyObject *dict;
    int error;

    if (!recorder_begin(recorder))
        return NULL;
    error = fg_recorder_totals(&recorder->c, &totals);
    if (error < 0)
        return fg_raise_errno(error, recorder->path);
    dict = PyDict_New();
    if (dict && set_counts(dict, &totals) < 0)
        Py_CLEAR(dict);
    return dict;
}

static PyObject *function_name(const struct fg_trace_function *function)
{
    const char *module = fg_function_string(function, FG_FUNCTION_MODULE);
    const char *qualname = fg_function_string(function, FG_FUNCTION_QUALNAME);

    return PyUnicode_FromFormat("%s%s%s", module, *module && *qualname ? "." : "", qualname);
}

PyDoc_STRVAR(seen_functions_doc,
             "seen_functions($self, /)\n--\n\n"
             "Return the name and the module of each function that ran, recorded or not.");

static PyObject *recorder_seen_functions(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct recorder *recorder = (struct recorder *)self;
    const struct fg_symbols *symbols = &recorder->c.contents.symbols;
    PyObject *seen;

    if (!recorder_begin(recorder))
        return NULL;
    seen = PyList_New(0);
    for (size_t i = 0; seen && i < symbols->nr_functions; i++) {
        const struct fg_trace_function *function = &symbols->functions[i];
        const char *module = fg_function_string(function, FG_FUNCTION_MODULE);

        fg_list_append(&seen,
                       Py_BuildValue("(NN)", function_name(function),
                                     PyUnicode_DecodeUTF8(module, (Py_ssize_t)strlen(module), "replace")));
    }
    return seen;
}

PyDoc_STRVAR(matched_doc,
             "matched($self, /)\n--\n\nReturn the number of functions so far that may be recorded.");

static PyObject *recorder_matched(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct recorder *recorder = (struct recorder *)self;

    return recorder_begin(recorder) ? PyLong_FromSize_t(recorder->c.contents.symbols.nr_matched) : NULL;
}

#define HEAVIEST_MAX 32

PyDoc_STRVAR(heaviest_doc, "heaviest($self, count, /)\n--\n\n"
                           "Return the functions with the most bytes in the spool, and the share of each.");

static PyObject *heaviest_list(const struct fg_heavy *top, int found, uint64_t sampled)
{
    PyObject *list = PyList_New(0);

    for (int i = 0; list && i < found; i++)
        fg_list_append(&list, Py_BuildValue("(Nd)", function_name(top[i].function),
                                            (double)top[i].bytes / (double)sampled));
    return list;
}

static PyObject *recorder_heaviest(PyObject *self, PyObject *arg)
{
    struct recorder *recorder = (struct recorder *)self;
    struct fg_heavy top[HEAVIEST_MAX];
    uint64_t sampled;
    long count = PyLong_AsLong(arg);
    int found;

    if ((count == -1 && PyErr_Occurred()) || !recorder_begin(recorder))
        return NULL;
    if (count < 1 || count > HEAVIEST_MAX)
        return PyErr_Format(PyExc_ValueError, "count must be in 1 to %d, got %ld", HEAVIEST_MAX, count);
    WITHOUT_GIL(recorder,
                found = fg_heaviest(&recorder->c.contents, &recorder->c.spool, top, (int)count, &sampled));
    return found < 0 ? fg_raise_errno(found, recorder->path) : heaviest_list(top, found, sampled);
}

/* Raises ValueError if `text` is not a JSON object: readers could not read the trace. */
static int check_json_object(PyObject *text)
{
    PyObject *json = PyImport_ImportModule("json");
    PyObject *value = json ? PyObject_CallMethod(json, "loads", "O", text) : NULL;
    int result = value ? 0 : -1;

    if (value && !PyDict_Check(value)) {
        PyErr_SetString(PyExc_ValueError, "meta must be the text of a JSON object");
        result = -1;
    }
    Py_XDECREF(value);
    Py_XDECREF(json);
    return result;
}

/* The text of a JSON object, as bytes; NULL with an exception set. */
static const char *meta_text(PyObject *meta, Py_ssize_t *bytes)
{
    const char *text = PyUnicode_AsUTF8AndSize(meta, bytes);

    return text && check_json_object(meta) == 0 ? text : NULL;
}

PyDoc_STRVAR(complete_doc, "complete($self, meta, /)\n--\n\n"
                           "Describe the trace, and add its footer: the spool is a complete .fg trace.");

static int complete(struct fg_recorder *recorder, const char *meta, size_t bytes)
{
    int error = fg_recorder_refresh(recorder);

    if (error == 0)
        error = fg_recorder_describe(recorder, meta, bytes);
    return error < 0 ? error : fg_recorder_complete(recorder);
}

static PyObject *recorder_complete(PyObject *self, PyObject *arg)
{
    struct recorder *recorder = (struct recorder *)self;
    const char *meta;
    Py_ssize_t bytes;
    int error;

    if (!recorder_begin(recorder) || !PyArg_Parse(arg, "U:complete", &arg))
        return NULL;
    meta = meta_text(arg, &bytes);
    if (meta == NULL || !recorder_begin(recorder))
        return NULL;
    WITHOUT_GIL(recorder, error = complete(&recorder->c, meta, (size_t)bytes));
    if (error < 0)
        return fg_raise_errno(error, recorder->path);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(describe_doc, "describe($self, meta, /)\n--\n\n"
                           "Append what the recording was asked for, the text of a JSON object.");

static PyObject *recorder_describe(PyObject *self, PyObject *arg)
{
    struct recorder *recorder = (struct recorder *)self;
    const char *meta;
    Py_ssize_t bytes;
    int error;

    if (!recorder_begin(recorder) || !PyArg_Parse(arg, "U:describe", &arg))
        return NULL;
    meta = meta_text(arg, &bytes);
    if (meta == NULL || !recorder_begin(recorder))
        return NULL;
    WITHOUT_GIL(recorder, error = fg_recorder_describe(&recorder->c, meta, (size_t)bytes));
    if (error < 0)
        return fg_raise_errno(error, recorder->path);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(description_doc, "description($self, /)\n--\n\n"
                              "Return the latest text that describe() or complete() appended, or ''.");

static PyObject *recorder_description(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct recorder *recorder = (struct recorder *)self;
    const struct fg_text *meta = &recorder->c.contents.meta;

    return recorder_begin(recorder) ? PyUnicode_DecodeUTF8(meta->data, (Py_ssize_t)meta->bytes, "replace")
                                    : NULL;
}

PyDoc_STRVAR(size_doc, "size($self, /)\n--\n\nReturn the bytes of the spool.");

static PyObject *recorder_size(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct recorder *recorder = (struct recorder *)self;

    return recorder_begin(recorder) ? PyLong_FromUnsignedLongLong(recorder->c.spool.end) : NULL;
}

PyDoc_STRVAR(rotate_doc, "rotate($self, part, /)\n--\n\n"
                         "Complete the trace and go on in another spool. Return the rings' former numbers, "
                         "and the figures of the trace.");

static PyObject *former_numbers(const struct fg_recorder *recorder)
{
    PyObject *numbers = PyList_New(0);

    for (size_t i = 0; numbers && i < recorder->nr_rings; i++)
        fg_list_append(&numbers, PyLong_FromUnsignedLong(recorder->rings[i].former));
    return numbers;
}

static PyObject *recorder_rotate(PyObject *self, PyObject *arg)
{
    struct recorder *recorder = (struct recorder *)self;
    struct fg_recorder_counts counts;
    struct fg_file_arg part;
    PyObject *figures;
    int error;

    if (!recorder_begin(recorder) || !fg_file_arg_convert(arg, &part))
        return NULL;
    WITHOUT_GIL(recorder,
                error = part.path ? fg_recorder_rotate(&recorder->c, PyBytes_AS_STRING(part.path), &counts)
                                  : fg_recorder_rotate_in(&recorder->c, part.fd, &counts));
    fg_file_arg_clear(&part);
    if (error < 0)
        return fg_raise_errno(error, arg);
    figures = PyDict_New();
    if (figures && set_counts(figures, &counts) < 0)
        Py_CLEAR(figures);
    return figures ? Py_BuildValue("(NN)", former_numbers(&recorder->c), figures) : NULL;
}

PyDoc_STRVAR(dump_doc, "dump($self, output, segments, meta, /)\n--\n\n"
                       "Write a trace of earlier segments and the spool, and go on. Return its figures.");

/* The numbers of a tuple of descriptors, or NULL with an exception set. */
static int *descriptors(PyObject *tuple)
{
    Py_ssize_t count = PyTuple_GET_SIZE(tuple);
    int *fds = PyMem_Calloc((size_t)count + 1, sizeof(*fds));

    if (fds == NULL)
        return (int *)PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < count; i++) {
        fds[i] = (int)PyLong_AsLong(PyTuple_GET_ITEM(tuple, i));
        if (fds[i] == -1 && PyErr_Occurred()) {
            PyMem_Free(fds);
            return NULL;
        }
    }
    return fds;
}

static PyObject *dump(struct recorder *recorder, PyObject *path, PyObject *segments, PyObject *meta)
{
    struct fg_dumped dumped = {0};
    int *fds = descriptors(segments), error;
    size_t count = (size_t)PyTuple_GET_SIZE(segments);
    Py_ssize_t bytes;
    const char *text;

    if (fds == NULL)
        return NULL;
    text = meta_text(meta, &bytes);
    if (text == NULL || !recorder_begin(recorder)) {
        PyMem_Free(fds);
        return NULL;
    }
    WITHOUT_GIL(recorder, error = fg_recorder_dump(&recorder->c, fds, count, text, (size_t)bytes,
                                                   PyBytes_AS_STRING(path), &dumped));
    PyMem_Free(fds);
    if (error < 0)
        return fg_raise_errno(error, path);
    return Py_BuildValue("{sKsK}", "records", (unsigned long long)dumped.records, "lost",
                         (unsigned long long)dumped.lost);
}

static PyObject *recorder_dump(PyObject *self, PyObject *args)
{
    struct recorder *recorder = (struct recorder *)self;
    PyObject *path, *segments, *meta, *answer;

    if (!recorder_begin(recorder) ||
        !PyArg_ParseTuple(args, "O&O!U:dump", PyUnicode_FSConverter, &path, &PyTuple_Type, &segments, &meta))
        return NULL;
    answer = dump(recorder, path, segments, meta);
    Py_DECREF(path);
    return answer;
}

PyDoc_STRVAR(assemble_doc, "assemble($self, output, meta, /, *, version=6, compression=None)\n--\n\n"
                           "Write a trace.dat file of what the spool holds.");

static int write_output(const struct fg_recorded *recorded, const struct fg_file_arg *output,
                        const struct fg_trace_dat_format *format)
{
    uint64_t damaged_at;

    if (output->path == NULL)
        return fg_assemble_into(recorded, output->fd, format, NULL, &damaged_at);
    return fg_assemble(recorded, PyBytes_AS_STRING(output->path), format, NULL, &damaged_at);
}

/* Rings that are still mapped contribute what was drained, and the counts that they have now, if the spool
 * has room for them. */
static int assemble(struct fg_recorder *recorder, const struct fg_file_arg *output, const char *meta,
                    size_t bytes, const struct fg_trace_dat_format *format)
{
    struct fg_recorded recorded;
    int error = fg_recorder_refresh(recorder);

    if (error == -ENOMEM)
        return error;
    error = fg_recorded_open(recorder->spool.fd, &recorded);
    if (error == 0)
        error = fg_recorded_set_meta(&recorded, meta, bytes);
    if (error == 0)
        error = write_output(&recorded, output, format);
    fg_recorded_close(&recorded);
    return error;
}

static PyObject *recorder_assemble(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"", "", "version", "compression", NULL};
    struct recorder *recorder = (struct recorder *)self;
    struct fg_trace_dat_format format;
    struct fg_file_arg file;
    PyObject *output, *meta;
    const char *text, *compression = NULL;
    Py_ssize_t bytes;
    int error, version = 6;

    if (!recorder_begin(recorder) || !PyArg_ParseTupleAndKeywords(args, kwargs, "OU|$iz:assemble", keywords,
                                                                  &output, &meta, &version, &compression))
        return NULL;
    if (!fg_dat_format_parse(version, compression, &format))
        return NULL;
    text = meta_text(meta, &bytes);
    if (text == NULL || !recorder_begin(recorder) || !fg_file_arg_convert(output, &file))
        return NULL;
    WITHOUT_GIL(recorder, error = assemble(&recorder->c, &file, text, (size_t)bytes, &format));
    fg_file_arg_clear(&file);
    if (error < 0)
        return fg_raise_errno(error, output);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(close_doc, "close($self, /)\n--\n\nClose the spool and all rings. Their contents stay.");

static PyObject *recorder_close(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct recorder *recorder = (struct recorder *)self;

    if (recorder->is_open && !recorder_begin(recorder))
        return NULL;
    recorder_shut(recorder);
    Py_RETURN_NONE;
}

FG_ALONE_KEYWORDS(recorder_add_ring)
FG_ALONE(recorder_drain)
FG_ALONE(recorder_finish)
FG_ALONE(recorder_stop_writer)
FG_ALONE(recorder_info)
FG_ALONE(recorder_totals)
FG_ALONE(recorder_seen_functions)
FG_ALONE(recorder_matched)
FG_ALONE(recorder_heaviest)
FG_ALONE(recorder_describe)
FG_ALONE(recorder_description)
FG_ALONE(recorder_complete)
FG_ALONE(recorder_size)
FG_ALONE(recorder_rotate)
FG_ALONE(recorder_dump)
FG_ALONE_KEYWORDS(recorder_assemble)
FG_ALONE(recorder_close)

static PyMethodDef recorder_methods[] = {
    {"add_ring", FG_KEYWORDS(recorder_add_ring_alone), add_ring_doc},
    {"drain", recorder_drain_alone, METH_O, drain_doc},
    {"finish", recorder_finish_alone, METH_O, finish_doc},
    {"stop_writer", recorder_stop_writer_alone, METH_O, stop_writer_doc},
    {"info", recorder_info_alone, METH_O, info_doc},
    {"totals", recorder_totals_alone, METH_NOARGS, totals_doc},
    {"seen_functions", recorder_seen_functions_alone, METH_NOARGS, seen_functions_doc},
    {"matched", recorder_matched_alone, METH_NOARGS, matched_doc},
    {"heaviest", recorder_heaviest_alone, METH_O, heaviest_doc},
    {"describe", recorder_describe_alone, METH_O, describe_doc},
    {"description", recorder_description_alone, METH_NOARGS, description_doc},
    {"complete", recorder_complete_alone, METH_O, complete_doc},
    {"size", recorder_size_alone, METH_NOARGS, size_doc},
    {"rotate", recorder_rotate_alone, METH_O, rotate_doc},
    {"dump", recorder_dump_alone, METH_VARARGS, dump_doc},
    {"assemble", FG_KEYWORDS(recorder_assemble_alone), assemble_doc},
    {"close", recorder_close_alone, METH_NOARGS, close_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot recorder_slots[] = {
    {Py_tp_doc, (void *)recorder_doc},
    {Py_tp_new, (void *)recorder_new},
    {Py_tp_dealloc, (void *)recorder_dealloc},
    {Py_tp_methods, recorder_methods},
    {0, NULL},
};

static PyType_Spec recorder_spec = {
    .name = "funcgraph._tracedata.Recorder",
    .basicsize = sizeof(struct recorder),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = recorder_slots,
};

int fg_add_recorder_types(PyObject *module)
{
    if (fg_add_names(module, "CLOCKS", fg_trace_clock_names, FG_NR_TRACE_CLOCKS) < 0)
        return -1;
    return fg_add_type(module, &recorder_spec, &fg_tracedata_state(module)->recorder_type);
}
