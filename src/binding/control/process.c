/* See process.h.
 *
 * The thread ends before a fork and begins again after it. So the child finds the server at rest, and CPython
 * counts no thread of ours when it warns of forks with threads (3.12 and later). */
#define _GNU_SOURCE
#include "binding/control/process.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "binding/control/engine_waits.h"

#define PATIENCE_MS 1000 /* for a request that runs when the thread is to end */

/* Global because hooks of fork() get no argument. Whoever changes the server takes it first: a thread of a
 * build without the GIL may do the same. */
static struct {
    _Atomic(struct fg_server *) server; /* NULL: there is none, or somebody has taken it */
    _Atomic(struct fg_server *) paused; /* by a fork */
    _Atomic uint32_t wakers; /* threads in fg_process_wake(): the server stays until they have left */
    _Atomic int loader;      /* the thread whose end forks wait for; 0: none */
    pthread_once_t once;
    /* The main thread alone uses these. */
    bool is_forking;
    PyFrameObject *caller; /* of the fork that has paused the server, and the instruction that it is at */
    int instruction;
} process = {.once = PTHREAD_ONCE_INIT};

static struct fg_server *take(void)
{
    return atomic_exchange(&process.server, NULL);
}

/* False: there is another one by now. */
static bool put(struct fg_server *server)
{
    struct fg_server *none = NULL;

    return atomic_compare_exchange_strong(&process.server, &none, server);
}

void fg_process_wake(void)
{
    const struct fg_server *server;

    atomic_fetch_add(&process.wakers, 1);
    server = atomic_load(&process.server);
    if (server)
        fg_server_wake(server);
    atomic_fetch_sub(&process.wakers, 1);
}

/* After take(). */
static void let_wakers_leave(void)
{
    while (atomic_load(&process.wakers))
        sched_yield();
}

/* ---- starting and stopping */

/* Return: a server that runs, with @plan; NULL with an error and perhaps its reason. */
static struct fg_server *make(struct fg_plan *plan, bool sweeps, int *error, char *why)
{
    struct fg_server *server = calloc(1, sizeof(*server));

    *why = 0;
    *error = -ENOMEM;
    if (!server)
        return NULL;
    server->answer_request = fg_handler_request;
    server->news = fg_engine_waits_request;
    server->thread_begun = fg_engine_waits_hide_thread;
    server->context = plan; /* the handler is its first member */
    plan->handler.woken = fg_process_wake;
    server->epoll = server->wakes = server->wake = FG_OWN_FD_NONE;
    *error = fg_place_open(&server->place, (const char *const *)plan->folders, why, FG_PROCESS_WHY_BYTES);
    if (*error == 0 && sweeps)
        fg_place_sweep(&server->place);
    if (*error == 0)
        *error = fg_server_open(server);
    if (*error == 0)
        *error = fg_server_run(server);
    if (*error == 0) {
        server->release = fg_plan_free;
        return server;
    }
    fg_place_remove(&server->place);
    fg_server_free(server);
    return NULL;
}

static bool is_own_thread(const struct fg_server *server)
{
    return server->has_thread && pthread_equal(server->thread, pthread_self());
}

/* Ends the thread. False: it is in the middle of a request, or is the caller. */
static bool end_thread(struct fg_server *server)
{
    bool has_ended;

    fg_server_halt(server);
    if (is_own_thread(server))
        return false;
    Py_BEGIN_ALLOW_THREADS
    has_ended = fg_server_join(server, PATIENCE_MS);
    Py_END_ALLOW_THREADS
    return has_ended;
}

static void stop(struct fg_server *server)
{
    let_wakers_leave();
    fg_place_remove(&server->place);
    (void)end_thread(server);
    if (is_own_thread(server)) /* it ends after its answer: who gets that must find no socket */
        fg_place_close(&server->place);
    fg_server_leave(server);
}

/* Any fork(), also one that CPython knows nothing of. */
static void forget_in_child(void)
{
    struct fg_server *server = atomic_load(&process.server), *paused = atomic_load(&process.paused);

    atomic_store(&process.wakers, 0); /* threads that the child does not have */
    if (server)
        fg_server_forget(server);
    if (paused)
        fg_server_forget(paused);
}

static void follow_forks(void)
{
    (void)pthread_atfork(NULL, NULL, forget_in_child);
}

static struct fg_server *present(void)
{
    struct fg_server *server = atomic_load(&process.server);

    return server ? server : atomic_load(&process.paused);
}

