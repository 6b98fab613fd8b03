/* The C API: kprobes. */
#include <errno.h>
#include <stdlib.h>

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/base/interp.h"
#include "arch/cpython/base/lock.h"
#include "arch/cpython/hook/kprobe.h"
#include "arch/cpython/read/code.h"
#include "arch/cpython/read/regs.h"
#include "arch/cpython/register/users.h"
#include "binding/capi/capi.h"
#include "binding/capi/capi_names.h"

/* A registered kprobe. A capsule owns it: another thread may still go through a list of kprobes that has it
 * when the caller's struct kprobe is gone. */
struct attached {
    struct fg_kprobe kp;
    struct kprobe *native;
    struct fg_interp *interp;
    struct attached *next; /* of the interpreter; under FG_LOCK_CONTROL */
};

/* Lies in the words `engine` of struct kprobe. */
struct __attribute__((may_alias)) state {
    PyObject *capsule; /* of struct attached; NULL: not registered */
    struct attached *attached;
    uint64_t hits, nmissed; /* of the registration that ended last */
};

_Static_assert(sizeof(struct state) <= KPROBE_ENGINE_WORDS * sizeof(uint64_t),
               "struct kprobe has too few words for the engine's half");

static struct state *state_of(struct kprobe *kp)
{
    return (struct state *)kp->engine;
}

static const struct state *state_of_const(const struct kprobe *kp)
{
    return (const struct state *)kp->engine;
}

static void free_attached(PyObject *capsule)
{
    free(PyCapsule_GetPointer(capsule, NULL));
}

/* ---- the handler */

/* The handler may unregister its own kprobe, whose memory is then gone. */
static void run(struct fg_kprobe *kp, const struct fg_kprobe_site *site)
{
    struct kprobe *native = fg_container_of(kp, struct attached, kp)->native;
    struct ftrace_regs regs = {&fg_place_regs_ops, site->frame, NULL, site->tstate};

    native->pre_handler(native, &regs);
}

/* ---- the place */

static int find_place(struct fg_kprobe *kp, const struct kprobe *native, PyCodeObject *code)
{
    return native->offset <= INT_MAX ? fg_kprobe_find_place(kp, code, native->line, (int)native->offset)
                                     : -EINVAL;
}

/* True if a kprobe that is given by name may mean this function. */
static bool may_be_on(const struct kprobe *native, const struct fg_func *func)
{
    struct fg_kprobe kp;

    return !(func->flags & (FG_FUNC_C | FG_FUNC_NATIVE)) &&
           (!native->line || find_place(&kp, native, func->arch_data) == 0);
}

/* Chooses the one of the functions with the kprobe's name. Without any that may be meant, it is the first:
 * then its place is wrong. */
static int choose(const struct kprobe *kp, const struct fg_named *named, struct fg_func **func)
{
    size_t n = 0;

    *func = named->funcs[0];
    for (size_t i = 0; i < named->n; i++) {
        if (named->n > 1 && may_be_on(kp, named->funcs[i]) && n++ == 0)
            *func = named->funcs[i];
    }
    return n > 1 ? -EADDRNOTAVAIL : 0;
}

/* ---- registering; exceptions may be left set, up to where it says otherwise */

static void enlist(struct attached *attached)
{
    fg_lock(FG_LOCK_CONTROL);
    attached->next = attached->interp->native_kprobes;
    attached->interp->native_kprobes = attached;
    fg_unlock(FG_LOCK_CONTROL);
}

static void unlist(struct attached *attached)
{
    struct attached *at;

    fg_lock(FG_LOCK_CONTROL);
    at = attached->interp->native_kprobes;
    if (at == attached) {
        attached->interp->native_kprobes = attached->next;
    } else {
        while (at->next != attached)
            at = at->next;
        at->next = attached->next;
    }
    fg_unlock(FG_LOCK_CONTROL);
}

/* Holds the hooks until unregister_kprobe(). */
static int attach(struct attached *attached, struct fg_func *func)
{
    int error;

    if (fg_hooks_hold() != 0)
        return -EIO;
    attached->interp = fg_interp_known();
    error = fg_func_interp(func) == attached->interp ? fg_kprobe_register(&attached->kp, func) : -ENOENT;
    if (error)
        fg_hooks_release();
    return error;
}

