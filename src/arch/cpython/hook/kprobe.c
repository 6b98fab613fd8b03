/* The probes of a function are a list in its record, replaced as a whole; whoever runs what is in it counts as a holder. */
#include "arch/cpython/hook/kprobe.h"

#include <errno.h>
#include <stdlib.h>

#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/lock.h"
#include "arch/cpython/hook/hooks.h"
#include "arch/cpython/read/code.h"
#include "opcode.h"

/* ---- places */

/* The code as it was compiled, whatever CPython has made of it since. NULL with an exception. */
static PyObject *compiled(PyCodeObject *code)
{
    return PyCode_GetCode(code);
}

static inline int opcode_at(PyObject *bytes, Py_ssize_t offset)
{
    return (unsigned char)PyBytes_AS_STRING(bytes)[offset];
}

/* CPython tells nobody of these: they belong to what is before them, or to how calls are made. */
static bool is_silent(int opcode)
{
    switch (opcode) {
    case CACHE:
    case RESUME:
#if FG_HAVE_MONITORING
    case END_FOR:
#endif
        return true;
    default:
        return false;
    }
}

/* Lines begin at none of these either. */
static bool is_lineless(int opcode)
{
#if FG_HAVE_MONITORING
    if (opcode == END_SEND || opcode == END_ASYNC_FOR)
        return true;
#endif
    return is_silent(opcode);
}

/* From 3.13 to before 3.14 FOR_ITER skips the POP_TOP behind END_FOR too. */
static bool is_skipped(PyObject *bytes, Py_ssize_t offset)
{
#if PY_VERSION_HEX >= 0x030D0000 && PY_VERSION_HEX < 0x030E0000
    return offset >= 2 && opcode_at(bytes, offset) == POP_TOP && opcode_at(bytes, offset - 2) == END_FOR;
#else
    (void)bytes, (void)offset;
    return false;
#endif
}

static Py_ssize_t first_traceable(const PyCodeObject *code)
{
    return code->_co_firsttraceable * (Py_ssize_t)sizeof(_Py_CODEUNIT);
}

/* Where the instruction at `offset` begins: with its prefixes. */
static Py_ssize_t with_prefixes(PyObject *bytes, Py_ssize_t offset)
{
    while (offset >= 2 && opcode_at(bytes, offset - 2) == EXTENDED_ARG)
        offset -= 2;
    return offset;
}

static int offset_in(const PyCodeObject *code, PyObject *bytes, Py_ssize_t offset)
{
    Py_ssize_t size = PyBytes_GET_SIZE(bytes), first = first_traceable(code);

    if (offset < 0 || offset >= size)
        return -EINVAL;
    if (offset % 2 || opcode_at(bytes, offset) == CACHE)
        return -EILSEQ;
    if (offset == 0)
        offset = first;
    /* What sets up the call has no effect that can be seen: behind it, and its cache (3.15), is where it is. */
    while (offset < size && (opcode_at(bytes, offset) == RESUME || opcode_at(bytes, offset) == CACHE))
        offset += 2;
    if (offset < first || offset >= size || is_silent(opcode_at(bytes, offset)) || is_skipped(bytes, offset))
        return -EINVAL;
    return (int)with_prefixes(bytes, offset);
}

int fg_kprobe_offset(PyCodeObject *code, int offset)
{
    PyObject *bytes = compiled(code);
    int result = bytes ? offset_in(code, bytes, offset) : -ENOMEM;

    if (!bytes)
        PyErr_Clear();
    Py_XDECREF(bytes);
    return result;
}

static int add_line(PyObject *lines, int line)
{
    PyObject *number = PyLong_FromLong(line);
    int error = number ? PySet_Add(lines, number) : -1;

    Py_XDECREF(number);
    return error;
}

static int add_lines(PyObject *lines, PyCodeObject *code, PyObject *bytes)
{
    for (Py_ssize_t at = first_traceable(code); at < PyBytes_GET_SIZE(bytes); at += 2) {
        int line = is_lineless(opcode_at(bytes, at)) ? -1 : PyCode_Addr2Line(code, (int)at);

        if (line > 0 && add_line(lines, line) != 0)
            return -1;
    }
    return 0;
}

PyObject *fg_kprobe_lines(PyCodeObject *code)
{
    PyObject *bytes = compiled(code), *lines = PySet_New(NULL), *sorted = NULL;

    if (bytes && lines && add_lines(lines, code, bytes) == 0)
        sorted = PySequence_List(lines);
    if (sorted && PyList_Sort(sorted) != 0)
        Py_CLEAR(sorted);
    Py_XDECREF(bytes);
    Py_XDECREF(lines);
    return sorted;
}

/* ---- the list of a function */

_Atomic unsigned fg_kprobe_count;

