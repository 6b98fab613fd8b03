/* Preloaded by tests: a process kills itself with SIGKILL, or stops itself, at a given call that changes
 * files or processes.
 *
 * Calls are counted from kill_at() on. In a process that a test cannot reach, they are counted from the
 * KILL_AT_FILE-th file on that is created in the place that KILL_AT_PLACE names: a path, or the folder of
 * files without names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* When the process dies of its call: after it; or after half of the bytes that it writes. Only calls that
 * write are counted then. What is before a call is what is after the one before. Or it is stopped after
 * it. */
enum { AFTER, IN_HALF, STOP_AFTER };

static _Atomic long nr_left; /* calls until the fatal one; 0: not counting */
static _Atomic int moment;

__attribute__((visibility("default"))) void kill_at(long call, int when)
{
    moment = when;
    nr_left = call;
}

/* Return: how many more calls there may be. */
__attribute__((visibility("default"))) long kill_at_left(void)
{
    return nr_left;
}

static void die(void)
{
    if (moment == STOP_AFTER) {
        kill(getpid(), SIGSTOP);
        return;
    }
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

/* The path of a name in a folder that is open: of the folder itself for ".". */
static void join_path(int in, const char *name, char path[2 * PATH_MAX])
{
    char link[40];
    ssize_t bytes;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", in);
    bytes = in == AT_FDCWD || *name == '/' ? -1 : readlink(link, path, PATH_MAX);
    if (bytes < 0)
        snprintf(path, PATH_MAX, "%s", name);
    else
        snprintf(path + bytes, PATH_MAX, "%s%s", strcmp(name, ".") ? "/" : "", strcmp(name, ".") ? name : "");
}

/* A file is created. */
static void look_at_place(int in, const char *name)
{
    char path[2 * PATH_MAX];
    const char *place = getenv("KILL_AT_PLACE"), *file = getenv("KILL_AT_FILE"),
               *call = getenv("KILL_AT_CALL"), *when = getenv("KILL_AT_WHEN");
    static _Atomic long nr_files;

    join_path(in, name, path);
    if (place && file && call && when && strcmp(path, place) == 0 && ++nr_files == atol(file))
        kill_at(atol(call), atoi(when));
}

/* Return: whether this call is the fatal one. */
static bool is_fatal(bool writes)
{
    return nr_left && (writes || moment != IN_HALF) && --nr_left == 0;
}

static void *real(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (found == NULL)
        abort();
    return found;
}

/* WRAP(type of the result, name, parameters, arguments): a call that is made wholly or not at all. */
#define WRAP(type, name, parameters, arguments)                                                              \
    __attribute__((visibility("default"))) type name parameters                                              \
    {                                                                                                        \
        static type(*_Atomic next) parameters;                                                               \
        bool fatal = is_fatal(false);                                                                        \
        type result;                                                                                         \
                                                                                                             \
        if (next == NULL)                                                                                    \
            next = (type(*) parameters)real(#name);                                                          \
        result = next arguments;                                                                             \
        if (fatal)                                                                                           \
            die();                                                                                           \
        return result;                                                                                       \
    }

WRAP(int, rename, (const char *from, const char *to), (from, to))
WRAP(int, renameat, (int in, const char *from, int into, const char *to), (in, from, into, to))
WRAP(int, link, (const char *from, const char *to), (from, to))
WRAP(int, linkat, (int in, const char *from, int into, const char *to, int flags),
     (in, from, into, to, flags))
WRAP(int, symlink, (const char *target, const char *path), (target, path))
WRAP(int, unlink, (const char *path), (path))
WRAP(int, unlinkat, (int in, const char *path, int flags), (in, path, flags))
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode))
WRAP(int, rmdir, (const char *path), (path))
WRAP(int, ftruncate, (int fd, off_t bytes), (fd, bytes))
WRAP(int, ftruncate64, (int fd, off64_t bytes), (fd, bytes))
WRAP(int, truncate, (const char *path, off_t bytes), (path, bytes))
WRAP(int, truncate64, (const char *path, off64_t bytes), (path, bytes))
WRAP(ssize_t, sendfile64, (int to, int from, off64_t *at, size_t bytes), (to, from, at, bytes))
WRAP(ssize_t, copy_file_range, (int from, off64_t *at, int to, off64_t *there, size_t bytes, unsigned flags),
     (from, at, to, there, bytes, flags))

