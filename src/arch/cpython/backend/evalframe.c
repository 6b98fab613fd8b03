/* Hooking through the frame evaluator (PEP 523), CPython 3.11.
 *
 * The evaluator runs for every Python frame. For a generator it runs once when the generator is made
 * (up to RETURN_GENERATOR), and once for each resume. If another evaluator was installed before ours,
 * ours calls it in place of CPython's own. */
#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/hook/hooks.h"

#if !FG_HAVE_MONITORING

#include <stdlib.h>

#include "arch/cpython/backend/built_backend.h"
#include "arch/cpython/backend/c_calls.h"
#include "arch/cpython/backend/call_steps.h"
#include "arch/cpython/backend/cframe.h"
#include "arch/cpython/backend/kprobe_trace.h"
#include "arch/cpython/backend/stack_segment.h"
#include "arch/cpython/base/callback.h"
#include "arch/cpython/hook/ended.h"
#include "arch/cpython/hook/gate.h"
#include "arch/cpython/hook/greenlet.h"
#include "arch/cpython/read/code.h"
#include "arch/cpython/read/regs.h"
#include "arch/cpython/read/task_name.h"
#include "engine/base/clock.h"
#include "engine/graph/call.h"
#include "engine/graph/end.h"
#include "engine/graph/suspended.h"
#include "engine/graph/user_list.h"
#include "engine/probe/fprobe_call.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_opcode.h"
#include "opcode.h"

/* The data of one interpreter. Guarded by the GIL. */
struct evaluator {
    _PyFrameEvalFunction former; /* the evaluator that ours replaces */
    _PyFrameEvalFunction next;   /* what ours calls for it (cframe.h) */
    bool installed;
    bool chained;   /* our evaluator is installed, or one that came later calls ours */
    unsigned aside; /* calls of run_aside() in progress */
};

static _PyFrameEvalFunction next =
    _PyEval_EvalFrameDefault;             /* the next evaluator of all interpreters, or next_here */
static unsigned nr_installed, nr_chained; /* interpreters */

static PyObject *eval_frame(PyThreadState *tstate, fg_pyframe *frame, int throwflag);

static PyObject *next_here(PyThreadState *tstate, fg_pyframe *frame, int throwflag)
{
    const struct evaluator *evaluator = fg_interp_known()->hooks;

    return evaluator->next(tstate, frame, throwflag);
}

static void step_in(struct evaluator *evaluator)
{
    PyInterpreterState *interp = PyInterpreterState_Get();
    _PyFrameEvalFunction current = _PyInterpreterState_GetEvalFrameFunc(interp);

    /* If the current evaluator already calls ours, the two would call each other forever. */
    if (current == eval_frame || (evaluator->chained && current != _PyEval_EvalFrameDefault))
        return;
    evaluator->former = current;
    evaluator->next = fg_cframe_evaluator(current);
    if (evaluator->next != next)
        next = nr_chained ? next_here : evaluator->next;
    nr_chained += !evaluator->chained;
    evaluator->chained = true;
    _PyInterpreterState_SetEvalFrameFunc(interp, eval_frame);
}

static void step_out(struct evaluator *evaluator)
{
    PyInterpreterState *interp = PyInterpreterState_Get();

    /* An evaluator that was installed later calls ours, so ours stays in the chain and passes
     * everything on. */
    if (_PyInterpreterState_GetEvalFrameFunc(interp) != eval_frame)
        return;
    _PyInterpreterState_SetEvalFrameFunc(interp, evaluator->former);
    nr_chained--;
    evaluator->chained = false;
}

static inline PyObject *evaluate(PyThreadState *tstate, fg_pyframe *frame, int throwflag)
{
    if (fg_unlikely(atomic_load_explicit(&fg_kprobe_count, memory_order_relaxed) |
                    atomic_load_explicit(&fg_trace_raises_on, memory_order_relaxed)))
        return fg_kprobe_evaluate(next, tstate, frame, throwflag);
    return next(tstate, frame, throwflag);
}

/* Runs the call and all calls that it makes without our evaluator: Python calls then take no C stack.
 * The evaluator is set for the whole interpreter. So no thread's new calls are traced until the last
 * such call has ended. Counts as one overrun; the number of missed calls is not known. */
