/* Promise: a file appears whole or not at all, also when its writer is killed, and none of its writer's
 * files is left beside it. Where no file can be nameless, or a nameless one gets no name, it appears all the
 * same. No link is followed, whenever it is made. */
#define _GNU_SOURCE
#undef NDEBUG
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tracedata/base/file_io.h"
#include "tracedata/base/new_file.h"

#define BYTES 100000

static char folder[] = "/tmp/funcgraph-test-XXXXXX";
static char path[64];
static bool no_tmpfile, no_link;

/* Stand before the C library's. */
int openat(int in, const char *name, int flags, ...)
{
    va_list arguments;
    mode_t mode;

    va_start(arguments, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if (no_tmpfile && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return (int)syscall(SYS_openat, in, name, flags, mode);
}

int linkat(int from, const char *old, int to, const char *name, int flags)
{
    if (no_link) {
        errno = EPERM;
        return -1;
    }
    return (int)syscall(SYS_linkat, from, old, to, name, flags);
}

static int nr_files(void)
{
    DIR *listing = opendir(folder);
    struct dirent *entry;
    int number = 0;

    assert(listing);
    while ((entry = readdir(listing)))
        number += entry->d_name[0] != '.';
    closedir(listing);
    return number;
}

static int write_file(char filling)
{
    static char data[BYTES];
    struct fg_new_file file;
    int error = fg_new_file_create(&file, path);

    if (error < 0)
        return error;
    memset(data, filling, sizeof(data));
    error = fg_file_write(file.fd, data, sizeof(data), 0);
    if (error == 0)
        return fg_new_file_publish(&file);
    fg_new_file_discard(&file);
    return error;
}

static void check_file(char filling)
{
    static char data[BYTES + 1];
    FILE *file = fopen(path, "r");

    assert(file);
    assert(fread(data, 1, sizeof(data), file) == BYTES);
    assert(data[0] == filling && data[BYTES - 1] == filling);
    fclose(file);
    assert(nr_files() == 1);
}

/* The child dies in the middle of a write: the kernel kills what writes beyond its limit. */
static void killed_in_the_middle(char filling)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        struct rlimit half = {BYTES / 2, BYTES / 2}, none = {0, 0};

        signal(SIGXFSZ, SIG_DFL);
        setrlimit(RLIMIT_CORE, &none);
        setrlimit(RLIMIT_FSIZE, &half);
        write_file(filling);
        write_file(filling); /* the first one may have been shortened to the limit */
        _exit(0);
    }
    assert(waitpid(child, &status, 0) == child);
    assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
}

static void appears_and_replaces(void)
{
    struct stat status;
    mode_t mask = umask(027);

    assert(write_file('a') == 0);
    check_file('a');
    assert(stat(path, &status) == 0 && (status.st_mode & 0777) == 0640);
    umask(mask);
    assert(write_file('b') == 0);
    check_file('b');
    unlink(path);
}

static void is_discarded(void)
{
    struct fg_new_file file;

    assert(fg_new_file_create(&file, path) == 0);
    fg_new_file_discard(&file);
    assert(nr_files() == 0);
}

static void ends_with(struct fg_new_file *file, int expected)
{
    assert(fg_file_write(file->fd, "text", 4, 0) == 0);
    assert(fg_new_file_publish(file) == expected);
}

static void link_of_its_name_stays(void)
{
    struct fg_new_file file;

    assert(symlink("other", path) == 0);
    assert(fg_new_file_create(&file, path) == -ELOOP);
    unlink(path);
    assert(fg_new_file_create(&file, path) == 0);
    assert(symlink("other", path) == 0);
    ends_with(&file, -ELOOP);
    assert(nr_files() == 1);
    unlink(path);
}

static void link_in_its_path_is_not_followed(void)
{
    struct fg_new_file file;
    char link[80], behind[100];

    snprintf(link, sizeof(link), "%s.link", folder);
    snprintf(behind, sizeof(behind), "%s/file", link);
    assert(symlink(folder, link) == 0);
    assert(fg_new_file_create(&file, behind) == -ENOTDIR);
    unlink(link);
    assert(nr_files() == 0);
}

static void exchanged_folder_gets_nothing(void)
{
    struct fg_new_file file;
    char moved[80];

    snprintf(moved, sizeof(moved), "%s.moved", folder);
    assert(fg_new_file_create(&file, path) == 0);
    assert(rename(folder, moved) == 0 && mkdir(folder, 0700) == 0);
    ends_with(&file, 0);
    assert(nr_files() == 0);
    assert(rmdir(folder) == 0 && rename(moved, folder) == 0);
    assert(nr_files() == 1);
    unlink(path);
}

/* Only root makes files of other users. */
static void file_of_another_user_stays(void)
{
    struct fg_new_file file;
    struct stat status;

    if (geteuid() != 0)
        return;
    assert(chmod(folder, 01777) == 0);
    close(open(path, O_WRONLY | O_CREAT, 0644));
    assert(chown(path, 12345, 12345) == 0);
    assert(fg_new_file_create(&file, path) == -EACCES);
    assert(chmod(folder, 0755) == 0);
    assert(fg_new_file_create(&file, path) == 0);
    ends_with(&file, 0);
    assert(stat(path, &status) == 0 && status.st_uid == 0);
    unlink(path);
}

int main(void)
{
    assert(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/file", folder);

    appears_and_replaces();
    is_discarded();
    killed_in_the_middle('c');
    assert(nr_files() == 0);
    assert(write_file('d') == 0);
    killed_in_the_middle('e');
    check_file('d');
    unlink(path);

    link_of_its_name_stays();
    link_in_its_path_is_not_followed();
    exchanged_folder_gets_nothing();
    file_of_another_user_stays();

    no_link = true;
    appears_and_replaces();
    no_link = false;
    no_tmpfile = true;
    appears_and_replaces();
    is_discarded();

    assert(rmdir(folder) == 0);
    return 0;
}