struct entry {
    _Atomic(struct fg_kprobe *) probe; /* NULL: it left when memory was too short for a list without it */
    PyObject *owner;
};

/* In order of registration. Immutable once published, but for what the entries say. */
struct fg_kprobe_list {
    _Atomic size_t refs;
    size_t n;
    struct entry entries[];
};

static struct fg_kprobe_list *list_new(size_t n)
{
    struct fg_kprobe_list *list = calloc(1, sizeof(*list) + n * sizeof(list->entries[0]));

    if (list)
        atomic_init(&list->refs, 1);
    return list;
}

static void list_add(struct fg_kprobe_list *list, struct fg_kprobe *kp)
{
    struct entry *entry = &list->entries[list->n++];

    atomic_init(&entry->probe, kp);
    entry->owner = Py_NewRef(kp->owner);
}

static void list_drop(struct fg_kprobe_list *list)
{
    if (!list || atomic_fetch_sub(&list->refs, 1) > 1)
        return;
    for (size_t i = 0; i < list->n; i++)
        Py_DECREF(list->entries[i].owner);
    free(list);
}

/* What follows is under FG_LOCK_KPROBES, and calls nothing of Python's. */

static struct fg_kprobe_list *list_of(struct fg_func *func)
{
    return atomic_load_explicit(&func->kprobes, memory_order_relaxed);
}

/* Returns the one before, which is the caller's to drop. */
static struct fg_kprobe_list *publish(struct fg_func *func, struct fg_kprobe_list *list)
{
    if (list && list->n == 0) {
        free(list);
        list = NULL;
    }
    return atomic_exchange(&func->kprobes, list);
}

/* The list with another probe at its end, or without one. NULL: memory is short. */
static struct fg_kprobe_list *list_copy(const struct fg_kprobe_list *list, struct fg_kprobe *added,
                                        const struct fg_kprobe *removed)
{
    size_t n = list ? list->n : 0;
    struct fg_kprobe_list *copy = list_new(n + 1);

    for (size_t i = 0; copy && i < n; i++) {
        struct fg_kprobe *kp = atomic_load_explicit(&list->entries[i].probe, memory_order_relaxed);

        if (kp && kp != removed)
            list_add(copy, kp);
    }
    if (copy && added)
        list_add(copy, added);
    return copy;
}

/* 0, or -EEXIST, -ENOMEM. */
static int attach(struct fg_kprobe *kp, struct fg_func *func, struct fg_kprobe_list **old)
{
    struct fg_kprobe_list *list;

    if (atomic_load(&kp->is_registered))
        return -EEXIST;
    list = list_copy(list_of(func), kp, NULL);
    if (!list)
        return -ENOMEM;
    atomic_store(&kp->func, func);
    atomic_store(&kp->is_registered, true);
    atomic_fetch_add(&fg_kprobe_count, 1);
    *old = publish(func, list);
    return 0;
}

static void blank(struct fg_kprobe_list *list, const struct fg_kprobe *kp)
{
    for (size_t i = 0; i < list->n; i++) {
        if (atomic_load(&list->entries[i].probe) == kp)
            atomic_store(&list->entries[i].probe, NULL);
    }
}

static int detach(struct fg_kprobe *kp, struct fg_kprobe_list **old)
{
    struct fg_func *func = atomic_load(&kp->func);
    struct fg_kprobe_list *list;

    if (!atomic_exchange(&kp->is_registered, false))
        return -EINVAL;
    atomic_fetch_sub(&fg_kprobe_count, 1);
    if (!func)
        return 0;
    list = list_copy(list_of(func), NULL, kp);
    if (list)
        *old = publish(func, list);
    else
        blank(list_of(func), kp);
    atomic_store(&kp->func, NULL);
    return 0;
}

/* ---- registering */

int fg_kprobe_register(struct fg_kprobe *kp, struct fg_func *func)
{
    struct fg_kprobe_list *old = NULL;
    int error;

    fg_lock(FG_LOCK_KPROBES);
    error = attach(kp, func, &old);
    fg_unlock(FG_LOCK_KPROBES);
    list_drop(old);
    if (error)
        return error;
    if (fg_cpython_listen(func) == 0)
        return 0;
    fg_kprobe_unregister(kp);
    return -EIO;
}

int fg_kprobe_unregister(struct fg_kprobe *kp)
{
    struct fg_func *func = atomic_load(&kp->func);
    struct fg_kprobe_list *old = NULL;
    int error;

    fg_lock(FG_LOCK_KPROBES);
    error = detach(kp, &old);
    fg_unlock(FG_LOCK_KPROBES);
    list_drop(old);
    if (error)
        return error;
    if (func)
        fg_cpython_sync(func);
    fg_users_synchronize();
    return 0;
}

