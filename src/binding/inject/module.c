/* funcgraph._inject: threads of other processes, stopped and sent into a stub. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>
#include <string.h>

#include "binding/base/raise.h"
#include "binding/base/slots.h"
#include "inject/enter.h"
#include "inject/filter.h"
#include "inject/span.h"

PyDoc_STRVAR(enter_doc,
             "enter($module, process, tid, is_same, cave, content, text, functions, places, may_spawn, "
             "may_queue, /)\n--\n\n"
             "Send a thread into a stub that starts a new thread there, if it is where that is safe.");

/* Tables come as bytes objects, whose data is aligned for any of them. */
struct table {
    const void *data;
    Py_ssize_t bytes;
};

static struct fg_ranges ranges_of(struct table table)
{
    return (struct fg_ranges){table.data, (size_t)table.bytes / sizeof(struct fg_range)};
}

static struct fg_code code_of(struct table table, uint64_t signal_return)
{
    return (struct fg_code){table.data, (size_t)table.bytes / sizeof(struct fg_segment), signal_return};
}

/* Calls the function of Python that compares the process with what it was. Without the GIL. */
static bool is_same(void *function)
{
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *answer = PyObject_CallNoArgs(function);
    int is_true = answer ? PyObject_IsTrue(answer) : 0;

    Py_XDECREF(answer);
    PyErr_Clear();
    PyGILState_Release(state);
    return is_true > 0;
}

static PyObject *enter(PyObject *Py_UNUSED(module), PyObject *args)
{
    struct fg_entry entry = {.is_same = is_same};
    struct fg_process process;
    struct fg_stub_functions *calls = &entry.functions;
    struct fg_places *places = &entry.places;
    enum fg_place place = FG_PLACE_CODE;
    int tid, may_spawn, may_queue, lock_kind, result;
    struct table segments, loop, loader, allocator, locking;
    unsigned long long signal_return;
    Py_ssize_t content_bytes;

    if (!PyArg_ParseTuple(
            args, "(ii)iO(KK)y#y(KKKKKKKK)(KKy#Ky#y#y#y#iK)pp:enter", &process.pid, &process.memory, &tid,
            &entry.data, &entry.cave.low, &entry.cave.high, &entry.content, &content_bytes, &entry.text,
            &calls->pthread_create, &calls->pthread_detach, &calls->add_pending_call, &calls->is_initialized,
            &calls->is_finalizing, &calls->gil_ensure, &calls->gil_release, &calls->run_string,
            &places->python.low, &places->python.high, &loop.data, &loop.bytes, &signal_return,
            &segments.data, &segments.bytes, &loader.data, &loader.bytes, &allocator.data, &allocator.bytes,
            &locking.data, &locking.bytes, &lock_kind, &places->lock, &may_spawn, &may_queue))
        return NULL;
    places->code = code_of(segments, signal_return);
    places->loop = ranges_of(loop);
    places->loader = ranges_of(loader);
    places->allocator = ranges_of(allocator);
    places->locking = ranges_of(locking);
    if ((size_t)content_bytes != fg_stub_size_bytes(strlen(entry.text)))
        return fg_raise_errno(-EINVAL, NULL);
    places->lock_kind = (enum fg_lock_kind)lock_kind;
    entry.may_spawn = may_spawn != 0;
    entry.may_queue = may_queue != 0;
    Py_BEGIN_ALLOW_THREADS;
    result = fg_enter(&process, tid, &entry, &place);
    Py_END_ALLOW_THREADS;
    if (result < 0)
        return fg_raise_errno(result, NULL);
    return Py_BuildValue("Os", result ? Py_True : Py_False, fg_place_name(place));
}

PyDoc_STRVAR(pc_doc, "pc($module, process, tid, /)\n--\n\n"
                     "Return the address of the instruction that a thread executes next.");

static PyObject *pc(PyObject *Py_UNUSED(module), PyObject *args)
{
    struct fg_process process;
    uint64_t address = 0;
    int tid, result;

    if (!PyArg_ParseTuple(args, "(ii)i:pc", &process.pid, &process.memory, &tid))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    result = fg_pc(&process, tid, &address);
    Py_END_ALLOW_THREADS;
    return result < 0 ? fg_raise_errno(result, NULL) : PyLong_FromUnsignedLongLong(address);
}

PyDoc_STRVAR(span_doc, "span($module, process, segments, address, /)\n--\n\n"
                       "Return the code that is described together with an instruction.");

static PyObject *span(PyObject *Py_UNUSED(module), PyObject *args)
{
    struct fg_process process;
    struct table segments;
    unsigned long long address;
    struct fg_span found;
    struct fg_code code;
    int result;

    if (!PyArg_ParseTuple(args, "(ii)y#K:span", &process.pid, &process.memory, &segments.data,
                          &segments.bytes, &address))
        return NULL;
    code = code_of(segments, 0);
    Py_BEGIN_ALLOW_THREADS
    result = fg_span_at(&process, &code, address, &found);
    Py_END_ALLOW_THREADS
    if (result == -ENOENT)
        Py_RETURN_NONE;
    if (result < 0)
        return fg_raise_errno(result, NULL);
    return Py_BuildValue("KKO", found.range.low, found.range.high,
                         found.is_entered_by_jump ? Py_True : Py_False);
}

