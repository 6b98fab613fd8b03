/* gilwait: how long a thread waited for the interpreter lock.
 *
 * CPython's take_gil() waits in pthread_cond_timedwait(), a few milliseconds at a time, and holds the
 * lock's mutex before and after. While the tracer is enabled, that call is redirected to timedwait()
 * below. A section begins with a thread's first wait. It ends with the wait after which the lock is
 * free: this thread takes it next. No other thread gets the lock until this one releases the mutex, so
 * the frames of the last holder can be read to tell what ran. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "arch/cpython/latency/gil.h"
#include "arch/cpython/latency/latency_label.h"
#include "arch/cpython/latency/latency_tracer.h"
#include "arch/elf/got.h"
#include "engine/base/clock.h"

static struct fg_latency latency;
static struct fg_got_hook hook;

/* The watched lock. Changed only by a thread that holds it, when no wait can end. */
static struct fg_gil gil;
static _Atomic(const pthread_cond_t *) watched; /* NULL: the tracer is disabled */
static _Atomic uint64_t generation;             /* counts how often the tracer was enabled */

/* The wait of this thread. */
static _Thread_local struct {
    uint64_t begin; /* in ticks; 0: this thread does not wait */
    uint64_t generation;
} wait __attribute__((tls_model("initial-exec")));

/* ---- the recent holders of the lock; guarded by its mutex */

#define NR_HOLDS 16u

static struct {
    uint64_t since; /* when a waiting thread last got the lock; 0: not yet */
    uint32_t n;     /* total so far; the last NR_HOLDS are kept */
    struct hold {
        uint64_t begin, end;
        char ran[FG_LATENCY_TEXT_BYTES];
    } holds[NR_HOLDS];
} held;

/* The last holder has just released the lock: it now waits, runs C code without the lock, or has ended. */
static void label_holder(char *out)
{
    PyThreadState *holder = (PyThreadState *)fg_gil_last_holder(&gil);

    if (!fg_gil_knows(&gil, holder))
        snprintf(out, FG_LATENCY_TEXT_BYTES, "a thread that has ended");
    else if (!fg_label_thread(holder, out))
        snprintf(out, FG_LATENCY_TEXT_BYTES, "a thread that runs no Python function");
}

static void note_hold(uint64_t now)
{
    uint64_t begin = held.since > wait.begin ? held.since : wait.begin;
    struct hold *hold;

    if (fg_latency_is_worth_naming(&latency, now - begin)) {
        hold = &held.holds[held.n++ % NR_HOLDS];
        hold->begin = begin;
        hold->end = now;
        label_holder(hold->ran);
    }
    held.since = now;
}

/* ---- sections */

static void label_waiter(char *out)
{
    PyThreadState *tstate = PyGILState_GetThisThreadState();

    if (!tstate || !fg_label_thread(tstate, out))
        snprintf(out, FG_LATENCY_TEXT_BYTES, "a thread that runs no Python function yet");
}

/* Adds the recent holds to the section. The longest one becomes the section's `ended_at`. */
static void add_holds(struct fg_latency_section *section)
{
    uint64_t longest = 0;

    for (uint32_t i = held.n > NR_HOLDS ? held.n - NR_HOLDS : 0; i < held.n; i++) {
        const struct hold *hold = &held.holds[i % NR_HOLDS];
        uint64_t begin = hold->begin > section->begin ? hold->begin : section->begin;

        if (hold->end <= begin || !fg_latency_section_shows(section, hold->end - begin))
            continue;
        fg_latency_section_add(section, begin, hold->end - begin, "holds: ", hold->ran);
        if (hold->end - begin > longest) {
            longest = hold->end - begin;
            memcpy(section->ended_at, hold->ran, sizeof(section->ended_at));
        }
    }
}

FG_COLD static void keep(uint64_t now)
{
    struct fg_latency_section *section = fg_latency_section_new(wait.begin, now);

    if (!section)
        return;
    label_waiter(section->started_at);
    snprintf(section->ended_at, sizeof(section->ended_at), "holders too short to name");
    fg_latency_section_add(section, section->begin, 0, "waits: ", section->started_at);
    add_holds(section);
    fg_latency_section_add(section, section->end, 0, "gets it: ", section->started_at);
    fg_latency_keep(&latency, section);
}

static void wait_ended(void)
{
    uint64_t now = fg_clock_now();
    int saved = errno;

    note_hold(now);
    if (fg_latency_reports(&latency, now - wait.begin))
        keep(now);
    wait.begin = 0;
    errno = saved;
}

/* Called instead of pthread_cond_timedwait() for every wait in the module that contains take_gil(). */
static int timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until)
{
    int result;

    if (cond != atomic_load_explicit(&watched, memory_order_relaxed))
        return pthread_cond_timedwait(cond, mutex, until);
    if (!wait.begin || wait.generation != atomic_load_explicit(&generation, memory_order_relaxed)) {
        wait.begin = fg_clock_now();
        wait.generation = atomic_load_explicit(&generation, memory_order_relaxed);
    }
    result = pthread_cond_timedwait(cond, mutex, until);
    /* The tracer may have been disabled meanwhile, or disabled and enabled again. */
    if (!fg_gil_is_locked(&gil) && cond == atomic_load_explicit(&watched, memory_order_relaxed) &&
        wait.generation == atomic_load_explicit(&generation, memory_order_relaxed))
        wait_ended();
    return result;
}

/* ---- enabling and disabling */

static int start(struct fg_interp *interp, const char **why)
{
    struct fg_gil found;
    int error = fg_gil_find(&found, why);

    (void)interp;
    if (error)
        return error;
    gil = found;
    memset(&held, 0, sizeof(held));
    error = fg_got_replace(&hook, (const void *)(uintptr_t)PyEval_AcquireThread, "pthread_cond_timedwait",
                           (void *)(uintptr_t)timedwait);
    if (error) {
        *why = "the call with which this CPython waits for its interpreter lock cannot be replaced";
        return -ENOTSUP;
    }
    atomic_fetch_add(&generation, 1);
    atomic_store(&watched, fg_gil_cond(&gil));
    return 0;
}

static void stop(void)
{
    atomic_store(&watched, NULL);
    fg_got_restore(&hook);
}

const struct fg_latency_tracer fg_tracer_gilwait = {
    .name = "gilwait",
    .what = "a thread waited for the interpreter lock",
    .latency = &latency,
    .start = start,
    .stop = stop,
};
