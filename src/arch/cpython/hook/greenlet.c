/* Suspending and resuming the calls of greenlets, and which greenlet of a thread is the main one. */
#include "arch/cpython/hook/greenlet.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/compat/lookup.h"
#include "arch/cpython/hook/hooks.h"
#include "arch/cpython/read/regs.h"
#include "engine/core/task.h"
#include "engine/graph/frame.h"
#include "engine/graph/suspended.h"

#define C_FUNCTION_BIT ((uintptr_t)1) /* set in a C function's frame pointer, see fg_cfunction_fp */

/* A greenlet that switched away with calls in progress. */
struct fg_suspended_greenlet {
    struct fg_suspended_greenlet *next;
    const void *greenlet;
    size_t n;
    uintptr_t fps[]; /* newest first */
};

_Atomic bool fg_greenlet_is_loaded;

/* ---- the table of greenlets with suspended calls */

/* Greenlets without a chunk share the key NULL, so an entry is a list. */
static void put_suspended(struct fg_greenlets *all, struct fg_suspended_greenlet *suspended)
{
    uint64_t hash = fg_hash_pointer(suspended->greenlet);
    struct fg_hash_slot *slot = fg_hash_first(&all->suspended, hash);

    if (slot) {
        suspended->next = (struct fg_suspended_greenlet *)(uintptr_t)slot->value;
        slot->value = (uintptr_t)suspended;
    } else {
        fg_hash_add(&all->suspended, hash, (uintptr_t)suspended); /* suspend_calls has reserved the room */
    }
}

static struct fg_suspended_greenlet *take_suspended(struct fg_greenlets *all, const void *greenlet)
{
    struct fg_hash_slot *slot = fg_hash_first(&all->suspended, fg_hash_pointer(greenlet));
    struct fg_suspended_greenlet *found =
        slot ? (struct fg_suspended_greenlet *)(uintptr_t)slot->value : NULL;

    if (found && found->next)
        slot->value = (uintptr_t)found->next;
    else if (found)
        fg_hash_remove(&all->suspended, slot);
    return found;
}

/* ---- suspending and resuming calls */

static bool note_fp(const struct fg_frame_info *frame, void *arg)
{
    *(uintptr_t *)arg = frame->fp;
    return false;
}

/* Suspends the newest call. False: the suspend failed, and tracing is off for good. */
static bool suspend_newest(struct fg_task *task, uintptr_t *fp)
{
    struct ftrace_regs regs = fg_no_regs();
    uint64_t *top = task->top;

    fg_walk(task, note_fp, fp);
    fg_suspend(task, *fp, &regs);
    return task->top < top;
}

/* Return: NULL if memory is short. */
static struct fg_suspended_greenlet *list_new(const void *greenlet, size_t room)
{
    struct fg_suspended_greenlet *list = malloc(sizeof(*list) + room * sizeof(list->fps[0]));

    if (list) {
        list->next = NULL;
        list->greenlet = greenlet;
        list->n = 0;
    }
    return list;
}

/* Suspends the calls of the greenlet that switched away: all calls above the base's. The size of struct
 * fg_frame_info gives an upper bound for their number, because a frame on the shadow stack is larger.
 * If there is no memory for the list, each call is found again at its own end. */
static void suspend_calls(struct fg_greenlets *all, struct fg_task *task)
{
    const uint64_t *base = task->floor;
    struct fg_suspended_greenlet *list = NULL;
    uintptr_t fp = 0;

    if (task->top <= base)
        return;
    if (fg_hash_reserve(&all->suspended) == 0)
        list =
            list_new(all->current, (size_t)(task->top - base) * sizeof(*base) / sizeof(struct fg_frame_info));
    while (task->top > base && suspend_newest(task, &fp)) {
        if (list)
            list->fps[list->n++] = fp;
    }
    if (!list)
        return;
    put_suspended(all, list);
    /* The table keeps the list, as a number: the analyzer loses sight of it. */
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
}

/* True if the call is on the thread's stack of Python frames. */
static bool is_in_progress(PyThreadState *tstate, uintptr_t fp, struct fg_greenlet_event event)
{
    const fg_pyframe *frame = fg_current_pyframe(tstate);

    if (fp == event.ended || fp == event.begins)
        return fp == event.ended;
    while (frame && (uintptr_t)frame != (fp & ~C_FUNCTION_BIT))
        frame = frame->previous;
    return frame;
}

