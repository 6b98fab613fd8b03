/* See cframe.h. */
#include "arch/cpython/backend/cframe.h"

#if !FG_HAVE_MONITORING

#if defined(__x86_64__) && defined(__LP64__)

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/cpython/base/unseen.h"
#include "engine/base/compiler.h"
#include "internal/pycore_interp.h"

/* The evaluator's C stack frame is smaller: a greater distance is not believed. */
#define MAX_DISTANCE (16 << 10)

/* Used by the instructions below, by name: where current_frame is from the stack pointer, or 0; and the
 * stack pointer at the latest noted entry. */
__attribute__((used)) intptr_t fg_cframe_place;
__attribute__((used)) uintptr_t fg_cframe_entered;

static_assert(offsetof(PyThreadState, cframe) == 56, "as in fg_cframe_evaluate()");
static_assert(offsetof(_PyCFrame, current_frame) == 8, "as in fg_cframe_evaluate()");

/* A compiler's own entry code would move the stack pointer. So these two functions have none: the stack
 * pointer is that at the entry of _PyEval_EvalFrameDefault(). */
#define NAKED __attribute__((naked, noinline, used))
#define UNUSED __attribute__((unused))

/* fg_cframe_place[stack pointer] = tstate->cframe->current_frame */
NAKED static PyObject *evaluate_readably(UNUSED PyThreadState *tstate, UNUSED fg_pyframe *frame,
                                         UNUSED int throwflag)
{
    __asm__("movq 56(%rdi), %rax\n\t"
            "movq fg_cframe_place(%rip), %rcx\n\t"
            "movq 8(%rax), %rax\n\t"
            "movq %rax, (%rsp,%rcx)\n\t"
            "jmp *_PyEval_EvalFrameDefault@GOTPCREL(%rip)");
}

NAKED static PyObject *evaluate_and_note(UNUSED PyThreadState *tstate, UNUSED fg_pyframe *frame,
                                         UNUSED int throwflag)
{
    __asm__("movq %rsp, fg_cframe_entered(%rip)\n\t"
            "jmp *_PyEval_EvalFrameDefault@GOTPCREL(%rip)");
}

/* ---- measuring */

static const char source[] = "def function(look, again): look(again)\n";

enum { NR_LOOKS = 2 };

static struct {
    PyObject *function, *look; /* NULL: nothing is being measured */
    PyCodeObject *code;
    _PyFrameEvalFunction next;
    _PyCFrame *outer; /* at the latest noted entry */
    intptr_t places[NR_LOOKS];
    int nr_looks;
} lesson;

/* The evaluator while we measure. Frames of the program, such as those of a signal handler, are passed
 * on. */
static PyObject *note(PyThreadState *tstate, fg_pyframe *frame, int throwflag)
{
    if (!lesson.code || frame->f_code != lesson.code)
        return lesson.next(tstate, frame, throwflag);
    lesson.outer = tstate->cframe;
    return evaluate_and_note(tstate, frame, throwflag);
}

/* 0: the newest cframe is not that of the latest noted entry. */
static intptr_t place_of_newest(const PyThreadState *tstate)
{
    const _PyCFrame *cframe = tstate->cframe;

    if (!cframe->current_frame || cframe->current_frame->f_code != lesson.code ||
        cframe->previous != lesson.outer)
        return 0;
    return (intptr_t)((uintptr_t)&cframe->current_frame - fg_cframe_entered);
}

/* look(again): called by the function, with the function's C stack frame in place. */
static PyObject *look(PyObject *self, PyObject *again)
{
    (void)self;
    if (lesson.nr_looks < NR_LOOKS)
        lesson.places[lesson.nr_looks++] = place_of_newest(PyThreadState_Get());
    if (!PyObject_IsTrue(again))
        Py_RETURN_NONE;
    return PyObject_CallFunctionObjArgs(lesson.function, lesson.look, Py_False, NULL);
}

static PyMethodDef look_def = {"look", look, METH_O, NULL};

/* Return: 0, or -1 with an exception. */
static int make_function(void)
{
    PyObject *module = Py_CompileString(source, "<funcgraph>", Py_file_input);
    PyObject *globals = module ? PyDict_New() : NULL;

    if (globals) {
        lesson.code = (PyCodeObject *)PyTuple_GET_ITEM(((PyCodeObject *)module)->co_consts, 0);
        lesson.function = PyFunction_New((PyObject *)lesson.code, globals);
        lesson.look = PyCFunction_New(&look_def, NULL);
    }
    Py_XDECREF(module);
    Py_XDECREF(globals);
    return lesson.function && lesson.look ? 0 : -1;
}

static int run_function(void)
{
    PyInterpreterState *interp = PyInterpreterState_Get();
    PyObject *const args[] = {lesson.look, Py_True};
    int error;

    lesson.next = _PyInterpreterState_GetEvalFrameFunc(interp);
    _PyInterpreterState_SetEvalFrameFunc(interp, note);
    error = fg_call_unseen(lesson.function, args, 2);
    if (_PyInterpreterState_GetEvalFrameFunc(interp) == note)
        _PyInterpreterState_SetEvalFrameFunc(interp, lesson.next);
    return error;
}

static bool is_plausible(intptr_t place)
{
    return place < -(intptr_t)sizeof(_PyCFrame) && place > -MAX_DISTANCE && place % (int)sizeof(void *) == 0;
}

int fg_cframe_learn(void)
{
    static bool has_begun;
    int error;

    if (has_begun)
        return 0;
    has_begun = true;
    error = make_function() == 0 ? run_function() : -1;
    lesson.code = NULL;
    Py_CLEAR(lesson.function);
    Py_CLEAR(lesson.look);
    if (lesson.nr_looks == NR_LOOKS && lesson.places[0] == lesson.places[1] && is_plausible(lesson.places[0]))
        fg_cframe_place = lesson.places[0];
    return error;
}

_PyFrameEvalFunction fg_cframe_evaluator(_PyFrameEvalFunction evaluate)
{
    return evaluate == _PyEval_EvalFrameDefault && fg_cframe_place ? evaluate_readably : evaluate;
}

#else

int fg_cframe_learn(void)
{
    return 0;
}

_PyFrameEvalFunction fg_cframe_evaluator(_PyFrameEvalFunction evaluate)
{
    return evaluate;
}

#endif
#endif
