/* See ret_stack.h. */
#include "binding/graph/ret_stack.h"

#include <stdlib.h>

#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/compat/lookup.h"
#include "arch/cpython/read/call_place.h"
#include "arch/cpython/read/regs.h"
#include "binding/base/raise.h"
#include "binding/base/sequences.h"
#include "binding/base/types.h"
#include "binding/core/callback.h"
#include "binding/core/client.h"
#include "binding/graph/function.h"
#include "engine/base/array.h"
#include "engine/base/clock.h"
#include "engine/core/task.h"
#include "engine/graph/frame.h"

static PyStructSequence_Field return_location_fields[] = {
    {"name", "'module.qualname' of the caller"},
    {"module", "the caller's module"},
    {"qualname", "the caller's name within the module"},
    {"file", "the caller's source file"},
    {"line", "line of the call"},
    {"code", "the caller's code object"},
    {NULL, NULL},
};

PyStructSequence_Desc fg_return_location_desc = {
    .name = "funcgraph._engine.ReturnLocation",
    .doc = "Place that a call returns to.",
    .fields = return_location_fields,
    .n_in_sequence = 6,
};

static PyStructSequence_Field ret_frame_fields[] = {
    {"func", "called function, a Function"},
    {"calltime_ns", "time at which the call began or was last resumed (CLOCK_MONOTONIC)"},
    {"line", "current line; 0: unknown"},
    {"parent", "place that it returns to: a ReturnLocation, or None"},
    {NULL, NULL},
};

PyStructSequence_Desc fg_ret_frame_desc = {
    .name = "funcgraph._engine.RetFrame",
    .doc = "A call in progress.",
    .fields = ret_frame_fields,
    .n_in_sequence = 4,
};

/* The module's name as the frame's globals have it, "?" if unknown. Reads an exact dict only, which runs
 * none of the program's code. A new reference, or NULL with an exception. */
static PyObject *module_name(fg_pyframe *frame)
{
    PyObject *globals = frame->f_globals;
    PyObject *name = globals && PyDict_CheckExact(globals) ? fg_dict_get(globals, "__name__") : NULL;

    if (name && !PyUnicode_CheckExact(name))
        Py_CLEAR(name);
    return name ? name : PyUnicode_FromString("?");
}

/* The place at a line of a complete frame's code. */
static PyObject *location_of(struct fg_engine_state *state, fg_pyframe *frame, int line)
{
    PyCodeObject *code = fg_pyframe_code(frame);
    PyObject *module = module_name(frame);

    if (!module)
        return NULL;
    {
        PyObject *const items[] = {
            PyUnicode_FromFormat("%U.%U", module, code->co_qualname),
            module,
            Py_NewRef(code->co_qualname),
            Py_NewRef(code->co_filename),
            PyLong_FromLong(line),
            Py_NewRef((PyObject *)code),
        };

        return fg_sequence_of(state->return_location_type, items, 6);
    }
}

PyObject *fg_return_location(struct fg_engine_state *state, fg_pyframe *frame)
{
    frame = fg_complete_pyframe(frame);
    return frame ? location_of(state, frame, fg_pyframe_line(frame)) : Py_NewRef(Py_None);
}

/* The caller's frame. On 3.11 a frame is not linked to its caller yet at its entry, and gone at its end:
 * then the thread's newest frame is the caller's own. */
fg_pyframe *fg_callback_caller(const struct fg_callback *callback)
{
    bool is_own = callback->newest == callback->regs->frame && !(callback->func->flags & FG_FUNC_C);

    return fg_complete_pyframe(is_own && callback->newest ? callback->newest->previous : callback->newest);
}

PyObject *fg_callback_return_location(const struct fg_callback *callback)
{
    return fg_return_location(callback->self->state, fg_callback_caller(callback));
}

PyObject *fg_callback_location(const struct fg_callback *callback)
{
    struct ftrace_location location;

    fg_regs_location(callback->regs, &location);
    return location_of(callback->self->state, fg_regs_frame(callback->regs),
                       location.line > 0 ? location.line : 0);
}

/* ---- get_ret_stack() */

/* A copy of a shadow stack, newest frame first. */
struct ret_stack {
    int tid;
    struct fg_frame_info *frames;
    size_t n, capacity;
    bool has_failed;
};