/* The kernel writes a page at a time, and a fatal signal ends it in between. */
#define WRAP_WRITE(name, parameters, arguments, halve)                                                       \
    __attribute__((visibility("default"))) ssize_t name parameters                                           \
    {                                                                                                        \
        static ssize_t(*_Atomic next) parameters;                                                            \
        bool fatal = is_fatal(true);                                                                         \
        ssize_t result;                                                                                      \
                                                                                                             \
        if (next == NULL)                                                                                    \
            next = (ssize_t(*) parameters)real(#name);                                                       \
        if (fatal && moment == IN_HALF) {                                                                    \
            halve;                                                                                           \
        }                                                                                                    \
        result = next arguments;                                                                             \
        if (fatal)                                                                                           \
            die();                                                                                           \
        return result;                                                                                       \
    }

WRAP_WRITE(write, (int fd, const void *data, size_t bytes), (fd, data, bytes), bytes /= 2)
WRAP_WRITE(pwrite, (int fd, const void *data, size_t bytes, off_t at), (fd, data, bytes, at), bytes /= 2)
WRAP_WRITE(pwrite64, (int fd, const void *data, size_t bytes, off64_t at), (fd, data, bytes, at), bytes /= 2)

static struct iovec half[8];

/* Has the first half of these pieces' bytes in `half`. Return: how many pieces these are. */
static int first_half(const struct iovec *pieces, int count)
{
    size_t left = 0;
    int i;

    if (count > (int)(sizeof(half) / sizeof(half[0])))
        abort();
    for (i = 0; i < count; i++)
        left += pieces[i].iov_len;
    left /= 2;
    for (i = 0; i < count && left; i++) {
        half[i] = pieces[i];
        if (half[i].iov_len > left)
            half[i].iov_len = left;
        left -= half[i].iov_len;
    }
    return i;
}

WRAP_WRITE(pwritev, (int fd, const struct iovec *pieces, int count, off_t at), (fd, pieces, count, at),
           count = first_half(pieces, count);
           pieces = half)
WRAP_WRITE(pwritev64, (int fd, const struct iovec *pieces, int count, off64_t at), (fd, pieces, count, at),
           count = first_half(pieces, count);
           pieces = half)

/* Each call of ptrace() may change what another process does. */
__attribute__((visibility("default"))) long ptrace(enum __ptrace_request request, ...)
{
    static long (*_Atomic next)(enum __ptrace_request, pid_t, void *, void *);
    bool fatal = is_fatal(false);
    void *address, *data;
    va_list more;
    long result;
    pid_t pid;

    va_start(more, request);
    pid = va_arg(more, pid_t);
    address = va_arg(more, void *);
    data = va_arg(more, void *);
    va_end(more);
    if (next == NULL)
        next = (long (*)(enum __ptrace_request, pid_t, void *, void *))real("ptrace");
    result = next(request, pid, address, data);
    if (fatal)
        die();
    return result;
}

/* Opening changes something if it creates. */
#define WRAP_OPEN(name, parameters, in, last, call)                                                          \
    __attribute__((visibility("default"))) int name parameters                                               \
    {                                                                                                        \
        bool creates = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE, fatal;                         \
        static int(*_Atomic next) parameters;                                                                \
        mode_t mode = 0;                                                                                     \
        va_list more;                                                                                        \
        int result;                                                                                          \
                                                                                                             \
        if (creates) {                                                                                       \
            va_start(more, last);                                                                            \
            mode = va_arg(more, mode_t);                                                                     \
            va_end(more);                                                                                    \
            look_at_place(in, path);                                                                         \
        }                                                                                                    \
        fatal = creates && is_fatal(false);                                                                  \
        if (next == NULL)                                                                                    \
            next = (int(*) parameters)real(#name);                                                           \
        result = next call;                                                                                  \
        if (fatal)                                                                                           \
            die();                                                                                           \
        return result;                                                                                       \
    }

WRAP_OPEN(open, (const char *path, int flags, ...), AT_FDCWD, flags, (path, flags, mode))
WRAP_OPEN(open64, (const char *path, int flags, ...), AT_FDCWD, flags, (path, flags, mode))
WRAP_OPEN(openat, (int in, const char *path, int flags, ...), in, flags, (in, path, flags, mode))
WRAP_OPEN(openat64, (int in, const char *path, int flags, ...), in, flags, (in, path, flags, mode))
