/* Where a control socket lies: FOLDER/funcgraph-control-UID/PID-NUMBER.sock, the number at random. Where
 * somebody else has taken the folder's name, it is FOLDER/funcgraph-control-UID-NUMBER.
 *
 * Others may write in FOLDER (/dev/shm, /tmp). So the folder of sockets is opened once, without following a
 * link, its owner and mode are checked on the descriptor, and all that follows goes through that. */
#ifndef FG_CONTROL_PLACE_H
#define FG_CONTROL_PLACE_H

#include <limits.h>
#include <stddef.h>

#include "binding/control/own_fd.h"

#define FG_PLACE_NAME_BYTES 64u

struct fg_place {
    struct fg_own_fd socket; /* that listens */
    struct fg_own_fd folder_fd;
    char folder[PATH_MAX];
    char name[FG_PLACE_NAME_BYTES];
};

/**
 * fg_place_open() - Listen in the first folder where that works.
 * @folders: paths; NULL at the end
 * @why: gets the reason for each folder in which it does not
 *
 * Return: 0, or a negative errno.
 */
int fg_place_open(struct fg_place *place, const char *const *folders, char *why, size_t room);

/* Removes the sockets of the folder at which nobody listens any longer. */
void fg_place_sweep(const struct fg_place *place);

/* Removes the socket's file, and the folder if it is empty then. Changes nothing of @place. */
void fg_place_remove(const struct fg_place *place);

/* Closes both descriptors. */
void fg_place_close(struct fg_place *place);

#endif