int fg_process_start(struct fg_plan *plan, char why[FG_PROCESS_WHY_BYTES])
{
    struct fg_server *server = present();
    int error;

    if (server) {
        ((struct fg_plan *)server->context)->follows_fork |= plan->follows_fork;
        fg_plan_free(plan);
        return 0;
    }
    pthread_once(&process.once, follow_forks);
    server = make(plan, true, &error, why);
    if (!server)
        fg_plan_free(plan);
    else if (!put(server))
        stop(server);
    return error;
}

bool fg_process_stop(void)
{
    struct fg_server *server = take();

    if (!server)
        server = atomic_exchange(&process.paused, NULL);
    if (server)
        stop(server);
    return server != NULL;
}

const struct fg_place *fg_process_place(void)
{
    const struct fg_server *server = present();

    return server ? &server->place : NULL;
}

/* ---- forks */

static bool is_main_thread(void)
{
    return (pid_t)syscall(SYS_gettid) == getpid();
}

void fg_process_hold_forks(void)
{
    atomic_store(&process.loader, (int)syscall(SYS_gettid));
}

/* Return: whether there was one. */
static bool wait_for_loader(void)
{
    static const struct timespec pause = {.tv_nsec = 1000000};
    int tid = atomic_load(&process.loader);

    if (tid == 0 || tid == (int)syscall(SYS_gettid))
        return false;
    Py_BEGIN_ALLOW_THREADS
    for (int i = 0; i < PATIENCE_MS && syscall(SYS_tgkill, getpid(), tid, 0) == 0; i++)
        nanosleep(&pause, NULL);
    Py_END_ALLOW_THREADS
    atomic_store(&process.loader, 0);
    return true;
}

static void pause_server(void)
{
    struct fg_server *server = take();

    if (server && end_thread(server))
        atomic_store(&process.paused, server);
    else if (server)
        (void)put(server); /* the child has none of it */
}

void fg_process_before_fork(void)
{
    (void)wait_for_loader();
    if (is_main_thread())
        process.is_forking = true;
    pause_server();
    /* That lets other threads run: a loader may have begun, and have started a server. */
    if (wait_for_loader())
        pause_server();
}

static void remember_caller(void)
{
    Py_XSETREF(process.caller, PyThreadState_GetFrame(PyThreadState_Get()));
    process.instruction = process.caller ? PyFrame_GetLasti(process.caller) : 0;
}

/* Whether the main thread still is inside the call that forks: in a function of Python that was registered to
 * be called after it. */
static bool is_in_fork(void)
{
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get()), *back;
    bool is_called = frame && frame != process.caller;

    while (frame && frame != process.caller) {
        back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    is_called = is_called && frame && PyFrame_GetLasti(frame) == process.instruction;
    Py_XDECREF(frame);
    return is_called;
}

/* Has the thread of a server run again that a fork has paused. */
static void resume(void)
{
    struct fg_server *server = atomic_exchange(&process.paused, NULL);

    if (is_main_thread())
        Py_CLEAR(process.caller);
    if (server && (fg_server_run(server) != 0 || !put(server)))
        stop(server); /* no thread can be had; or another server was started meanwhile */
}

static int go_on(void *Py_UNUSED(arg))
{
    if (process.is_forking)
        return 0; /* it is queued again after the fork */
    if (!is_in_fork() || Py_AddPendingCall(go_on, NULL) != 0)
        resume();
    return 0;
}

/* CPython 3.12 and 3.13 count the threads after this, and after other functions that may be in Python. So the
 * main thread goes on later, at its next instruction. Another thread is counted itself. */
void fg_process_after_fork_in_parent(void)
{
    struct fg_server *busy = atomic_load(&process.server);
    bool is_queued = false;

    if (busy)
        fg_server_go_on(busy);
    if (is_main_thread()) {
        process.is_forking = false;
        if (!atomic_load(&process.paused))
            return;
        remember_caller();
        is_queued = Py_AddPendingCall(go_on, NULL) == 0;
    }
    if (!is_queued)
        resume();
}

/* A server in the middle of a request is lost memory here: no thread will end the request. */
void fg_process_after_fork_in_child(void)
{
    struct fg_server *former = atomic_exchange(&process.paused, NULL), *busy = take(), *server = NULL;
    struct fg_plan *plan = former ? former->context : busy ? busy->context : NULL;
    char why[FG_PROCESS_WHY_BYTES];
    int error;

    process.is_forking = false;
    atomic_store(&process.loader, 0);
    Py_CLEAR(process.caller);
    if (former) {
        former->release = NULL;
        fg_server_free(former);
    }
    if (plan && plan->follows_fork)
        server = make(plan, false, &error, why);
    if (server)
        atomic_store(&process.server, server);
    else
        fg_plan_free(plan);
}