/* The capsule of a struct attached that is not attached yet. NULL: no memory. */
static PyObject *capsule_new(struct kprobe *kp)
{
    struct attached *attached = calloc(1, sizeof(*attached));
    PyObject *capsule = attached ? PyCapsule_New(attached, NULL, free_attached) : NULL;

    if (!capsule) {
        free(attached);
        return NULL;
    }
    attached->native = kp;
    attached->kp.arch = &fg_kprobe_cpython;
    attached->kp.run = run;
    attached->kp.owner = capsule;
    atomic_store(&attached->kp.is_enabled, true);
    return capsule;
}

static int attach_to_code(struct kprobe *kp, struct fg_func *func, PyCodeObject *code)
{
    PyObject *capsule = capsule_new(kp);
    struct attached *attached = capsule ? PyCapsule_GetPointer(capsule, NULL) : NULL;
    int error = attached ? find_place(&attached->kp, kp, code) : -ENOMEM;

    if (!error)
        error = attach(attached, func);
    if (error) {
        Py_XDECREF(capsule);
        return error;
    }
    enlist(attached);
    *state_of(kp) = (struct state){.capsule = capsule, .attached = attached};
    return 0;
}

static int attach_to(struct kprobe *kp, struct fg_func *func)
{
    PyCodeObject *code = fg_code_of(func);
    int error = code ? attach_to_code(kp, func, code) : -ENOENT;

    Py_XDECREF(code);
    return error;
}

static int attach_to_named(struct kprobe *kp)
{
    struct fg_named named;
    struct fg_func *func;
    int error = fg_named_find(&named, &kp->symbol_name, 1);

    if (!error)
        error = choose(kp, &named, &func);
    if (!error)
        error = attach_to(kp, func);
    fg_named_clear(&named);
    return error;
}

/* ---- the API; no exception is left set from here on */

static bool is_sound(const struct kprobe *kp)
{
    return kp && kp->pre_handler && !kp->symbol_name != !kp->func && kp->line >= 0 &&
           (!kp->line || !kp->offset);
}

int fg_capi_register_kprobe(struct kprobe *kp)
{
    fg_exception aside;
    int error;

    if (!is_sound(kp))
        return -EINVAL;
    if (state_of(kp)->capsule)
        return -EEXIST;
    if (kp->func && (kp->func->flags & FG_FUNC_NATIVE))
        return -EOPNOTSUPP; /* its handlers are of Python's instructions */
    aside = fg_exception_set_aside();
    error = fg_capi_be_here();
    if (!error)
        error = kp->func ? attach_to(kp, kp->func) : attach_to_named(kp);
    fg_exception_put_back(aside);
    return error;
}

static bool is_registered_here(const struct kprobe *kp)
{
    return kp && state_of_const(kp)->capsule && state_of_const(kp)->attached->interp == fg_interp_known();
}

int fg_capi_unregister_kprobe(struct kprobe *kp)
{
    struct attached *attached;
    PyObject *capsule;
    fg_exception aside;

    if (!is_registered_here(kp))
        return -EINVAL;
    capsule = state_of(kp)->capsule;
    attached = state_of(kp)->attached;
    aside = fg_exception_set_aside();
    fg_kprobe_unregister(&attached->kp);
    *state_of(kp) = (struct state){.hits = atomic_load(&attached->kp.hits),
                                   .nmissed = atomic_load(&attached->kp.nmissed)};
    unlist(attached);
    Py_DECREF(capsule);
    fg_hooks_release();
    fg_exception_put_back(aside);
    return 0;
}

static int set_enabled(struct kprobe *kp, bool enabled)
{
    fg_exception aside;
    int error;

    if (!is_registered_here(kp) || !atomic_load(&state_of(kp)->attached->kp.func))
        return -EINVAL;
    aside = fg_exception_set_aside();
    error = fg_kprobe_set_enabled(&state_of(kp)->attached->kp, enabled);
    fg_exception_put_back(aside);
    return error;
}

int fg_capi_enable_kprobe(struct kprobe *kp)
{
    return set_enabled(kp, true);
}

int fg_capi_disable_kprobe(struct kprobe *kp)
{
    return set_enabled(kp, false);
}

uint64_t fg_capi_kprobe_nmissed(const struct kprobe *kp)
{
    const struct state *state = state_of_const(kp);

    return state->capsule ? atomic_load(&state->attached->kp.nmissed) : state->nmissed;
}

uint64_t fg_capi_kprobe_hits(const struct kprobe *kp)
{
    const struct state *state = state_of_const(kp);

    return state->capsule ? atomic_load(&state->attached->kp.hits) : state->hits;
}

void fg_capi_kprobes_end(void)
{
    struct fg_interp *interp = fg_interp_known();
    struct attached *first;

    while (interp && (first = interp->native_kprobes))
        fg_capi_unregister_kprobe(first->native);
}
