/* A descriptor that a child keeps open although whoever starts it has all others closed. */
#ifndef FG_ENVIRON_DESCRIPTOR_H
#define FG_ENVIRON_DESCRIPTOR_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

/* How a function that starts a program gets the descriptors to close: the argument, and how one
 * descriptor is left out. */
struct fg_closing {
    Py_ssize_t position; /* -1: it has only a keyword */
    const char *keyword; /* NULL: it has only a position */

    /* Return: the argument to pass instead of `argument`, a new reference. NULL without an exception: the
     * argument keeps the descriptor, or the function does not accept it and will raise; or the descriptor is
     * another file by now. */
    PyObject *(*spare)(PyObject *module, PyObject *argument, int descriptor);
};

extern const struct fg_closing fg_close_all;     /* of _posixsubprocess.fork_exec: those to keep, sorted */
extern const struct fg_closing fg_close_actions; /* of posix.posix_spawn: file_actions */

/* Return: whether it is a memfd that nobody can change. */
bool fg_is_sealed(int fd);

#endif
