/* See kprobe_named.h. Whoever takes a part out of its list under FG_LOCK_DISCOVERY unregisters it, without
 * the lock: unregistering waits for callbacks, and a callback may be about to make a function's record. */
#include "arch/cpython/hook/kprobe_named.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/base/lock.h"
#include "arch/cpython/read/code.h"
#include "arch/cpython/read/symbols.h"
#include "engine/base/array.h"

/* The probe on one function. A capsule owns it: another thread may still go through a list of kprobes that
 * has it when it is unregistered. */
struct fg_named_part {
    struct fg_kprobe kp;
    struct fg_named_kprobe *named;
    const struct fg_func *func; /* to compare with only: it may be gone */
    PyObject *capsule;
    struct fg_named_part *next;
};

static void run(struct fg_kprobe *kp, const struct fg_kprobe_site *site)
{
    struct fg_named_kprobe *named = fg_container_of(kp, struct fg_named_part, kp)->named;

    named->run(named, site);
}

static void free_part(PyObject *capsule)
{
    free(PyCapsule_GetPointer(capsule, NULL));
}

/* NULL with an exception. */
static struct fg_named_part *part_new(struct fg_named_kprobe *named, const struct fg_func *func)
{
    struct fg_named_part *part = calloc(1, sizeof(*part));
    PyObject *capsule = part ? PyCapsule_New(part, NULL, free_part) : NULL;

    if (!capsule) {
        free(part);
        PyErr_NoMemory();
        return NULL;
    }
    part->kp = (struct fg_kprobe){.arch = &fg_kprobe_cpython, .run = run, .owner = capsule};
    part->named = named;
    part->func = func;
    part->capsule = capsule;
    return part;
}

/* ---- putting a part on a function */

/* A part whose function is gone: another one may have its record now. */
static bool is_gone(const struct fg_named_part *part)
{
    return atomic_load(&part->kp.is_registered) && !atomic_load(&part->kp.func);
}

/* Under FG_LOCK_DISCOVERY. */
static bool has_part(const struct fg_named_kprobe *named, const struct fg_func *func)
{
    for (const struct fg_named_part *part = named->parts; part; part = part->next) {
        if (part->func == func && !is_gone(part))
            return true;
    }
    return false;
}

/* Under FG_LOCK_DISCOVERY. Return: the parts taken out of the list. */
static struct fg_named_part *take_gone(struct fg_named_kprobe *named)
{
    struct fg_named_part **at = &named->parts, *gone = NULL;

    while (*at) {
        struct fg_named_part *part = *at;

        if (!is_gone(part)) {
            at = &part->next;
            continue;
        }
        *at = part->next;
        part->next = gone;
        gone = part;
    }
    return gone;
}

/* The parts are in no list. Under FG_LOCK_DISCOVERY only if the functions of all are gone. */
static uint64_t remove_parts(struct fg_named_part *parts)
{
    uint64_t nmissed = 0;

    while (parts) {
        struct fg_named_part *part = parts;

        parts = part->next;
        fg_kprobe_unregister(&part->kp);
        nmissed += atomic_load(&part->kp.nmissed);
        Py_DECREF(part->capsule);
    }
    return nmissed;
}

/* The probe is enabled when it is on the function: if CPython does not report the place, it stays there
 * and is not hit, and nothing needs to wait for callbacks. Return: 0 or a negative errno, which may come
 * with an exception. */
static int put_on(struct fg_named_part *part, struct fg_func *func)
{
    int error = fg_kprobe_register(&part->kp, func);

    return error ? error : fg_kprobe_set_enabled(&part->kp, true);
}

/* Makes a part for a function, unless the function has one, or does not have the place. Under
 * FG_LOCK_DISCOVERY. Return: 0 or a negative errno, which may come with an exception; *made may be NULL. */
static int add_part(struct fg_named_kprobe *named, PyCodeObject *code, struct fg_func *func,
                    struct fg_named_part **made)
{
    struct fg_named_part *part;
    int error;

    *made = NULL;
    if (has_part(named, func))
        return 0;
    part = part_new(named, func);
    if (!part)
        return -ENOMEM;
    error = fg_kprobe_find_place(&part->kp, code, named->line, named->offset);
    if (error) {
        Py_DECREF(part->capsule);
        return error == -ENOMEM ? error : 0;
    }
    part->next = named->parts;
    named->parts = part;
    *made = part;
    return 0;
}

/* ---- functions that are met */

static void meet(struct fg_named_kprobe *named, PyCodeObject *code, struct fg_func *func)
{
    struct fg_named_part *part;

    named->nmissed += remove_parts(take_gone(named));
    if (add_part(named, code, func, &part) == 0 && part)
        put_on(part, func);
}

