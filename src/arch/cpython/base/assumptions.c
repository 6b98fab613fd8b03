/* See assumptions.h. */
#include "arch/cpython/base/assumptions.h"

#include <stdatomic.h>
#include <string.h>

#include "arch/cpython/base/compat/code.h"
#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/compat/gc.h"
#include "arch/cpython/base/compat/generator.h"
#include "arch/cpython/base/compat/opcode.h"
#include "arch/cpython/base/compat/thread.h"
#include "arch/cpython/base/tstate.h"
#include "arch/cpython/base/unseen.h"

static const struct {
    const char *name, *versions, *source, *what;
} assumptions[] = {
#define X(id, name, versions, source, what) {name, versions, source, what},
    FG_ASSUMPTIONS(X)
#undef X
};

static int doctored = -1;

int fg_assumption_doctor(const char *name)
{
    for (int i = 0; i < FG_NR_ASSUMPTIONS; i++) {
        if (strcmp(assumptions[i].name, name) == 0) {
            doctored = i;
            return 0;
        }
    }
    PyErr_Format(PyExc_ValueError, "unknown assumption '%s'", name);
    return -1;
}

bool fg_assumption_holds(enum fg_assumption assumption, uintptr_t read, uintptr_t expected)
{
    return read == (doctored == (int)assumption ? ~expected : expected);
}

int fg_assumption_refuse(enum fg_assumption assumption)
{
    PyErr_Format(
        PyExc_RuntimeError,
        "CPython %s is not laid out like the CPython " PY_VERSION " that funcgraph was built with: it does "
        "not have %s. Nothing is traced. Reinstall funcgraph from source: pip install --force-reinstall "
        "--no-binary funcgraph funcgraph (assumption '%s', known from %s)",
        Py_GetVersion(), assumptions[assumption].what, assumptions[assumption].name,
        assumptions[assumption].source);
    return -1;
}

/* ---- a function and a generator of our own, to compare with */

static const char source[] = "def function(a, b): return look(a, b)\n"
                             "def generator(): yield\n";

struct specimen {
    PyObject *globals, *function, *generator;
    PyCodeObject *code, *generator_code;
    Py_ssize_t code_extra_index;
    /* While the function runs: */
    PyThreadState *tstate;
    PyFrameObject *frame_object;
    fg_pyframe *frame; /* as we read it */
    PyObject *const *arguments;
    int refused; /* the first assumption that does not hold, or -1 */
};

#define SAME(id, read, expected) fg_assumption_holds(FG_ASSUME_##id, (uintptr_t)(read), (uintptr_t)(expected))

static bool check_thread_state(const struct specimen *s)
{
    return SAME(THREAD_STATE, fg_tstate(), s->tstate);
}

static bool check_newest_frame(const struct specimen *s)
{
    return SAME(NEWEST_FRAME, s->frame, s->frame_object->f_frame);
}

static bool check_frame(const struct specimen *s)
{
    return SAME(FRAME, fg_pyframe_code(s->frame), s->code) && SAME(FRAME, s->frame->f_globals, s->globals) &&
           SAME(FRAME, fg_pyframe_function(s->frame), s->function) &&
           SAME(FRAME, s->frame->owner, FRAME_OWNED_BY_THREAD) &&
           SAME(FRAME, fg_pyframe_local(s->frame, 0), s->arguments[0]) &&
           SAME(FRAME, fg_pyframe_local(s->frame, 1), s->arguments[1]);
}

static bool check_instruction(const struct specimen *s)
{
    return SAME(INSTRUCTION, _PyInterpreterFrame_LASTI(s->frame) * (int)sizeof(_Py_CODEUNIT),
                PyFrame_GetLasti(s->frame_object));
}

/* The first traceable instruction is a RESUME. */
static bool check_first_traceable(const PyCodeObject *code)
{
    PyObject *bytes = PyCode_GetCode((PyCodeObject *)code);
    Py_ssize_t at = code->_co_firsttraceable * (Py_ssize_t)sizeof(_Py_CODEUNIT);
    bool holds =
        !bytes || (at >= 0 && at < PyBytes_GET_SIZE(bytes) && SAME(CODE, fg_opcode_at(bytes, at), RESUME));

    if (!bytes)
        PyErr_Clear(); /* memory is short: nothing is known */
    Py_XDECREF(bytes);
    return holds;
}

