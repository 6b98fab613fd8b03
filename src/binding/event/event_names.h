/* Functions of the module: the names of static events, and of functions by their ids. */
#ifndef FG_BINDING_EVENT_NAMES_H
#define FG_BINDING_EVENT_NAMES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyMethodDef fg_event_functions[];

#endif