void fg_named_kprobes_meet(PyCodeObject *code, struct fg_func *func)
{
    struct fg_named_kprobe *named = fg_func_interp(func)->named_kprobes;
    fg_exception aside;

    if (fg_likely(!named))
        return;
    aside = fg_exception_set_aside();
    for (; named; named = named->next) {
        if (strcmp(named->symbol, func->name) == 0)
            meet(named, code, func);
        PyErr_Clear(); /* as a function that cannot be hooked: the program goes on */
    }
    fg_exception_put_back(aside);
}

/* ---- attaching */

/* The records with a name. Some may be gone, and reused, when they are looked at. */
struct found {
    const char *symbol;
    const struct fg_interp *interp;
    struct fg_func **funcs;
    size_t n, capacity;
    bool has_failed;
};

static bool is_named(const char *name, const char *Py_UNUSED(module), bool is_c, void *symbol)
{
    return !is_c && strcmp(name, symbol) == 0;
}

static void note(struct fg_func *func, void *arg)
{
    struct found *found = arg;

    if (fg_func_interp(func) != found->interp || strcmp(func->name, found->symbol) != 0)
        return;
    if (fg_array_reserve(&found->funcs, &found->capacity, found->n + 1) == 0)
        found->funcs[found->n++] = func;
    else
        found->has_failed = true;
}

static int attach_to_code(struct fg_named_kprobe *named, PyCodeObject *code, struct fg_func *func)
{
    struct fg_named_part *part;
    int error;

    fg_lock(FG_LOCK_DISCOVERY);
    error = add_part(named, code, func, &part);
    fg_unlock(FG_LOCK_DISCOVERY);
    return error || !part ? error : put_on(part, func);
}

static int attach_to(struct fg_named_kprobe *named, struct fg_func *func)
{
    PyCodeObject *code = fg_code_of(func);
    int error = 0;

    if (code && strcmp(func->name, named->symbol) == 0)
        error = attach_to_code(named, code, func);
    Py_XDECREF(code);
    return error;
}

/* A function that runs in a loop since before it could have a record is never met by a call. */
static int meet_named(const struct fg_named_kprobe *named)
{
    struct fg_name_tails names = {.last_characters = 0};
    struct fg_symbols_query query = {.kinds = FG_SYMBOLS_PYTHON,
                                     .wants = is_named,
                                     .arg = (void *)(uintptr_t)named->symbol,
                                     .python_names = &names};
    int error = fg_name_tails_add(&names, named->symbol);

    if (!error && fg_symbols_meet(named->interp, &query) < 0)
        error = -ENOMEM;
    fg_name_tails_clear(&names);
    return error;
}

/* Functions that were not called yet have no record before meet_named(). Code that no function object
 * refers to, as of a module, has one only if it ran. */
static int attach_to_all(struct fg_named_kprobe *named)
{
    struct found found = {.symbol = named->symbol, .interp = named->interp};
    int error = meet_named(named);

    fg_func_for_each(note, &found);
    if (found.has_failed)
        error = -ENOMEM;
    for (size_t i = 0; i < found.n && !error; i++)
        error = attach_to(named, found.funcs[i]);
    free(found.funcs);
    return error;
}

/* From now on fg_named_kprobes_meet() finds it. */
static void enlist(struct fg_named_kprobe *named)
{
    fg_lock(FG_LOCK_DISCOVERY);
    named->next = named->interp->named_kprobes;
    named->interp->named_kprobes = named;
    fg_unlock(FG_LOCK_DISCOVERY);
}

/* Return: the parts, which are in no list. */
static struct fg_named_part *unlist(struct fg_named_kprobe *named)
{
    struct fg_named_kprobe **at = &named->interp->named_kprobes;
    struct fg_named_part *parts;

    fg_lock(FG_LOCK_DISCOVERY);
    while (*at != named)
        at = &(*at)->next;
    *at = named->next;
    named->interp = NULL;
    parts = named->parts;
    named->parts = NULL;
    fg_unlock(FG_LOCK_DISCOVERY);
    return parts;
}

int fg_named_kprobe_attach(struct fg_named_kprobe *named)
{
    int error;

    if (named->interp)
        return 0;
    named->interp = fg_interp_known();
    enlist(named);
    error = attach_to_all(named);
    if (error)
        fg_named_kprobe_detach(named);
    return error;
}

bool fg_named_kprobe_detach(struct fg_named_kprobe *named)
{
    if (!named->interp)
        return false;
    named->nmissed += remove_parts(unlist(named));
    return true;
}

uint64_t fg_named_kprobe_nmissed(const struct fg_named_kprobe *named)
{
    uint64_t nmissed;

    fg_lock(FG_LOCK_DISCOVERY);
    nmissed = named->nmissed;
    for (const struct fg_named_part *part = named->parts; part; part = part->next)
        nmissed += atomic_load_explicit(&part->kp.nmissed, memory_order_relaxed);
    fg_unlock(FG_LOCK_DISCOVERY);
    return nmissed;
}