FG_COLD static PyObject *run_aside(PyThreadState *tstate, fg_pyframe *frame, int throwflag)
{
    struct evaluator *evaluator = fg_interp_known()->hooks;
    PyObject *result;

    if (fg_task_self)
        fg_count_overrun(fg_task_self);
    step_out(evaluator);
    evaluator->aside++;
    result = evaluate(tstate, frame, throwflag);
    if (--evaluator->aside == 0 && evaluator->installed)
        step_in(evaluator);
    return result;
}

static inline PyGenObject *generator_of(fg_pyframe *frame)
{
    return _PyFrame_GetGenerator(frame);
}

/* True if this evaluation only makes the generator object. */
static inline bool makes_generator(const fg_pyframe *frame)
{
    return frame->owner != FRAME_OWNED_BY_GENERATOR;
}

/* True if the generator has not run yet: its last instruction is the RETURN_GENERATOR that made it. */
static inline bool is_first_resume(const fg_pyframe *frame)
{
    return _Py_OPCODE(*frame->prev_instr) == RETURN_GENERATOR;
}

/* The exception that is set, or only its type; borrowed. */
static PyObject *exception_of(PyThreadState *tstate)
{
    PyObject *value = tstate->curexc_value;

    return value && PyExceptionInstance_Check(value) ? value : tstate->curexc_type;
}

/* After the call the frame is no longer the thread's newest, but it still exists: the evaluator's caller
 * clears it. */
static inline struct ftrace_regs regs_at_end(PyThreadState *tstate, fg_pyframe *frame, PyObject *result)
{
    if (fg_likely(result != NULL))
        return fg_regs_of(NULL, frame, result);
    return (struct ftrace_regs){&fg_python_raise_regs_ops, frame, exception_of(tstate), NULL};
}

/* Reports the return of a call. */
FG_NOINLINE static PyObject *end_function(PyThreadState *tstate, fg_pyframe *frame, struct fg_task *task,
                                          struct fg_ending ending, PyObject *result)
{
    struct ftrace_regs regs = regs_at_end(tstate, frame, result);
    uintptr_t fp = (uintptr_t)frame;

    if (fg_greenlet_check(task, tstate, (struct fg_greenlet_event){.ended = fp}))
        ending = fg_return_begin(task);
    if (!result || !fg_top_is_probed(task) ||
        !fg_return_probed(task, fp, fg_regs_return_address(&regs), &regs))
        fg_return_at(task, fp, ending, &regs, result ? FG_END_RETURN : FG_END_RAISE);
    return result;
}

/* True if no user wants the return: then the call has no frame on the shadow stack. */
static inline bool ends_unseen(const struct fg_task *task, struct fg_func *func, uintptr_t fp)
{
    return !fg_func_wants_returns(func) && !fg_top_is(task, fp);
}

static PyObject *run_function(PyThreadState *tstate, fg_pyframe *frame, int throwflag, struct fg_func *func,
                              struct fg_task *task)
{
    struct ftrace_regs regs = fg_regs_of(NULL, frame, NULL);
    uintptr_t fp = (uintptr_t)frame;
    PyObject *result;

    if (!fg_func_probed(func) || !fg_enter_probed(task, func, fp, fg_regs_return_address(&regs), &regs))
        fg_enter(task, func, fp, &regs);
    if (ends_unseen(task, func, fp))
        return evaluate(tstate, frame, throwflag);
    result = evaluate(tstate, frame, throwflag);
    return end_function(tstate, frame, task, fg_return_begin(task), result);
}

static PyObject *run_generator(PyThreadState *tstate, fg_pyframe *frame, int throwflag, struct fg_func *func,
                               struct fg_task *task)
{
    PyGenObject *generator = generator_of(frame);
    struct ftrace_regs regs = fg_regs_of(NULL, frame, NULL);
    uintptr_t fp = (uintptr_t)frame;
    PyObject *result;