/* Resumes the calls of the greenlet that runs now. While a callback has switched to the greenlet,
 * nothing is traced and its calls may end unseen. Such calls are no longer in progress: end them now. */
static void resume_calls(struct fg_greenlets *all, struct fg_task *task, PyThreadState *tstate,
                         struct fg_greenlet_event event)
{
    struct fg_suspended_greenlet *list = take_suspended(all, all->current);
    struct ftrace_regs regs = fg_no_regs();

    for (size_t i = list ? list->n : 0; i-- > 0;) {
        if (is_in_progress(tstate, list->fps[i], event))
            fg_resume(task, list->fps[i], &regs);
        else if (list->greenlet) /* else another chunkless greenlet may own the call */
            fg_abandon(task, list->fps[i], &regs);
    }
    free(list);
}

/* ---- which greenlet is the main one */

/* The function table of greenlet's C API; NULL if this greenlet has none. Imports nothing. */
static void **find_api(void)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module =
        modules && PyDict_CheckExact(modules) ? fg_dict_get(modules, "greenlet._greenlet") : NULL;
    PyObject *capsule =
        module && PyModule_CheckExact(module) ? fg_dict_get(PyModule_GetDict(module), "_C_API") : NULL;
    void **api = capsule && PyCapsule_CheckExact(capsule)
                     ? PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule))
                     : NULL;

    Py_XDECREF(capsule);
    Py_XDECREF(module);
    return api;
}

enum { API_TYPE = 0, API_GET_CURRENT = 4 }; /* indices fixed by greenlet.h */

/* Reads an attribute by the C getter of greenlet's own type, because a subclass may override the name.
 * New reference. */
static PyObject *get_own(const PyTypeObject *type, PyObject *greenlet, const char *name)
{
    const PyGetSetDef *at = type->tp_getset;

    while (at && at->name && strcmp(at->name, name) != 0)
        at++;
    return at && at->name ? at->get(greenlet, at->closure) : NULL;
}

/* The greenlet at the end of the parent chain. Steals the reference to @greenlet; new reference. */
static PyObject *main_of(const PyTypeObject *type, PyObject *greenlet)
{
    PyObject *parent = greenlet ? get_own(type, greenlet, "parent") : NULL;

    while (parent && parent != Py_None) {
        Py_SETREF(greenlet, parent);
        parent = get_own(type, greenlet, "parent");
    }
    if (!parent)
        Py_CLEAR(greenlet);
    Py_XDECREF(parent);
    return greenlet;
}

/* The first chunk of a stack. The oldest frame lies at its start, after one word that CPython leaves
 * free. */
static const void *chunk_of_frames(const fg_pyframe *newest)
{
    const fg_pyframe *oldest = NULL;

    for (const fg_pyframe *frame = newest; frame; frame = frame->previous) {
        if (frame->owner == FRAME_OWNED_BY_THREAD)
            oldest = frame;
    }
    return oldest ? (const char *)oldest - offsetof(_PyStackChunk, data[1]) : NULL;
}

static bool find_base(struct fg_greenlets *all, const PyTypeObject *type, PyObject *current, PyObject *main)
{
    PyObject *frame;

    if (main == current) {
        all->base = fg_greenlet_current(all->tstate);
        all->has_base = true;
        return true;
    }
    frame = get_own(type, main, "gr_frame");
    if (frame && PyFrame_Check(frame))
        all->base = chunk_of_frames(((PyFrameObject *)frame)->f_frame);
    all->has_base = frame && frame != Py_None;
    Py_XDECREF(frame);
    return frame;
}

static bool find_main_base(struct fg_greenlets *all, void **api)
{
    PyObject *current = ((PyObject * (*)(void)) api[API_GET_CURRENT])();
    PyObject *main = main_of(api[API_TYPE], Py_XNewRef(current));
    bool knows = main && find_base(all, api[API_TYPE], current, main);

    Py_XDECREF(current);
    Py_XDECREF(main);
    return knows;
}

/* Finds the thread's main greenlet, once, right after the first switch was seen. greenlet may run code
 * of the program here. The engine is in the middle of an operation, so that code is not traced. */
static void find_main(struct fg_greenlets *all, struct fg_task *task)
{
    fg_exception aside = fg_exception_set_aside();
    void **api = find_api();

    if (api && fg_guard_enter(task)) {
        all->knows_base = find_main_base(all, api);
        fg_guard_leave(task);
    }
    if (PyErr_Occurred())
        PyErr_Clear();
    fg_exception_put_back(aside);
}

