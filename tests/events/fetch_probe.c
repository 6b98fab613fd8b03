/* Fetch programs (src/arch/cpython/fetch/) as Python objects, without the engine: the tests compile this file
 * together with those of src/. Each function runs a program on the frame of its caller. */
#define PY_SSIZE_T_CLEAN
#include <string.h>

#include "arch/cpython/base/assumptions.h"
#include "arch/cpython/base/compat/code.h"
#include "arch/cpython/base/tstate.h"
#include "arch/cpython/fetch/program.h"
#include "arch/cpython/fetch/run.h"
#include "arch/cpython/read/code.h"
#include "arch/cpython/read/regs.h"
#include "engine/core/function.h"
#include "engine/core/task.h"

/* ---- what src/ has elsewhere, in files that would bring the whole engine along */

Py_ssize_t fg_code_extra_index = -1;
_Thread_local struct fg_task *fg_task_self __attribute__((tls_model("initial-exec")));
_Thread_local PyThreadState *const *fg_tstate_place __attribute__((tls_model("initial-exec")));

PyThreadState *fg_tstate_find(void)
{
    return PyThreadState_Get();
}

struct fg_func *fg_code_discover(fg_pyframe *frame)
{
    (void)frame;
    return NULL;
}

/* ---- programs */

static const char capsule_name[] = "fetch_probe.program";

static struct fg_fetch_program *program_of(PyObject *capsule)
{
    return PyCapsule_GetPointer(capsule, capsule_name);
}

static void free_program(PyObject *capsule)
{
    fg_fetch_program_free(program_of(capsule));
}

static PyObject *new (PyObject *module, PyObject *args)
{
    struct fg_fetch_program *program;
    PyObject *fields;
    int is_return, error;

    (void)module;
    if (!PyArg_ParseTuple(args, "Op", &fields, &is_return))
        return NULL;
    error = fg_fetch_program_new(fields, is_return ? FG_FETCH_AT_RETURN : FG_FETCH_AT_ENTRY, &program);
    if (!error != !PyErr_Occurred())
        Py_FatalError("an error without an exception, or the reverse");
    return error ? NULL : PyCapsule_New(program, capsule_name, free_program);
}

static PyObject *table(PyObject *module, PyObject *capsule)
{
    const struct fg_fetch_program *program = program_of(capsule);
    PyObject *fields = PyList_New(0);

    (void)module;
    for (uint32_t i = 0; fields && i < program->image.nr_fields; i++) {
        const struct fg_field *field = &program->image.fields[i];
        PyObject *row = Py_BuildValue("(siiii)", program->image.names[i], field->type, field->count,
                                      field->offset, field->fault_bit);

        if (!row || PyList_Append(fields, row) != 0)
            Py_CLEAR(fields);
        Py_XDECREF(row);
    }
    return fields ? Py_BuildValue("(iiiN)", program->image.fields_at, program->image.fixed_bytes,
                                  program->entry_bytes, fields)
                  : NULL;
}

/* ---- running them */

static PyObject *run(PyObject *capsule, const struct ftrace_regs *regs, uint32_t func, const void *entry_data)
{
    const struct fg_fetch_program *program = program_of(capsule);
    unsigned long long before = fg_fetch_faults(&program->image);
    uint8_t image[FG_EVENT_MAX_BYTES + 16];
    uint32_t bytes;

    memset(image, 0xa5, sizeof(image));
    bytes = fg_fetch_run(program, regs, func, entry_data, image);
    for (uint32_t i = bytes; i < sizeof(image); i++) {
        if (i >= FG_EVENT_MAX_BYTES && image[i] != 0xa5)
            Py_FatalError("written behind the image");
    }
    if (PyErr_Occurred())
        Py_FatalError("an exception is set");
    return Py_BuildValue("(y#K)", image, (Py_ssize_t)bytes, fg_fetch_faults(&program->image) - before);
}

static struct ftrace_regs regs_of(const struct ftrace_regs_ops *ops, PyObject *value)
{
    return (struct ftrace_regs){ops, fg_current_pyframe(PyThreadState_Get()), value, NULL};
}

static PyObject *at_place(PyObject *module, PyObject *args)
{
    struct ftrace_regs regs = regs_of(&fg_place_regs_ops, NULL);
    PyObject *capsule;
    unsigned func = 0;

    (void)module;
    return PyArg_ParseTuple(args, "O|I", &capsule, &func) ? run(capsule, &regs, func, NULL) : NULL;
}

static PyObject *at_entry(PyObject *module, PyObject *capsule)
{
    struct ftrace_regs regs = regs_of(&fg_python_regs_ops, NULL);

    (void)module;
    return run(capsule, &regs, 0, NULL);
}

