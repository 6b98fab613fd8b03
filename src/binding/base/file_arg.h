/* An argument that is a file: its path, or the descriptor of an open one, as os.stat() takes it. */
#ifndef FG_BINDING_FILE_ARG_H
#define FG_BINDING_FILE_ARG_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

struct fg_file_arg {
    int fd;         /* -1: the file has a path */
    PyObject *path; /* bytes; NULL: it has a descriptor */
};

/* For "O&" of PyArg_Parse. The file is let go of by fg_file_arg_clear(), also if parsing fails later. */
int fg_file_arg_convert(PyObject *object, void *file);
void fg_file_arg_clear(struct fg_file_arg *file);

#endif
