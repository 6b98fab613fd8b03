/* For a program that looks for the kernel's tracefs: it finds the folder that FG_TRACEFS names.
 *
 * What is below /sys/kernel/tracing is below that folder, /proc/kallsyms is its file kallsyms, FG_MOUNTS stands
 * for /proc/mounts, and the kernel's own tracer stays as it is. To be preloaded (LD_PRELOAD). */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#define TRACEFS "/sys/kernel/tracing"

/* The path that stands for one: in @space, of PATH_MAX bytes, or as it is. */
static const char *mapped(const char *path, char *space)
{
    const char *folder = getenv("FG_TRACEFS");
    size_t n = strlen(TRACEFS);

    if (!path || !folder)
        return path;
    if (strcmp(path, "/proc/kallsyms") == 0)
        snprintf(space, PATH_MAX, "%s/kallsyms", folder);
    else if (strcmp(path, "/proc/sys/kernel/ftrace_enabled") == 0)
        snprintf(space, PATH_MAX, "/dev/null");
    else if (strcmp(path, "/proc/mounts") == 0 || strcmp(path, "/proc/self/mounts") == 0)
        snprintf(space, PATH_MAX, "%s", getenv("FG_MOUNTS"));
    else if (strncmp(path, TRACEFS, n) == 0 && (path[n] == 0 || path[n] == '/'))
        snprintf(space, PATH_MAX, "%s%s", folder, path + n);
    else
        return path;
    return space;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static mode_t mode_of(int flags, va_list args)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
}

#define OPEN(name)                                                                                           \
    int name(const char *path, int flags, ...)                                                               \
    {                                                                                                        \
        char space[PATH_MAX];                                                                                \
        va_list args;                                                                                        \
        mode_t mode;                                                                                         \
                                                                                                             \
        va_start(args, flags);                                                                               \
        mode = mode_of(flags, args);                                                                         \
        va_end(args);                                                                                        \
        return REAL(name)(mapped(path, space), flags, mode);                                                 \
    }

OPEN(open)
OPEN(open64)

int __open64_2(const char *path, int flags)
{
    return open64(path, flags);
}

/* What is found has the path that was asked for. */
int glob64(const char *pattern, int flags, int (*error)(const char *path, int number), glob64_t *found)
{
    char space[PATH_MAX];
    const char *there = mapped(pattern, space);
    int result = REAL(glob64)(there, flags, error, found);
    size_t n = there == pattern ? 0 : strlen(getenv("FG_TRACEFS"));

    for (size_t i = 0; result == 0 && n && i < found->gl_pathc; i++) {
        char *path = NULL;

        if (asprintf(&path, "%s%s", TRACEFS, found->gl_pathv[i] + n) < 0)
            return GLOB_NOSPACE;
        free(found->gl_pathv[i]);
        found->gl_pathv[i] = path;
    }
    return result;
}

#define WITH_PATH(type, name, parameters, ...)                                                               \
    type name parameters                                                                                     \
    {                                                                                                        \
        char space[PATH_MAX];                                                                                \
                                                                                                             \
        return REAL(name)(mapped(path, space), ##__VA_ARGS__);                                               \
    }

WITH_PATH(FILE *, fopen, (const char *path, const char *mode), mode)
WITH_PATH(FILE *, fopen64, (const char *path, const char *mode), mode)
WITH_PATH(int, stat, (const char *path, struct stat *status), status)
WITH_PATH(int, stat64, (const char *path, struct stat64 *status), status)
WITH_PATH(int, lstat, (const char *path, struct stat *status), status)
WITH_PATH(int, lstat64, (const char *path, struct stat64 *status), status)
WITH_PATH(int, access, (const char *path, int mode), mode)
WITH_PATH(DIR *, opendir, (const char *path))
WITH_PATH(int, mkdir, (const char *path, mode_t mode), mode)
WITH_PATH(int, rmdir, (const char *path))
WITH_PATH(char *, realpath, (const char *path, char *resolved), resolved)
WITH_PATH(int, statfs, (const char *path, struct statfs *status), status)