static PyObject *entry_data(PyObject *module, PyObject *capsule)
{
    const struct fg_fetch_program *program = program_of(capsule);
    struct ftrace_regs regs = regs_of(&fg_python_regs_ops, NULL);
    uint8_t data[FG_FETCH_MAX_ENTRY_BYTES + 16];

    (void)module;
    memset(data, 0xa5, sizeof(data));
    fg_fetch_entry(program, &regs, data);
    for (uint32_t i = program->entry_bytes; i < sizeof(data); i++) {
        if (data[i] != 0xa5)
            Py_FatalError("written behind the entry data");
    }
    return PyBytes_FromStringAndSize((char *)data, program->entry_bytes);
}

static PyObject *end(PyObject *args, const struct ftrace_regs_ops *ops)
{
    PyObject *capsule, *value, *data = Py_None;
    struct ftrace_regs regs;

    if (!PyArg_ParseTuple(args, "OO|O", &capsule, &value, &data))
        return NULL;
    regs = regs_of(ops, value);
    return run(capsule, &regs, 0, data == Py_None ? NULL : PyBytes_AS_STRING(data));
}

static PyObject *at_return(PyObject *module, PyObject *args)
{
    (void)module;
    return end(args, &fg_python_regs_ops);
}

static PyObject *at_raise(PyObject *module, PyObject *args)
{
    (void)module;
    return end(args, &fg_python_raise_regs_ops);
}

/* Runs a program again and again, to count instructions. */
static PyObject *repeat(PyObject *module, PyObject *args)
{
    struct ftrace_regs regs = regs_of(&fg_python_regs_ops, NULL);
    uint8_t image[FG_EVENT_MAX_BYTES];
    const struct fg_fetch_program *program;
    PyObject *capsule;
    unsigned long n;

    (void)module;
    if (!PyArg_ParseTuple(args, "Ok", &capsule, &n))
        return NULL;
    program = program_of(capsule);
    for (unsigned long i = 0; i < n; i++)
        fg_fetch_run(program, &regs, 0, NULL, image);
    Py_RETURN_NONE;
}

/* ---- function records and tasks */

static PyObject *give_record(PyObject *module, PyObject *args)
{
    PyObject *function;
    unsigned id;
    struct fg_func *func;

    (void)module;
    if (!PyArg_ParseTuple(args, "OI", &function, &id))
        return NULL;
    func = calloc(1, sizeof(*func));
    func->id = id;
    if (fg_code_extra_index < 0)
        fg_code_extra_index = PyUnstable_Eval_RequestCodeExtraIndex(free);
    if (fg_code_set_extra((PyCodeObject *)PyFunction_GET_CODE(function), fg_code_extra_index, func) != 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *name_thread(PyObject *module, PyObject *name)
{
    static struct fg_task task;

    (void)module;
    snprintf(task.name, sizeof(task.name), "%s", PyUnicode_AsUTF8(name));
    fg_task_self = &task;
    Py_RETURN_NONE;
}

static PyObject *doctor(PyObject *module, PyObject *name)
{
    (void)module;
    return fg_assumption_doctor(PyUnicode_AsUTF8(name)) == 0 ? Py_NewRef(Py_None) : NULL;
}

static PyMethodDef methods[] = {
    {"doctor", doctor, METH_O, "doctor(name): make the checks of an assumption fail."},
    {"new", new, METH_VARARGS, "new(fields, is_return): make a program."},
    {"table", table, METH_O, "table(program): (fields_at, fixed_bytes, entry_bytes, fields)."},
    {"at_place", at_place, METH_VARARGS, "at_place(program, func=0): (image, faults) at a kprobe."},
    {"at_entry", at_entry, METH_O, "at_entry(program): (image, faults) at an entry."},
    {"entry_data", entry_data, METH_O, "entry_data(program): what it keeps from an entry."},
    {"at_return", at_return, METH_VARARGS, "at_return(program, value, entry_data=None): (image, faults)."},
    {"at_raise", at_raise, METH_VARARGS, "at_raise(program, exception, entry_data=None): (image, faults)."},
    {"repeat", repeat, METH_VARARGS, "repeat(program, n): run it at an entry n times."},
    {"give_record", give_record, METH_VARARGS, "give_record(function, id): as if it was met."},
    {"name_thread", name_thread, METH_O, "name_thread(name): as if this thread's task had the name."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "fetch_probe", .m_methods = methods};

PyMODINIT_FUNC PyInit_fetch_probe(void)
{
    return PyModule_Create(&module);
}
