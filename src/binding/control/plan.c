/* See plan.h. */
#include "binding/control/plan.h"

#include <stdlib.h>
#include <string.h>

void fg_plan_free(void *pointer)
{
    struct fg_plan *plan = pointer;

    for (int i = 0; plan && i < FG_PLAN_FOLDERS; i++)
        free(plan->folders[i]);
    if (plan)
        free(plan->handler_text);
    free(plan);
}

/* Return: 0, or -1 with an exception. */
static int take_handler(struct fg_plan *plan, const char *text)
{
    char *colon;

    plan->handler_text = strdup(text);
    if (!plan->handler_text) {
        PyErr_NoMemory();
        return -1;
    }
    colon = strchr(plan->handler_text, ':');
    if (!colon) {
        PyErr_Format(PyExc_ValueError, "invalid handler '%s': must be MODULE:FUNCTION", text);
        return -1;
    }
    *colon = 0;
    plan->handler = (struct fg_handler){plan->handler_text, colon + 1, NULL};
    return 0;
}

/* Return: 0, or -1 with an exception. */
static int take_folder(struct fg_plan *plan, int i, PyObject *folder)
{
    PyObject *path = NULL;

    if (!PyUnicode_FSConverter(folder, &path))
        return -1;
    plan->folders[i] = strdup(PyBytes_AS_STRING(path));
    Py_DECREF(path);
    if (plan->folders[i])
        return 0;
    PyErr_NoMemory();
    return -1;
}

struct fg_plan *fg_plan_make(PyObject *folders, const char *handler, bool follows_fork)
{
    struct fg_plan *plan = calloc(1, sizeof(*plan));
    Py_ssize_t n = PyTuple_GET_SIZE(folders);
    int error;

    if (!plan) {
        PyErr_NoMemory();
        return NULL;
    }
    plan->follows_fork = follows_fork;
    error = take_handler(plan, handler);
    for (int i = 0; !error && i < n && i < FG_PLAN_FOLDERS; i++)
        error = take_folder(plan, i, PyTuple_GET_ITEM(folders, i));
    if (!error)
        return plan;
    fg_plan_free(plan);
    return NULL;
}
