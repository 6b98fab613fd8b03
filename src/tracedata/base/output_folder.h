/* The folder that a file is written into. Between a look at a path and a write to it, who may write in one of
 * its folders can put a symbolic link into the path. So outputs are opened, linked and renamed in one
 * descriptor of their folder, and no link is followed on the way there. Links that a person may use are
 * resolved before, by funcgraph/output_file.py, which says which these are. */
#ifndef FG_OUTPUT_FOLDER_H
#define FG_OUTPUT_FOLDER_H

#include <stdbool.h>
#include <sys/stat.h>

/**
 * fg_output_folder_open() - Open the folder of a path.
 * @path: of a file, which need not exist
 * @name: set to the last part of @path
 *
 * Return: a descriptor for the calls of the *at() family; -ENOTDIR: a part of the path is no folder, or a
 * link; or another negative errno.
 */
int fg_output_folder_open(const char *path, const char **name);

/* Return: whether somebody else may add, replace and remove files there. */
bool fg_output_is_shared(int folder);

/**
 * fg_output_check() - Check whether a file in a folder may be replaced or written to.
 * @folder: of fg_output_folder_open()
 * @status: of the file itself
 *
 * As the kernel's fs.protected_regular, in each folder in which others may write: who puts a file of theirs
 * there in advance keeps what we write, and can change it.
 *
 * Return: 0; -EISDIR, -ENOTSUP: it is no regular file; -ELOOP: it is a link; -EACCES: others may write in the
 * folder, and the file is not ours; or another negative errno.
 */
int fg_output_check(int folder, const struct stat *status);

/* Removes a file that was just created. */
void fg_output_remove(const char *path);

#endif