static bool check_code(const struct specimen *s)
{
    const PyCodeObject *code = s->code;

    return SAME(CODE, code->co_argcount, 2) && SAME(CODE, code->co_nlocalsplus, 2) &&
           SAME(CODE, PyTuple_CheckExact(code->co_localsplusnames), 1) &&
           SAME(CODE, PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(code->co_localsplusnames, 1), "b"),
                0) &&
           SAME(CODE, _PyLocals_GetKind(code->co_localspluskinds, 1) & CO_FAST_LOCAL, CO_FAST_LOCAL) &&
           check_first_traceable(code);
}

/* We write the entry, and CPython reads it. Afterwards the entry is empty again, so that nothing is
 * freed with the code. */
static bool check_code_extra(const struct specimen *s)
{
    static char extra;
    void *read = NULL;
    bool holds;

    if (!SAME(CODE_EXTRA, s->code->co_extra, NULL))
        return false;
    if (fg_code_set_extra(s->code, s->code_extra_index, &extra) != 0) {
        PyErr_Clear();
        return true; /* memory is short: nothing is known */
    }
    holds = PyUnstable_Code_GetExtra((PyObject *)s->code, s->code_extra_index, &read) == 0 &&
            SAME(CODE_EXTRA, fg_code_extra(s->code, s->code_extra_index), read) &&
            SAME(CODE_EXTRA, &extra, read);
    fg_code_set_extra(s->code, s->code_extra_index, NULL);
    return holds;
}

static bool check_function(const struct specimen *s)
{
    const PyFunctionObject *function = (PyFunctionObject *)s->function;

    return SAME(FUNCTION, function->vectorcall, PyVectorcall_Function(s->function)) &&
           SAME(FUNCTION, function->func_code, PyFunction_GetCode(s->function));
}

static bool check_exception(const struct specimen *s)
{
    bool is_set;

    PyErr_SetNone(PyExc_StopIteration);
    is_set = fg_exception_is_set(s->tstate);
    PyErr_Clear();
    return SAME(EXCEPTION, is_set, true) && SAME(EXCEPTION, fg_exception_is_set(s->tstate), false);
}

static bool check_tracing(const struct specimen *s)
{
    int before = s->tstate->tracing, during;

    PyThreadState_EnterTracing(s->tstate);
    during = s->tstate->tracing;
    PyThreadState_LeaveTracing(s->tstate);
    return SAME(TRACING, during, before + 1);
}

static bool check_recursion(const struct specimen *s)
{
#ifdef Py_GIL_DISABLED
    /* Another thread may be setting the limit. */
    return SAME(RECURSION, fg_recursion_limit(s->tstate) > 0, true);
#else
    return SAME(RECURSION, fg_recursion_limit(s->tstate), Py_GetRecursionLimit());
#endif
}

static bool check_data_stack(const struct specimen *s)
{
    const _PyStackChunk *chunk = s->tstate->datastack_chunk;

    return SAME(DATA_STACK, chunk && (uintptr_t)s->frame - (uintptr_t)chunk < chunk->size, true);
}

static bool has_begun(PyGenObject *generator, const PyCodeObject *code)
{
    fg_pyframe *frame = fg_generator_frame(generator);

    return SAME(GENERATOR, frame->owner, FRAME_OWNED_BY_GENERATOR) &&
           SAME(GENERATOR, fg_pyframe_code(frame), code) &&
#if !FG_HAVE_MONITORING
           SAME(GENERATOR, generator->gi_frame_state, FRAME_SUSPENDED) &&
#endif
           SAME(GENERATOR, fg_generator_has_ended((PyObject *)generator), false);
}

/* If the generator could not be made or did not run, its exception stays set. */
static bool check_generator(const struct specimen *s)
{
    PyObject *generator = PyObject_CallNoArgs(s->generator);
    PyObject *value = generator ? PyIter_Next(generator) : NULL;
    bool holds = !value || has_begun((PyGenObject *)generator, s->generator_code);

    Py_XDECREF(value);
    if (value && PyIter_Next(generator) == NULL && !PyErr_Occurred())
        holds = holds && SAME(GENERATOR, fg_generator_has_ended(generator), true);
    Py_XDECREF(generator);
    return holds;
}

static bool check_collector(const struct specimen *s)
{
#if FG_HAVE_GENERATIONS
    PyObject *list = PyList_New(0);
    PyGC_Head *first = &s->tstate->interp->gc.generations[0].head;
    bool holds = !list || SAME(COLLECTOR, _PyGCHead_PREV(first), _Py_AS_GC(list));

    if (!list)
        PyErr_Clear();
    Py_XDECREF(list);
    return holds;
#else
    (void)s;
    return true;
#endif
}

