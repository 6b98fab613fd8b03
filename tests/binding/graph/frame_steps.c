/* What another thread would read as a thread's frames, at each instruction of a call (CPython 3.11). The
 * processor's trap flag raises SIGTRAP after each instruction. The handler runs on a stack of its own and
 * leaves the thread's stack as it is. */
#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE 1
#include <Python.h>

#include <internal/pycore_frame.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#define TRAP_FLAG 0x100
#define HANDLER_STACK_BYTES (256 << 10)
#define POISON_BYTES (8 << 10)

typedef struct _PyInterpreterFrame Frame;

static volatile sig_atomic_t is_stepping;
static PyThreadState *watched;
static const Frame *base; /* the newest frame when the steps began */
static unsigned long nr_steps, nr_unreadable, nr_unknown;
static const Frame *latest;
static unsigned long nr_changes;

/* Unreadable addresses are told from readable ones without reading them. */
static int is_in_data_stack(const void *address, size_t bytes)
{
    for (const _PyStackChunk *chunk = watched->datastack_chunk; chunk; chunk = chunk->previous) {
        if ((uintptr_t)address - (uintptr_t)chunk < chunk->size - bytes)
            return 1;
    }
    return 0;
}

/* True if the frames from @frame outwards are frames of Python code and lead to the base. */
static int leads_to_base(const Frame *frame)
{
    for (int i = 0; i < 32 && is_in_data_stack(frame, sizeof(*frame)); i++) {
        if (frame == base)
            return 1;
        if (Py_TYPE(frame->f_code) != &PyCode_Type)
            return 0;
        frame = frame->previous;
    }
    return 0;
}

static void look(void)
{
    const Frame *frame = watched->cframe->current_frame;

    nr_steps++;
    nr_changes += frame != latest;
    latest = frame;
    if (!frame)
        nr_unknown++; /* faulthandler writes "<no Python frame>" */
    else if (!leads_to_base(frame))
        nr_unreadable++;
}

static void on_step(int signum, siginfo_t *info, void *context)
{
    greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];

    (void)signum, (void)info;
    *flags = is_stepping ? *flags | TRAP_FLAG : *flags & ~(greg_t)TRAP_FLAG;
    if (is_stepping)
        look();
}

static PyObject *call_stepping(PyObject *function)
{
    PyObject *result;

    is_stepping = 1;
    raise(SIGTRAP);
    result = PyObject_CallNoArgs(function);
    is_stepping = 0;
    raise(SIGTRAP);
    return result;
}

static PyObject *step(PyObject *module, PyObject *function)
{
    static char handler_stack[HANDLER_STACK_BYTES];
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO | SA_ONSTACK}, old_action;
    stack_t stack = {.ss_sp = handler_stack, .ss_size = sizeof(handler_stack)}, old_stack;
    PyObject *result;

    (void)module;
    watched = PyThreadState_Get();
    base = latest = watched->cframe->current_frame;
    nr_steps = nr_unreadable = nr_unknown = nr_changes = 0;
    sigaltstack(&stack, &old_stack);
    sigaction(SIGTRAP, &action, &old_action);
    result = call_stepping(function);
    sigaction(SIGTRAP, &old_action, NULL);
    sigaltstack(&old_stack, NULL);
    if (!result)
        return NULL;
    Py_DECREF(result);
    return Py_BuildValue("{s:k,s:k,s:k,s:k}", "steps", nr_steps, "changes", nr_changes, "unreadable",
                         nr_unreadable, "unknown", nr_unknown);
}

/* Leaves addresses of nothing on the part of the stack that the next calls use. */
static PyObject *poison(PyObject *module, PyObject *unused)
{
    volatile char bytes[POISON_BYTES];

    (void)module, (void)unused;
    memset((void *)bytes, 0xa5, sizeof(bytes));
    __asm__ volatile("" : : "r"(bytes) : "memory");
    Py_RETURN_NONE;
}

/* As a frame evaluator that does nothing. */
static PyObject *evaluate(PyThreadState *tstate, Frame *frame, int throwflag)
{
    return _PyEval_EvalFrameDefault(tstate, frame, throwflag);
}

static PyObject *set_evaluator(PyObject *module, PyObject *on)
{
    (void)module;
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(),
                                         on == Py_True ? evaluate : _PyEval_EvalFrameDefault);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"step", step, METH_O, "step(function): call it, and count what is read at each instruction."},
    {"poison", poison, METH_NOARGS, "Overwrite the unused part of the C stack."},
    {"set_evaluator", set_evaluator, METH_O, "set_evaluator(on): an evaluator that does nothing."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "frame_steps", .m_methods = methods};

PyMODINIT_FUNC PyInit_frame_steps(void)
{
    return PyModule_Create(&module);
}