PyDoc_STRVAR(is_inside_doc, "is_inside($module, process, tid, low, high, entry, /)\n--\n\n"
                            "Return whether a thread executes code in [low, high), or will return there.");

static PyObject *is_inside(PyObject *Py_UNUSED(module), PyObject *args)
{
    struct fg_process process;
    struct fg_range range;
    unsigned long long entry;
    int tid, result;

    if (!PyArg_ParseTuple(args, "(ii)iKKK:is_inside", &process.pid, &process.memory, &tid, &range.low,
                          &range.high, &entry))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    result = fg_is_inside(&process, tid, range, entry);
    Py_END_ALLOW_THREADS;
    return result < 0 ? fg_raise_errno(result, NULL) : PyBool_FromLong(result);
}

PyDoc_STRVAR(replace_doc, "replace($module, process, address, old, new, /)\n--\n\n"
                          "Replace bytes while the main thread is stopped, if they are still `old`.");

static PyObject *replace(PyObject *Py_UNUSED(module), PyObject *args)
{
    struct fg_process process;
    unsigned long long address;
    Py_buffer old, new;
    int result;

    if (!PyArg_ParseTuple(args, "(ii)Ky*y*:replace", &process.pid, &process.memory, &address, &old, &new))
        return NULL;
    if (old.len == new.len) {
        Py_BEGIN_ALLOW_THREADS;
        result = fg_replace(&process, address, old.buf, new.buf, (size_t)old.len);
        Py_END_ALLOW_THREADS;
    } else {
        result = -EINVAL;
    }
    PyBuffer_Release(&old);
    PyBuffer_Release(&new);
    return result < 0 ? fg_raise_errno(result, NULL) : PyBool_FromLong(result);
}

PyDoc_STRVAR(filter_doc, "filter($module, process, index, /)\n--\n\n"
                         "Return a filter of system calls of the main thread: its instructions.");

static PyObject *filter(PyObject *Py_UNUSED(module), PyObject *args)
{
    static const size_t most = BPF_MAXINSNS * sizeof(struct sock_filter);
    struct fg_process process;
    struct sock_filter *code;
    PyObject *bytes;
    int index, result;

    if (!PyArg_ParseTuple(args, "(ii)i:filter", &process.pid, &process.memory, &index))
        return NULL;
    code = PyMem_Malloc(most);
    if (!code)
        return PyErr_NoMemory();
    Py_BEGIN_ALLOW_THREADS;
    result = fg_filter_read(&process, (unsigned)index, code);
    Py_END_ALLOW_THREADS;
    bytes = result < 0
                ? fg_raise_errno(result, NULL)
                : PyBytes_FromStringAndSize((const char *)code, (Py_ssize_t)((size_t)result * sizeof(*code)));
    PyMem_Free(code);
    return bytes;
}

PyDoc_STRVAR(stub_bytes_doc, "stub_bytes($module, text_bytes, /)\n--\n\n"
                             "Return the size of a stub with a text of so many bytes.");

static PyObject *stub_bytes(PyObject *Py_UNUSED(module), PyObject *given)
{
    size_t text_bytes = PyLong_AsSize_t(given);

    if (text_bytes == (size_t)-1 && PyErr_Occurred())
        return NULL;
    return PyLong_FromSize_t(fg_stub_size_bytes(text_bytes));
}

static PyMethodDef inject_functions[] = {
    {"enter", enter, METH_VARARGS, enter_doc},
    {"pc", pc, METH_VARARGS, pc_doc},
    {"span", span, METH_VARARGS, span_doc},
    {"is_inside", is_inside, METH_VARARGS, is_inside_doc},
    {"replace", replace, METH_VARARGS, replace_doc},
    {"filter", filter, METH_VARARGS, filter_doc},
    {"stub_bytes", stub_bytes, METH_O, stub_bytes_doc},
    {NULL, NULL, 0, NULL},
};

static int inject_exec(PyObject *module)
{
    if (PyModule_AddIntConstant(module, "SPAWN_OFFSET", (long)fg_stub_spawn_offset()) < 0 ||
        PyModule_AddIntConstant(module, "TEXT_OFFSET", (long)fg_stub_size_bytes(0) - 1) < 0 ||
        PyModule_AddIntConstant(module, "MAGIC_OFFSET", (long)offsetof(struct fg_stub, magic)) < 0)
        return -1;
    return PyModule_AddIntConstant(module, "MAGIC", (long)FG_STUB_MAGIC);
}

static PyModuleDef_Slot inject_slots[] = {
    {Py_mod_exec, inject_exec},
    FG_LAST_SLOTS,
};

static struct PyModuleDef inject_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "funcgraph._inject",
    .m_doc = "Threads of other processes, stopped and sent into a stub.",
    .m_methods = inject_functions,
    .m_slots = inject_slots,
};

PyMODINIT_FUNC PyInit__inject(void)
{
    return PyModuleDef_Init(&inject_module);
}
