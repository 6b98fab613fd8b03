/* A file that appears under its name when it is whole, or not at all. Until then it has no name where the
 * file system can do that (O_TMPFILE): a process that is killed leaves nothing behind. */
#ifndef FG_NEW_FILE_H
#define FG_NEW_FILE_H

#include <limits.h>

struct fg_new_file {
    int fd;
    int folder;              /* that it is created in; all names are names there */
    char name[NAME_MAX + 1]; /* its later name */
    char *temporary;         /* its name so far; NULL: it has none */
};

/**
 * fg_new_file_create() - Create a file without contents.
 * @path: the later name, without symbolic links
 *
 * Return: 0; -EISDIR or -ENOTSUP: @path is a folder, a device or the like; -ELOOP, -EACCES: as
 * fg_output_check(); or another negative errno.
 */
int fg_new_file_create(struct fg_new_file *file, const char *path);

/**
 * fg_new_file_publish() - Give the file its name, and close it. A file of that name is replaced, a link too.
 *
 * Return: 0; or a negative errno, and nothing has changed under that name.
 */
int fg_new_file_publish(struct fg_new_file *file);

/* Closes the file and removes it. */
void fg_new_file_discard(struct fg_new_file *file);

#endif