    if (is_first_resume(frame)) {
        fg_abandon_parked(task, frame);
        /* This is an entry also if the generator is closed, or an exception is thrown into it, before
         * it has run: its frame runs and raises at its first line. */
        fg_enter(task, func, fp, &regs);
    } else {
        fg_resume(task, fp, &regs);
    }
    if (ends_unseen(task, func, fp))
        return evaluate(tstate, frame, throwflag);
    result = evaluate(tstate, frame, throwflag);
    fg_greenlet_check(task, tstate, (struct fg_greenlet_event){.ended = fp});
    regs = regs_at_end(tstate, frame, result);
    if (result && generator->gi_frame_state == FRAME_SUSPENDED)
        fg_suspend(task, fp, &regs);
    else
        fg_return(task, fp, &regs, result ? FG_END_RETURN : fg_end_by(tstate->curexc_type, frame->f_code));
    return result;
}

/* True if the thread is apart (fg_task_set_apart()). Others that call untraced have a task. */
static bool is_apart(void)
{
    return fg_untraced && !fg_task_self;
}

/* Makes the thread's task at its first traced frame, and names it. */
FG_COLD static struct fg_task *meet_task(fg_pyframe *frame)
{
    struct fg_task *task = is_apart() ? NULL : fg_task_current();

    if (task)
        fg_cpython_task_name_first(task, frame);
    return task;
}

/* Makes the thread's task first, with its name: matching a function's users would make it without one. */
FG_COLD static struct fg_func *discover(fg_pyframe *frame)
{
    if (is_apart())
        return NULL;
    if (!fg_task_self)
        meet_task(frame);
    return fg_code_discover(frame);
}

/* True if the call is not to be traced. All interpreters share the code objects of frozen modules, and
 * a record belongs to the interpreter that met the function first. */
FG_COLD static bool is_left_alone(PyThreadState *tstate, const struct fg_func *func)
{
    fg_ended_check(tstate);
    return fg_gate_check_slow(tstate) || (func && fg_func_interp(func) != fg_interp_known());
}

/* A call of a function that has users. */
FG_NOINLINE static PyObject *eval_with_users(PyThreadState *tstate, fg_pyframe *frame, int throwflag,
                                             struct fg_func *func)
{
    struct fg_task *task = fg_likely(fg_task_self != NULL) ? fg_task_self : meet_task(frame);

    if (fg_unlikely(!task))
        return evaluate(tstate, frame, throwflag);
    fg_greenlet_check(task, tstate, (struct fg_greenlet_event){.begins = (uintptr_t)frame});
    fg_c_calls_attach(tstate, func);
    if (fg_likely(!fg_code_is_generator(frame->f_code)))
        return run_function(tstate, frame, throwflag, func, task);
    if (makes_generator(frame))
        return evaluate(tstate, frame, throwflag);
    return run_generator(tstate, frame, throwflag, func, task);
}

static inline PyObject *eval_known(PyThreadState *tstate, fg_pyframe *frame, int throwflag,
                                   struct fg_func *func)
{
    if (fg_likely(!fg_func_has_users(func) && !fg_func_has_pending_returns(func)))
        return evaluate(tstate, frame, throwflag);
    return eval_with_users(tstate, frame, throwflag, func);
}

FG_NOINLINE static PyObject *eval_slow(PyThreadState *tstate, fg_pyframe *frame, int throwflag,
                                       struct fg_func *func)
{
    if (fg_slow_path_is_forced()) {
        if (is_left_alone(tstate, func))
            return evaluate(tstate, frame, throwflag);
        fg_c_calls_attach_if_all(tstate);
    }
    if (fg_unlikely(!func))
        func = discover(frame);
    if (fg_unlikely(!func))
        return evaluate(tstate, frame, throwflag);
    return eval_known(tstate, frame, throwflag, func);
}

/* A call that is not plain. Most are of functions that nobody watches. */
static inline PyObject *eval_other(PyThreadState *tstate, fg_pyframe *frame, int throwflag,
                                   struct fg_func *func)
{
    if (fg_unlikely(!func || fg_slow_path_is_forced()))
        return eval_slow(tstate, frame, throwflag, func);
    return eval_known(tstate, frame, throwflag, func);
}

