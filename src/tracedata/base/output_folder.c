/* See output_folder.h. */
#define _GNU_SOURCE
#include "tracedata/base/output_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define FOLDER_FLAGS (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* Replaces a folder's descriptor by that of a folder in it. Return: 0 or a negative errno. */
static int descend(int *folder, const char *part, size_t bytes)
{
    char name[NAME_MAX + 1];
    int next;

    if (bytes > NAME_MAX)
        return -ENAMETOOLONG;
    memcpy(name, part, bytes);
    name[bytes] = 0;
    next = openat(*folder, name, FOLDER_FLAGS);
    if (next < 0)
        return -errno;
    close(*folder);
    *folder = next;
    return 0;
}

int fg_output_folder_open(const char *path, const char **name)
{
    int folder = open(*path == '/' ? "/" : ".", FOLDER_FLAGS), error = 0;
    const char *part = path + strspn(path, "/"), *slash;

    *name = part;
    if (folder < 0)
        return -errno;
    while (error == 0 && (slash = strchr(part, '/'))) {
        error = descend(&folder, part, (size_t)(slash - part));
        part = slash + strspn(slash, "/");
    }
    if (error == 0 && *part == 0)
        error = -EISDIR;
    if (error < 0) {
        close(folder);
        return error;
    }
    *name = part;
    return folder;
}

bool fg_output_is_shared(int folder)
{
    struct stat status;

    return fstat(folder, &status) < 0 || (status.st_uid != 0 && status.st_uid != geteuid()) ||
           (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

int fg_output_check(int folder, const struct stat *status)
{
    if (S_ISDIR(status->st_mode))
        return -EISDIR;
    if (S_ISLNK(status->st_mode))
        return -ELOOP;
    if (!S_ISREG(status->st_mode))
        return -ENOTSUP;
    return status->st_uid != geteuid() && fg_output_is_shared(folder) ? -EACCES : 0;
}

void fg_output_remove(const char *path)
{
    const char *name;
    int folder = fg_output_folder_open(path, &name);

    if (folder < 0)
        return;
    unlinkat(folder, name, 0);
    close(folder);
}