/* Runs in the order of FG_ASSUMPTIONS: the first checks prove that `frame` is a frame, the later ones
 * read it. */
static bool (*const checks[FG_NR_ASSUMPTIONS])(const struct specimen *) = {
    [FG_ASSUME_THREAD_STATE] = check_thread_state,
    [FG_ASSUME_NEWEST_FRAME] = check_newest_frame,
    [FG_ASSUME_FRAME] = check_frame,
    [FG_ASSUME_INSTRUCTION] = check_instruction,
    [FG_ASSUME_CODE] = check_code,
    [FG_ASSUME_CODE_EXTRA] = check_code_extra,
    [FG_ASSUME_FUNCTION] = check_function,
    [FG_ASSUME_EXCEPTION] = check_exception,
    [FG_ASSUME_TRACING] = check_tracing,
    [FG_ASSUME_RECURSION] = check_recursion,
    [FG_ASSUME_DATA_STACK] = check_data_stack,
    [FG_ASSUME_GENERATOR] = check_generator,
    [FG_ASSUME_COLLECTOR] = check_collector,
};

/* look(a, b): called by the function, so that the checks find the function running. */
static PyObject *look(PyObject *capsule, PyObject *const *args, Py_ssize_t n)
{
    struct specimen *s = PyCapsule_GetPointer(capsule, NULL);

    (void)n;
    s->tstate = PyThreadState_Get();
    s->frame_object = PyThreadState_GetFrame(s->tstate);
    s->frame = fg_current_pyframe(s->tstate);
    s->arguments = args;
    for (int i = 0; i < FG_NR_ASSUMPTIONS && s->refused < 0 && !PyErr_Occurred(); i++) {
        if (checks[i] && !checks[i](s))
            s->refused = i;
    }
    Py_XDECREF(s->frame_object);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef look_def = {"look", (PyCFunction)(void (*)(void))look, METH_FASTCALL, NULL};

/* Makes the two functions in `source`. Return: 0, or -1 with an exception. */
static int make_functions(struct specimen *s, PyObject *module_code)
{
    PyObject *constants = ((PyCodeObject *)module_code)->co_consts;
    PyObject *made[2] = {NULL, NULL};

    for (Py_ssize_t i = 0, n = 0; i < PyTuple_GET_SIZE(constants) && n < 2; i++) {
        if (PyCode_Check(PyTuple_GET_ITEM(constants, i)))
            made[n++] = PyFunction_New(PyTuple_GET_ITEM(constants, i), s->globals);
    }
    s->function = made[0];
    s->generator = made[1];
    if (!s->function || !s->generator)
        return -1;
    s->code = (PyCodeObject *)PyFunction_GetCode(s->function);
    s->generator_code = (PyCodeObject *)PyFunction_GetCode(s->generator);
    return 0;
}

static int make_specimen(struct specimen *s)
{
    PyObject *capsule = PyCapsule_New(s, NULL, NULL);
    PyObject *function = capsule ? PyCFunction_New(&look_def, capsule) : NULL;
    PyObject *code = function ? Py_CompileString(source, "<funcgraph>", Py_file_input) : NULL;
    int error = -1;

    s->globals = code ? Py_BuildValue("{s:O}", "look", function) : NULL;
    if (s->globals)
        error = make_functions(s, code);
    Py_XDECREF(capsule);
    Py_XDECREF(function);
    Py_XDECREF(code);
    return error;
}

static int run_specimen(struct specimen *s)
{
    PyObject *const args[] = {s->globals, s->function};

    return fg_call_unseen(s->function, args, 2);
}

int fg_assumptions_check(Py_ssize_t code_extra_index)
{
    static _Atomic bool are_known_to_hold;
    struct specimen s = {.code_extra_index = code_extra_index, .refused = -1};
    int error;

    if (atomic_load(&are_known_to_hold))
        return 0;
    error = make_specimen(&s) == 0 ? run_specimen(&s) : -1;
    if (!error && s.refused >= 0)
        error = fg_assumption_refuse((enum fg_assumption)s.refused);
    Py_XDECREF(s.function);
    Py_XDECREF(s.generator);
    Py_XDECREF(s.globals);
    atomic_store(&are_known_to_hold, error == 0);
    return error;
}
