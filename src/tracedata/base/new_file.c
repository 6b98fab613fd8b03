/* See new_file.h. */
#define _GNU_SOURCE
#include "tracedata/base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracedata/base/file_io.h"
#include "tracedata/base/output_folder.h"

#define TEMPORARY_TRIES 100
#define COPY_BYTES 16384u

/* The file to replace must be a regular file that we may replace, or not exist. */
static int check_target(const struct fg_new_file *file)
{
    struct stat status;

    if (fstatat(file->folder, file->name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -errno;
    return fg_output_check(file->folder, &status);
}

/* Calls `make` with NAME.PID.N.tmp for each N, until it returns 0 or more. `funcgraph status --clean` knows
 * these names. */
static int with_temporary(struct fg_new_file *file, int (*make)(struct fg_new_file *file))
{
    size_t bytes = strlen(file->name) + 40;
    int result = -EEXIST;

    file->temporary = malloc(bytes);
    if (file->temporary == NULL)
        return -ENOMEM;
    for (int i = 0; i < TEMPORARY_TRIES && result == -EEXIST; i++) {
        snprintf(file->temporary, bytes, "%s.%d.%d.tmp", file->name, (int)getpid(), i);
        result = make(file) < 0 ? -errno : 0;
    }
    if (result < 0) {
        free(file->temporary);
        file->temporary = NULL;
    }
    return result;
}

static int create_named(struct fg_new_file *file)
{
    file->fd = openat(file->folder, file->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return file->fd;
}

static int create(struct fg_new_file *file, const char *path)
{
    const char *name;
    int error;

    file->folder = fg_output_folder_open(path, &name);
    if (file->folder < 0)
        return file->folder;
    if (strlen(name) > NAME_MAX)
        return -ENAMETOOLONG;
    strcpy(file->name, name);
    error = check_target(file);
    if (error < 0)
        return error;
    file->fd = openat(file->folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    return file->fd >= 0 ? 0 : with_temporary(file, create_named);
}

int fg_new_file_create(struct fg_new_file *file, const char *path)
{
    int error;

    *file = (struct fg_new_file){.fd = -1, .folder = -1};
    error = create(file, path);
    if (error < 0)
        fg_new_file_discard(file);
    return error;
}

static int link_nameless(const struct fg_new_file *file, const char *name)
{
    char path[40];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", file->fd);
    if (linkat(AT_FDCWD, path, file->folder, name, AT_SYMLINK_FOLLOW) == 0)
        return 0;
    /* Without /proc. It needs a privilege before Linux 6.10. */
    return errno == EEXIST ? -1 : linkat(file->fd, "", file->folder, name, AT_EMPTY_PATH);
}

static int link_temporary(struct fg_new_file *file)
{
    return link_nameless(file, file->temporary);
}

static int copy_contents(int from, int to)
{
    char buffer[COPY_BYTES];
    struct stat status;

    if (fstat(from, &status) < 0)
        return -errno;
    for (uint64_t at = 0, end = (uint64_t)status.st_size; at < end;) {
        size_t bytes = end - at < COPY_BYTES ? (size_t)(end - at) : COPY_BYTES;
        int error = fg_file_read(from, buffer, bytes, at);

        if (error == 0)
            error = fg_file_write(to, buffer, bytes, at);
        if (error < 0)
            return error;
        at += bytes;
    }
    return 0;
}

/* A sandbox may forbid to give a nameless file a name. */
static int copy_to_temporary(struct fg_new_file *file)
{
    int nameless = file->fd;
    int error = with_temporary(file, create_named);

    if (error == 0)
        error = copy_contents(nameless, file->fd);
    close(nameless);
    return error;
}

/* On some file systems, close() is the first to report a failed write. */
static int flush(int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

    return copy < 0 || close(copy) < 0 ? -errno : 0;
}

static int publish(struct fg_new_file *file)
{
    int error = flush(file->fd);

    if (error == 0 && file->temporary == NULL) {
        if (link_nameless(file, file->name) == 0)
            return 0;
        /* There is a file of that name. The link has a name of its own until it replaces that. */
        error = errno == EEXIST ? with_temporary(file, link_temporary) : -errno;
        if (error < 0)
            error = copy_to_temporary(file);
        if (error == 0)
            error = flush(file->fd);
    }
    if (error == 0)
        error = check_target(file);
    if (error == 0 && renameat(file->folder, file->temporary, file->folder, file->name) < 0)
        error = -errno;
    if (error == 0) {
        free(file->temporary);
        file->temporary = NULL;
    }
    return error;
}

int fg_new_file_publish(struct fg_new_file *file)
{
    int error = publish(file);

    fg_new_file_discard(file);
    return error;
}

void fg_new_file_discard(struct fg_new_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    if (file->temporary)
        unlinkat(file->folder, file->temporary, 0);
    free(file->temporary);
    if (file->folder >= 0)
        close(file->folder);
    *file = (struct fg_new_file){.fd = -1, .folder = -1};
}