FG_NOINLINE static PyObject *eval_other_later(PyThreadState *tstate, fg_pyframe *frame, int throwflag,
                                              struct fg_func *func)
{
    return eval_other(tstate, frame, throwflag, func);
}

/* A call that may be plain. One that interrupts a callback is not: the task's guard is held. No call is
 * plain while the slow path is forced. Not inlined, so that other calls do not save the registers that
 * this one needs. */
FG_HOT FG_NOINLINE static PyObject *eval_plain(PyThreadState *tstate, fg_pyframe *frame, int throwflag,
                                               struct fg_func *func)
{
    struct fg_task *task = fg_task_self;
    uintptr_t fp = (uintptr_t)frame;
    PyObject *result;
    uint64_t counter;

    if (fg_unlikely(!task || (func->flags & FG_FUNC_SUSPENDS) || !fg_enter_plain(task, func, fp)))
        return eval_other_later(tstate, frame, throwflag, func);
    result = evaluate(tstate, frame, throwflag);
    counter = fg_clock_counter();
    if (fg_likely(result && fg_return_plain(task, fp, counter)))
        return result;
    return end_function(tstate, frame, task, (struct fg_ending){fg_return_begin(task).frame, counter},
                        result);
}

FG_HOT static PyObject *eval_frame(PyThreadState *tstate, fg_pyframe *frame, int throwflag)
{
    struct fg_func *func;

    if (fg_stack_is_low())
        return fg_stack_segment_call(eval_frame, run_aside, tstate, frame, throwflag);
    func = fg_code_func(frame->f_code);
    if (func && fg_func_plain(func))
        return eval_plain(tstate, frame, throwflag, func);
    return eval_other(tstate, frame, throwflag, func);
}

int fg_backend_install(struct fg_interp *interp)
{
    struct evaluator *evaluator = interp->hooks;

    if (!evaluator)
        evaluator = interp->hooks = calloc(1, sizeof(*evaluator));
    if (!evaluator) {
        PyErr_NoMemory();
        return -1;
    }
    if (fg_cframe_learn() != 0)
        return -1;
    step_in(evaluator);
    evaluator->installed = true;
    if (nr_installed++)
        fg_slow_path_hold();
    return 0;
}

void fg_backend_remove(struct fg_interp *interp)
{
    struct evaluator *evaluator = interp->hooks;

    step_out(evaluator);
    if (interp->is_main)
        fg_c_calls_detach_all();
    evaluator->installed = false;
    if (--nr_installed)
        fg_slow_path_release();
}

/* Frees nothing: calls in progress use the evaluator's data until the interpreter is gone. */
void fg_backend_end(struct fg_interp *interp)
{
    (void)interp;
}

/* Forces the slow path for good, because greenlet is never unloaded. */
void fg_backend_follow_greenlets(struct fg_interp *interp)
{
    static bool is_noted;

    (void)interp;
    if (!is_noted)
        fg_slow_path_hold();
    is_noted = true;
}

int fg_backend_tool_id(const struct fg_interp *interp)
{
    (void)interp;
    return -1;
}

/* Users need no hooks of their own: the evaluator looks up the users of each function that it runs.
 * Only users that want C functions need more. */
void fg_backend_sync(PyCodeObject *code, struct fg_func *func)
{
    (void)code;
    if (!fg_c_calls_requested && fg_hooks_wants_c_calls(func))
        fg_c_calls_are_requested();
}

/* Works only in the main interpreter: the profile functions of other interpreters' threads cannot be
 * reached (c_calls.c). */
void fg_backend_hook_c_calls(struct fg_interp *interp)
{
    if (!interp->is_main)
        return;
    /* From now on every call takes the slow path, which installs our profile function. */
    if (interp->hooks_c_calls)
        fg_slow_path_hold();
    else
        fg_slow_path_release();
    fg_c_calls_hook_all(interp->hooks_c_calls);
}

int fg_backend_follow_raises(struct fg_interp *interp)
{
    fg_trace_raises(interp);
    return 0;
}

int fg_backend_listen(PyCodeObject *code, struct fg_func *func)
{
    fg_backend_sync(code, func);
    return 0;
}

#endif
