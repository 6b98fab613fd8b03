/* What a server is made from; also in a fork's child. */
#ifndef FG_CONTROL_PLAN_H
#define FG_CONTROL_PLAN_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

#include "binding/control/handler.h"

#define FG_PLAN_FOLDERS 8

struct fg_plan {
    struct fg_handler handler;
    char *handler_text;                 /* its two names */
    char *folders[FG_PLAN_FOLDERS + 1]; /* NULL at the end */
    bool follows_fork;
};

/**
 * fg_plan_make() - Make a plan of Python's arguments.
 * @folders: a tuple of paths
 * @handler: "module:function"
 *
 * Return: the plan; NULL with an exception.
 */
struct fg_plan *fg_plan_make(PyObject *folders, const char *handler, bool follows_fork);

/* NULL is no plan. Without the GIL too. */
void fg_plan_free(void *plan);

#endif
