/* See run.h. A child that has no signal for its end sends none, and waits without __WALL or __WCLONE do
 * not see it (clone(2)). But execve(2) gives it SIGCHLD. So the child stays as it is, and has a child
 * of its own that runs the program. */
#define _GNU_SOURCE
#include "binding/native/run.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "binding/base/raise.h"

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

static int wait_for(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void run_and_wait(char **argv, char **environ)
{
    pid_t pid;

    signal(SIGCHLD, SIG_DFL); /* ignored, it would take the status away */
    pid = child_with(SIGCHLD);
    if (pid == 0)
        execute(argv, environ);
    _exit(pid < 0 ? 126 : wait_for(pid));
}

/* ---- */

static int run(char **argv, char **environ)
{
    sigset_t all, old;
    pid_t pid;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* no handler of the program runs in a child */
    pid = child_with(0);
    error = errno;
    if (pid == 0)
        run_and_wait(argv, environ);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return pid < 0 ? -error : wait_for(pid);
}

PyObject *fg_native_run(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *command, *environment;
    char **argv, **environ = NULL;
    int status = 0;

    if (!PyArg_ParseTuple(args, "O!O!:native_run", &PyTuple_Type, &command, &PyTuple_Type, &environment))
        return NULL;
    argv = array_of(command);
    environ = argv ? array_of(environment) : NULL;
    if (environ) {
        Py_BEGIN_ALLOW_THREADS
        status = run(argv, environ);
        Py_END_ALLOW_THREADS
    }
    PyMem_Free(argv);
    PyMem_Free(environ);
    if (!environ)
        return NULL;
    return status < 0 ? fg_raise_errno(status, NULL) : PyLong_FromLong(status);
}
