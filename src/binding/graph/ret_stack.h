/* Calls in progress, and where a call returns to. */
#ifndef FG_BINDING_RET_STACK_H
#define FG_BINDING_RET_STACK_H

#include <Python.h>

#include <structseq.h>

#include "arch/cpython/base/compat/frame.h"

struct fg_callback;
struct fg_engine_state;

extern PyStructSequence_Desc fg_ret_frame_desc, fg_return_location_desc;

/* Where the call of a callback returns to: a new reference to a ReturnLocation or None, or NULL with an
 * exception. */
PyObject *fg_callback_return_location(const struct fg_callback *callback);

/* The place of the call of a callback, which has a frame: a new reference to a ReturnLocation, or NULL with
 * an exception. */
PyObject *fg_callback_location(const struct fg_callback *callback);

/* The caller's frame, complete; NULL: there is none. */
fg_pyframe *fg_callback_caller(const struct fg_callback *callback);

/* The place that a frame is at: a new reference to a ReturnLocation; None for NULL; NULL with an exception.
 * */
PyObject *fg_return_location(struct fg_engine_state *state, fg_pyframe *frame);

/* get_ret_stack() */
PyObject *fg_get_ret_stack(PyObject *module, PyObject *args, PyObject *kwargs);

#endif
