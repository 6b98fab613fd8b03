/* See run.h. A child that has no signal for its end sends none, and waits without __WALL or __WCLONE do
 * not see it (clone(2)). But execve(2) gives it SIGCHLD. So the child stays as it is, and has a child
 * of its own that runs the program. */
#define _GNU_SOURCE
#include "binding/native/run.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "binding/base/raise.h"
#include "engine/base/clock.h"

/* A child's status: its program did not end in time. As of timeout(1). */
#define TIMED_OUT 124
/* A program that is killed ends at once, but in the kernel it may hang, such as in a file system of a server
 * that is gone. Then it is left to init. */
#define KILLED_WAIT_NS 1000000000

/* The array of a tuple of bytes, to be freed with PyMem_Free(). Return: NULL with an exception. */
static char **array_of(PyObject *tuple)
{
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    char **array = PyMem_Calloc((size_t)n + 1, sizeof(array[0]));

    if (!array) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        array[i] = PyBytes_AsString(PyTuple_GET_ITEM(tuple, i));
        if (!array[i]) {
            PyMem_Free(array);
            return NULL;
        }
    }
    return array;
}

/* ---- in the children, which have a copy of the memory and no other thread: they may use only what a
 * handler of a signal may */

static void execute(char **argv, char **environ)
{
    sigset_t none;
    int null = open("/dev/null", O_RDWR);

    dup2(null, 0);
    dup2(null, 1);
    dup2(null, 2);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(argv[0], argv, environ);
    _exit(127);
}

/* Without the handlers that fork() has in the program. Returns as fork() does. */
static pid_t child_with(int signal_at_end)
{
    return (pid_t)syscall(SYS_clone, signal_at_end, NULL, NULL, NULL, NULL);
}

static int exit_status(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* Waits for the only child, whose SIGCHLD is blocked. Return: false: the time is over. */
static bool wait_until(pid_t pid, int64_t end_ns, int *status)
{
    sigset_t child;

    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    while (waitpid(pid, status, WNOHANG) == 0) {
        int64_t left_ns = end_ns - (int64_t)fg_clock_monotonic_ns();
        struct timespec left = {left_ns / 1000000000, left_ns % 1000000000};

        if (left_ns <= 0)
            return false;
        sigtimedwait(&child, NULL, &left);
    }
    return true;
}

static void run_and_wait(char **argv, char **environ, int64_t limit_ns)
{
    int status = 0;
    pid_t pid;

    signal(SIGCHLD, SIG_DFL); /* ignored, it would take the status away */
    pid = child_with(SIGCHLD);
    if (pid == 0)
        execute(argv, environ);
    if (pid < 0)
        _exit(126);
    if (wait_until(pid, (int64_t)fg_clock_monotonic_ns() + limit_ns, &status))
        _exit(exit_status(status));
    kill(pid, SIGKILL);
    wait_until(pid, (int64_t)fg_clock_monotonic_ns() + KILLED_WAIT_NS, &status);
    _exit(TIMED_OUT);
}

/* ---- */

static int wait_for(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR)
        continue;
    return exit_status(status);
}

/* Return: the exit status, or a negative errno: ETIMEDOUT: it was killed. */
static int run(char **argv, char **environ, int64_t limit_ns)
{
    int kept = errno, status;
    sigset_t all, old;
    pid_t pid;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* no handler of the program runs in a child */
    pid = child_with(0);
    status = pid < 0 ? -errno : 0;
    if (pid == 0)
        run_and_wait(argv, environ, limit_ns);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (pid > 0)
        status = wait_for(pid);
    errno = kept;
    return status == TIMED_OUT ? -ETIMEDOUT : status;
}

PyObject *fg_native_run(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *command, *environment;
    char **argv, **environ = NULL;
    double limit_s;
    int status = 0;

    if (!PyArg_ParseTuple(args, "O!O!d:native_run", &PyTuple_Type, &command, &PyTuple_Type, &environment,
                          &limit_s))
        return NULL;
    argv = array_of(command);
    environ = argv ? array_of(environment) : NULL;
    if (environ) {
        Py_BEGIN_ALLOW_THREADS
        status = run(argv, environ, (int64_t)(limit_s * 1e9));
        Py_END_ALLOW_THREADS
    }
    PyMem_Free(argv);
    PyMem_Free(environ);
    if (!environ)
        return NULL;
    return status < 0 ? fg_raise_errno(status, NULL) : PyLong_FromLong(status);
}
