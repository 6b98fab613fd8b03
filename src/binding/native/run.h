/* Running a program that the traced one does not notice. */
#ifndef FG_BINDING_RUN_H
#define FG_BINDING_RUN_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *fg_native_run(PyObject *module, PyObject *args);

#define FG_RUN_ROW                                                                                           \
    {                                                                                                        \
        "native_run", fg_native_run, METH_VARARGS,                                                           \
            "native_run(argv, environ, limit_s) -> int: run a program, and return its exit status. No "      \
            "SIGCHLD is sent, and no wait of the process sees it. TimeoutError: it did not end in time, "    \
            "and was killed."                                                                                \
    }

#endif
