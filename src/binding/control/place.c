/* See place.h. */
#define _GNU_SOURCE
#include "binding/control/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define PREFIX "funcgraph-control-" /* control/place.py has these names too */
#define SUFFIX ".sock"
#define BACKLOG 128
#define ATTEMPTS 10 /* other processes may remove the folder when its last socket goes */

/* Return: a number that no other process of the same id, and no other socket of this one, has. Short: clients
 * in other languages connect by the path, of which 107 bytes fit. */
static uint32_t unique_number(void)
{
    uint32_t number = 0;
    struct timespec now;

    if (getrandom(&number, sizeof(number), GRND_NONBLOCK) == (ssize_t)sizeof(number))
        return number;
    clock_gettime(CLOCK_MONOTONIC, &now); /* the kernel has no random numbers yet */
    return (uint32_t)now.tv_nsec ^ (uint32_t)now.tv_sec << 16 ^ (uint32_t)getpid();
}

/* ---- the folder */

/* Why a folder is not ours alone; NULL: it is. */
static const char *flaw_of(int fd)
{
    struct stat facts;

    if (fstat(fd, &facts) != 0)
        return strerror(errno);
    if (facts.st_uid != geteuid())
        return "another user owns it";
    if (facts.st_mode & 077)
        return "others may use it";
    return NULL;
}

/* Return: a descriptor of what is at @path, if that is a folder of ours alone; a negative errno with the
 * reason. -EEXIST: it is something else. */
static int open_present(const char *path, const char **why)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0) {
        int error = errno;

        *why = error == ELOOP || error == ENOTDIR ? "it is no folder" : strerror(error);
        return error == ELOOP || error == ENOTDIR || error == EACCES ? -EEXIST : -error;
    }
    *why = flaw_of(fd);
    if (!*why)
        return fd;
    close(fd);
    return -EEXIST;
}

/* As open_present(), after making the folder if there is none. */
static int open_folder(const char *path, const char **why)
{
    bool is_new = mkdir(path, 0700) == 0;
    int fd;

    if (!is_new && errno != EEXIST) {
        *why = strerror(errno);
        return -errno;
    }
    fd = open_present(path, why);
    if (!is_new)
        return fd;
    if (fd < 0) { /* no descriptor is left, or the file system gives it to another user: no name is better */
        rmdir(path);
        return -EACCES;
    }
    (void)fchmod(fd, 0700); /* the umask may have taken bits away */
    return fd;
}

/* Writes the path of the folder of sockets in @base; @number other than 0: one of a name of its own. Return:
 * whether it fits. */
static bool name_folder(struct fg_place *place, const char *base, uint32_t number)
{
    const size_t room = sizeof(place->folder);
    int bytes = number
                    ? snprintf(place->folder, room, "%s/" PREFIX "%u-%08x", base, (unsigned)geteuid(), number)
                    : snprintf(place->folder, room, "%s/" PREFIX "%u", base, (unsigned)geteuid());

    return bytes > 0 && (size_t)bytes < room;
}

/* ---- the socket */

/* The address of a name in a folder. Through the folder's descriptor it fits, however long its path is. */
static struct sockaddr_un address_of(int folder_fd, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", folder_fd, name);
    return address;
}

/* Listens under another name first: a file at which nobody listens is removed by whoever finds it.
 *
 * No name is ever used twice. So whoever has found that nobody listens can remove the file later: it is not
 * another one by then. And processes in containers, which share the folder, may have the same number. */
static int listen_in(struct fg_place *place)
{
    char fresh[FG_PLACE_NAME_BYTES];
    uint32_t number = unique_number();
    struct sockaddr_un address;
    int folder = place->folder_fd.fd, error;

    place->socket = fg_own_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (place->socket.fd < 0)
        return -errno;
    (void)snprintf(place->name, sizeof(place->name), "%d-%08x" SUFFIX, (int)getpid(), number);
    (void)snprintf(fresh, sizeof(fresh), "%d-%08x.new", (int)getpid(), number);
    address = address_of(folder, fresh);
    (void)fchmod(place->socket.fd, 0600); /* bind() gives the file the socket's mode */
    if (bind(place->socket.fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
        listen(place->socket.fd, BACKLOG) == 0 && renameat(folder, fresh, folder, place->name) == 0)
        return 0;
    error = -errno;
    unlinkat(folder, fresh, 0);
    fg_own_fd_close(&place->socket);
    return error;
}

/* ---- what dead processes left */

static bool is_stale(int folder_fd, const char *name)
{
    struct sockaddr_un address = address_of(folder_fd, name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool is_refused =
        fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 && errno == ECONNREFUSED;

    if (fd >= 0)
        close(fd);
    return is_refused;
}

void fg_place_sweep(const struct fg_place *place)
{
    int fd = openat(place->folder_fd.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    if (!folder) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while ((entry = readdir(folder))) {
        size_t bytes = strlen(entry->d_name), end = sizeof(SUFFIX) - 1;

        if (bytes > end && bytes < FG_PLACE_NAME_BYTES && strcmp(entry->d_name + bytes - end, SUFFIX) == 0 &&
            strcmp(entry->d_name, place->name) != 0 && is_stale(place->folder_fd.fd, entry->d_name))
            unlinkat(place->folder_fd.fd, entry->d_name, 0);
    }
    closedir(folder);
}

/* ---- both */

/* Listens in a folder of the user's in @base. Who takes its name first, or puts something else there, keeps
 * nobody away: the next attempt is at a name that cannot be known before. Clients find a folder by the
 * beginning of its name, and by its owner.
 *
 * Return: 0; a negative errno with the reason. */
static int open_in(struct fg_place *place, const char *base, const char **why)
{
    uint32_t number = 0;
    int error = -EEXIST;

    for (int i = 0; i < ATTEMPTS; i++) {
        if (!name_folder(place, base, number)) {
            *why = "the path is too long";
            return -ENAMETOOLONG;
        }
        error = open_folder(place->folder, why);
        if (error == -EEXIST)
            number = unique_number() | 1;
        if (error == -EEXIST || error == -ENOENT)
            continue;
        if (error < 0)
            return error;
        place->folder_fd = fg_own_fd(error);
        error = listen_in(place);
        if (error == 0)
            return 0;
        *why = strerror(-error);
        fg_own_fd_close(&place->folder_fd);
        if (error != -ENOENT)
            break;
    }
    return error;
}

int fg_place_open(struct fg_place *place, const char *const *folders, char *why, size_t room)
{
    size_t at = 0;
    int error = -ENOENT;

    *place = (struct fg_place){.socket = FG_OWN_FD_NONE, .folder_fd = FG_OWN_FD_NONE};
    *why = 0;
    for (; *folders; folders++) {
        const char *reason = "";
        int length;

        error = open_in(place, *folders, &reason);
        if (error == 0)
            return 0;
        length = snprintf(why + at, room - at, "%s%s: %s", at ? "; " : "", place->folder, reason);
        at = length < 0 || (size_t)length >= room - at ? room - 1 : at + (size_t)length;
    }
    return error;
}

void fg_place_remove(const struct fg_place *place)
{
    if (!fg_own_fd_is_open(&place->folder_fd) || unlinkat(place->folder_fd.fd, place->name, 0) != 0)
        return;
    rmdir(place->folder); /* fails while other processes have sockets there */
}

void fg_place_close(struct fg_place *place)
{
    fg_own_fd_close(&place->socket);
    fg_own_fd_close(&place->folder_fd);
}
