/* See python_codec.h. A codec compresses in the middle of C code whose thread has let go of the GIL, so each
 * call takes it. The callables are C functions of zlib and zstd (codecs.py): none of the program's code runs
 * here, and no handler of a signal. */
#include "binding/tracedata/python_codec.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "binding/base/sequences.h"
#include "tracedata/base/codec.h"

struct python_codec {
    struct fg_codec codec;
    PyObject *compress;     /* data: bytes -> bytes */
    PyObject *decompressor; /* () -> object with decompress(data, max_length), eof and unused_data */
};

/* ---- a thread state of the main interpreter's, to which the callables belong */

struct attached {
    PyThreadState *made; /* NULL: the thread has one, or gets one of PyGILState_Ensure() */
    PyGILState_STATE gil;
};

static struct attached attach(void)
{
    PyThreadState *known = PyGILState_GetThisThreadState();
    struct attached attached = {0};

    /* PyGILState_Ensure() would go on in another interpreter of this thread's. */
    if (known && PyThreadState_GetInterpreter(known) != PyInterpreterState_Main())
        attached.made = PyThreadState_New(PyInterpreterState_Main());
    if (attached.made)
        PyEval_RestoreThread(attached.made);
    else
        attached.gil = PyGILState_Ensure();
    return attached;
}

static void detach(struct attached attached)
{
    if (attached.made) {
        PyThreadState_Clear(attached.made);
        PyThreadState_DeleteCurrent();
    } else {
        PyGILState_Release(attached.gil);
    }
}

/* Clears the exception, and returns the errno that stands for it. */
static int failure(int error)
{
    bool memory = PyErr_ExceptionMatches(PyExc_MemoryError);

    PyErr_Clear();
    return memory ? -ENOMEM : error;
}

/* ---- the codec */

static void *state_new(const struct fg_codec *codec)
{
    return (void *)codec;
}

static void state_free(void *state)
{
    (void)state;
}

/* Incompressible data: zstd adds 1/256 and less than 64 bytes for small pieces, zlib less than 1/1000. */
static size_t bound(size_t bytes)
{
    return bytes + bytes / 128 + 512;
}

static int64_t compress(void *state, void *into, size_t room, const void *from, size_t bytes)
{
    struct python_codec *python = state;
    struct attached attached = attach();
    PyObject *data = PyBytes_FromStringAndSize(from, (Py_ssize_t)bytes);
    PyObject *packed = data ? PyObject_CallOneArg(python->compress, data) : NULL;
    int64_t result;

    if (packed == NULL) {
        result = failure(-EIO);
    } else if (!PyBytes_Check(packed)) {
        result = -EIO;
    } else {
        result = PyBytes_GET_SIZE(packed);
        if ((size_t)result > room)
            result = -ENOBUFS;
        else
            memcpy(into, PyBytes_AS_STRING(packed), (size_t)result);
    }
    Py_XDECREF(packed);
    Py_XDECREF(data);
    detach(attached);
    return result;
}

/* Whether the decompressor has read the data to its end, and nothing lies after that. */
static bool is_whole(PyObject *decompressor)
{
    PyObject *eof = PyObject_GetAttrString(decompressor, "eof");
    PyObject *rest = eof ? PyObject_GetAttrString(decompressor, "unused_data") : NULL;
    bool whole = rest && eof == Py_True && PyBytes_Check(rest) && PyBytes_GET_SIZE(rest) == 0;

    PyErr_Clear();
    Py_XDECREF(eof);
    Py_XDECREF(rest);
    return whole;
}

static int decompress(void *state, void *into, size_t bytes, const void *from, size_t from_bytes)
{
    struct python_codec *python = state;
    struct attached attached = attach();
    PyObject *decompressor = PyObject_CallNoArgs(python->decompressor);
    /* With one more byte than there should be, it comes to the end of the data. */
    PyObject *data = decompressor ? PyObject_CallMethod(decompressor, "decompress", "y#n", (const char *)from,
                                                        (Py_ssize_t)from_bytes, (Py_ssize_t)bytes + 1)
                                  : NULL;
    int result = 0;

    if (data == NULL)
        result = failure(-EBADMSG);
    else if (!PyBytes_Check(data) || (size_t)PyBytes_GET_SIZE(data) != bytes || !is_whole(decompressor))
        result = -EBADMSG;
    else
        memcpy(into, PyBytes_AS_STRING(data), bytes);
    Py_XDECREF(data);
    Py_XDECREF(decompressor);
    detach(attached);
    return result;
}

/* ---- the functions of the module */

PyDoc_STRVAR(codec_names_doc, "codec_names($module, /)\n--\n\n"
                              "Return the names of the codecs that are there, the best first.");

static const uint32_t best_first[] = {FG_CODEC_ZSTD, FG_CODEC_ZLIB, FG_CODEC_NONE};

static PyObject *codec_names(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    const char *names[FG_NR_CODECS];
    size_t count = 0;

    for (size_t i = 0; i < FG_NR_ITEMS(best_first); i++)
        if (fg_codec_by_id(best_first[i]))
            names[count++] = fg_codec_name(best_first[i]);
    return fg_name_tuple(names, count);
}

PyDoc_STRVAR(provide_codec_doc, "provide_codec($module, name, compress, decompressor, /)\n--\n\n"
                                "Hand in a codec that the system has no C library for. See the type stub.");

static uint32_t codec_id(const char *name)
{
    uint32_t id = 0;

    while (id < FG_NR_CODECS && strcmp(name, fg_codec_name(id)) != 0)
        id++;
    return id;
}

static PyObject *provide_codec(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *compress_function, *decompressor;
    struct python_codec *python;
    const char *name;
    uint32_t id;

    if (!PyArg_ParseTuple(args, "sOO:provide_codec", &name, &compress_function, &decompressor))
        return NULL;
    id = codec_id(name);
    if (id == FG_NR_CODECS)
        return PyErr_Format(PyExc_ValueError, "name must be 'zstd' or 'zlib', got '%s'", name);
    /* Another interpreter's objects may be gone when the codec is used. */
    if (PyInterpreterState_Get() != PyInterpreterState_Main())
        Py_RETURN_FALSE;
    python = malloc(sizeof(*python));
    if (python == NULL)
        return PyErr_NoMemory();
    *python = (struct python_codec){
        .codec = {.id = id,
                  .name = fg_codec_name(id),
                  .state_new = state_new,
                  .state_new_dense = state_new,
                  .state_free = state_free,
                  .bound = bound,
                  .compress = compress,
                  .decompress = decompress},
        .compress = Py_NewRef(compress_function),
        .decompressor = Py_NewRef(decompressor),
    };
    if (fg_codec_provide(&python->codec) == 0)
        Py_RETURN_TRUE;
    free(python);
    Py_DECREF(compress_function);
    Py_DECREF(decompressor);
    Py_RETURN_FALSE;
}

static PyMethodDef codec_functions[] = {
    {"codec_names", codec_names, METH_NOARGS, codec_names_doc},
    {"provide_codec", provide_codec, METH_VARARGS, provide_codec_doc},
    {NULL, NULL, 0, NULL},
};

int fg_add_codec_functions(PyObject *module)
{
    const char *names[FG_NR_ITEMS(best_first)];

    for (size_t i = 0; i < FG_NR_ITEMS(best_first); i++)
        names[i] = fg_codec_name(best_first[i]);
    if (fg_add_names(module, "CODECS", names, FG_NR_ITEMS(names)) < 0)
        return -1;
    return PyModule_AddFunctions(module, codec_functions);
}