/* ---- following switches */

static bool is_base(const struct fg_greenlets *all)
{
    return all->has_base && all->base == all->current;
}

/* True if the running greenlet made the newest call that is not suspended. */
static bool owns_newest(const struct fg_task *task, PyThreadState *tstate, struct fg_greenlet_event event)
{
    uintptr_t fp = 0;

    fg_walk(task, note_fp, &fp);
    return is_in_progress(tstate, fp, event);
}

/* The stack may hold calls from before greenlet was loaded. They belong to the running greenlet or to
 * the main one. */
static void begin(struct fg_greenlets *all, struct fg_task *task, PyThreadState *tstate,
                  struct fg_greenlet_event event)
{
    all->current = fg_greenlet_current(tstate);
    all->tstate = tstate;
    all->tstate_id = tstate->id;
    all->has_base = all->knows_base = false;
    task->floor = task->stack;
    if (task->top > task->stack && !owns_newest(task, tstate, event)) {
        find_main(all, task);
        task->floor = is_base(all) ? task->stack : task->top;
    }
}

/* A greenlet may begin in a generator's frame, without a chunk. True if it has got its first chunk
 * since. */
static bool has_grown(const struct fg_greenlets *all, const struct fg_task *task, PyThreadState *tstate,
                      struct fg_greenlet_event event)
{
    return !all->current && (task->top <= task->floor || owns_newest(task, tstate, event));
}

static void change(struct fg_greenlets *all, struct fg_task *task, PyThreadState *tstate,
                   struct fg_greenlet_event event)
{
    if (!all->knows_base)
        find_main(all, task);
    if (is_base(all))
        task->floor = task->top;
    else
        suspend_calls(all, task);
    all->current = fg_greenlet_current(tstate);
    if (is_base(all))
        task->floor = task->stack;
    resume_calls(all, task, tstate, event);
}

void fg_greenlet_changed(struct fg_task *task, PyThreadState *tstate, struct fg_greenlet_event event)
{
    struct fg_greenlets *all = task->arch_data;

    /* A callback has switched away: nothing is traced until it runs again. */
    if (!fg_task_is_quiet(task))
        return;
    if (!all)
        all = task->arch_data = calloc(1, sizeof(*all));
    if (!all)
        return;
    if (all->tstate == tstate && all->tstate_id == tstate->id) {
        if (has_grown(all, task, tstate, event))
            all->current = fg_greenlet_current(tstate);
        else
            change(all, task, tstate, event);
    } else if (!all->tstate || (task->top == task->stack && !all->suspended.n)) {
        begin(all, task, tstate, event);
    }
    /* Else the thread is in another interpreter, whose calls lie above all calls in progress. */
}

static void end_calls(struct fg_task *task, const struct fg_suspended_greenlet *list)
{
    struct ftrace_regs regs = fg_no_regs();

    for (size_t i = 0; i < list->n; i++)
        fg_abandon(task, list->fps[i], &regs);
}

void fg_greenlet_task_exit(struct fg_task *task)
{
    struct fg_greenlets *all = task->arch_data;

    task->arch_data = NULL;
    for (size_t i = 0; all && i < all->suspended.nr_slots; i++) {
        struct fg_suspended_greenlet *at = (struct fg_suspended_greenlet *)(uintptr_t)all->suspended.slots[i]
                                               .value,
                                     *next;

        for (; at; at = next) {
            next = at->next;
            if (task == fg_task_self)
                end_calls(task, at);
            free(at);
        }
    }
    if (all)
        fg_hash_clear(&all->suspended);
    free(all);
}

/* ---- whether the program uses greenlet */

static void load(void)
{
    atomic_store_explicit(&fg_greenlet_is_loaded, true, memory_order_relaxed);
    if (fg_interp_known())
        fg_hook_backend->follow_greenlets(fg_interp_known());
}

void fg_greenlet_look_for(void)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module = modules && PyDict_CheckExact(modules) ? fg_dict_get(modules, "greenlet") : NULL;

    if (module)
        load();
    Py_XDECREF(module);
}

void fg_greenlet_meet_module(const char *name)
{
    if (fg_unlikely(strcmp(name, "greenlet") == 0))
        load();
}