int fg_kprobe_set_enabled(struct fg_kprobe *kp, bool enabled)
{
    struct fg_func *func = atomic_load(&kp->func);

    if (atomic_exchange(&kp->is_enabled, enabled) == enabled || !func)
        return 0;
    if (enabled)
        return fg_cpython_listen(func);
    fg_cpython_sync(func);
    return 0;
}

/* Nothing runs in the function any more. */
void fg_kprobe_function_gone(struct fg_func *func)
{
    struct fg_kprobe_list *list;

    fg_lock(FG_LOCK_KPROBES);
    list = publish(func, NULL);
    for (size_t i = 0; list && i < list->n; i++) {
        struct fg_kprobe *kp = atomic_load(&list->entries[i].probe);

        if (kp)
            atomic_store(&kp->func, NULL);
    }
    fg_unlock(FG_LOCK_KPROBES);
    list_drop(list);
}

/* ---- running */

/* NULL: there is none. */
static struct fg_kprobe_list *list_hold(struct fg_func *func)
{
    struct fg_kprobe_list *list;

    fg_lock(FG_LOCK_KPROBES);
    list = list_of(func);
    if (list)
        atomic_fetch_add_explicit(&list->refs, 1, memory_order_relaxed);
    fg_unlock(FG_LOCK_KPROBES);
    return list;
}

unsigned fg_kprobe_kinds(struct fg_func *func)
{
    struct fg_kprobe_list *list;
    unsigned kinds = 0;

    fg_lock(FG_LOCK_KPROBES);
    list = list_of(func);
    for (size_t i = 0; list && i < list->n; i++) {
        const struct fg_kprobe *kp = atomic_load(&list->entries[i].probe);

        if (kp && atomic_load(&kp->is_enabled))
            kinds |= kp->line ? FG_KPROBE_LINES : FG_KPROBE_OFFSETS;
    }
    fg_unlock(FG_LOCK_KPROBES);
    return kinds;
}

/* The program has come to a line, or to an instruction. */
struct place {
    int line;   /* 0: it is no line that begins */
    int offset; /* -1: no instruction was asked for */
};

/* It is there, and is to be run. */
static bool is_at(const struct fg_kprobe *kp, const struct place *place)
{
    if (!kp || !atomic_load_explicit(&kp->is_enabled, memory_order_relaxed) ||
        !atomic_load_explicit(&kp->is_registered, memory_order_relaxed))
        return false;
    return kp->line ? kp->line == place->line : kp->offset == place->offset;
}

static struct fg_kprobe *probe_at(struct fg_kprobe_list *list, size_t i, const struct place *place)
{
    struct fg_kprobe *kp = atomic_load_explicit(&list->entries[i].probe, memory_order_acquire);

    return is_at(kp, place) ? kp : NULL;
}

/* What a callback does is not probed. */
static void count_missed(struct fg_kprobe_list *list, const struct place *place)
{
    for (size_t i = 0; i < list->n; i++) {
        struct fg_kprobe *kp = probe_at(list, i, place);

        if (kp)
            atomic_fetch_add_explicit(&kp->nmissed, 1, memory_order_relaxed);
    }
}

/* One may be unregistered, or disabled, by one that runs before it. */
static void run_all(struct fg_kprobe_list *list, const struct fg_kprobe_site *site, const struct place *place)
{
    for (size_t i = 0; i < list->n; i++) {
        struct fg_kprobe *kp = probe_at(list, i, place);

        if (!kp)
            continue;
        atomic_fetch_add_explicit(&kp->hits, 1, memory_order_relaxed);
        kp->run(kp, site);
    }
}

static bool is_anybody(struct fg_kprobe_list *list, const struct place *place)
{
    for (size_t i = 0; i < list->n; i++) {
        if (probe_at(list, i, place))
            return true;
    }
    return false;
}

bool fg_kprobe_is_at_offset(struct fg_func *func, int offset)
{
    struct fg_kprobe_list *list = list_hold(func);
    bool is = list && is_anybody(list, &(struct place){.line = 0, .offset = offset});

    list_drop(list);
    return is;
}

static bool hit(const struct fg_kprobe_site *site, const struct place *place)
{
    struct fg_kprobe_list *list =
        fg_func_interp(site->func) == fg_interp_known() && !fg_killed() ? list_hold(site->func) : NULL;
    struct fg_task *task = fg_task_current();
    bool is = list && is_anybody(list, place);

    if (is && task && fg_guard_enter(task)) {
        run_all(list, site, place);
        fg_guard_leave(task);
    } else if (is) {
        count_missed(list, place);
    }
    list_drop(list);
    return is;
}

bool fg_kprobe_hit_line(const struct fg_kprobe_site *site, int line)
{
    return hit(site, &(struct place){.line = line, .offset = -1});
}

bool fg_kprobe_hit_offset(const struct fg_kprobe_site *site, int offset)
{
    return hit(site, &(struct place){.line = 0, .offset = offset});
}
