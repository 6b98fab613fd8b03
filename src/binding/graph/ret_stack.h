/* Calls in progress, and where a call returns to. */
#ifndef FG_BINDING_RET_STACK_H
#define FG_BINDING_RET_STACK_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structseq.h>

struct fg_callback;

extern PyStructSequence_Desc fg_ret_frame_desc, fg_return_location_desc;

/* Where the call of a callback returns to: a new reference to a ReturnLocation or None, or NULL with an
 * exception. */
PyObject *fg_callback_return_location(const struct fg_callback *callback);

/* get_ret_stack() */
PyObject *fg_get_ret_stack(PyObject *module, PyObject *args, PyObject *kwargs);

#endif