static bool copy_frame(const struct fg_frame_info *frame, void *arg)
{
    struct ret_stack *stack = arg;

    stack->has_failed = fg_array_reserve(&stack->frames, &stack->capacity, stack->n + 1) != 0;
    if (stack->has_failed)
        return false;
    stack->frames[stack->n++] = *frame;
    return true;
}

/* Under the engine's lock of tasks: calls nothing of Python's. */
static void copy_if_requested(struct fg_task *task, void *arg)
{
    struct ret_stack *stack = arg;

    if (task->tid == stack->tid)
        fg_walk(task, copy_frame, stack);
}

/* The callback that runs in the thread, if the thread is the caller's own; or NULL. */
static const struct fg_callback *own_callback(int tid)
{
    const struct fg_callback *callback = fg_callback_current();

    return callback && fg_task_self->tid == tid ? callback : NULL;
}

/* The place of the call whose callback runs. On 3.11 its frame is not linked to the caller yet, or no
 * longer. */
static struct fg_call_place own_place(const struct fg_callback *callback, const struct fg_frame_info *info)
{
    struct fg_call_place place = fg_call_place_find(callback->newest, info);

    return place.is_known ? place : (struct fg_call_place){true, callback->regs->frame, callback->newest};
}

static PyObject *ret_frame(struct fg_engine_state *state, const struct fg_frame_info *info,
                           struct fg_call_place place)
{
    PyObject *const items[] = {
        fg_function_of(state, info->func),
        PyLong_FromUnsignedLongLong(info->calltime ? fg_clock_to_ns(info->calltime) : 0),
        PyLong_FromLong(place.frame ? fg_pyframe_line(place.frame) : 0),
        fg_return_location(state, place.caller),
    };

    return fg_sequence_of(state->ret_frame_type, items, 4);
}

static PyObject *list_of(struct fg_engine_state *state, const struct ret_stack *stack, Py_ssize_t idx)
{
    const struct fg_callback *callback = own_callback(stack->tid);
    fg_pyframe *newest = fg_newest_pyframe_of(stack->tid);
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < stack->n; i++) {
        const struct fg_frame_info *info = &stack->frames[i];
        struct fg_call_place place =
            i == 0 && callback ? own_place(callback, info) : fg_call_place_find(newest, info);

        if (!place.is_known || idx > 0) {
            idx -= place.is_known;
            continue;
        }
        newest = place.caller;
        fg_list_append(&list, ret_frame(state, info, place));
    }
    return list;
}

/* The native id of a task, given as an int, a threading.Thread, or None for the caller; -1 with an
 * exception. */
static long tid_of(PyObject *task)
{
    PyObject *id;
    long tid;

    if (task == Py_None)
        return (long)PyThread_get_thread_native_id();
    id = PyLong_Check(task) ? Py_NewRef(task) : PyObject_GetAttrString(task, "native_id");
    if (!id || !PyLong_Check(id)) {
        Py_XDECREF(id);
        fg_raise_type("task", "a native thread id, a threading.Thread that was started, or None", task);
        return -1;
    }
    tid = PyLong_AsLong(id);
    Py_DECREF(id);
    if (tid == -1 && PyErr_Occurred())
        return -1;
    if (tid > 0 && tid <= INT_MAX)
        return tid;
    PyErr_Format(PyExc_ValueError, "task: a native thread id must be in 1 to %d, got %ld", INT_MAX, tid);
    return -1;
}

/* Without the GIL another thread may change its stack while we read it, and functions on that stack may
 * be freed. */
static int check_readable(long tid)
{
#ifdef Py_GIL_DISABLED
    if ((unsigned long)tid != PyThread_get_thread_native_id()) {
        PyErr_SetString(PyExc_RuntimeError, "without the GIL a thread can read its own stack only");
        return -1;
    }
#else
    (void)tid;
#endif
    return 0;
}

PyObject *fg_get_ret_stack(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"idx", "task", NULL};
    Py_ssize_t idx = 0;
    PyObject *task = Py_None, *list;
    struct ret_stack stack = {0};
    long tid;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|nO:get_ret_stack", names, &idx, &task))
        return NULL;
    if (idx < 0)
        return PyErr_Format(PyExc_ValueError, "idx must be >= 0, got %zd", idx);
    tid = tid_of(task);
    if (tid < 0 || check_readable(tid) != 0)
        return NULL;
    stack.tid = (int)tid;
    fg_task_for_each(copy_if_requested, &stack);
    list = stack.has_failed ? PyErr_NoMemory() : list_of(fg_engine_state(module), &stack, idx);
    free(stack.frames);
    return list;
}
