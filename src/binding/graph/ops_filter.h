/* The filter of an FgraphOps. */
#ifndef FG_BINDING_OPS_FILTER_H
#define FG_BINDING_OPS_FILTER_H

#include "binding/graph/python_ops.h"

/**
 * fg_ops_apply_filters - make the engine's filter match what the object asks for
 *
 * All sets change at once. A disabled object is left alone: its next registration applies the filter.
 *
 * Return: 0, or -1 with an exception: then nothing has changed.
 */
int fg_ops_apply_filters(struct fg_python_ops *self);

/* Refuses an object whose patterns name native functions. Return: 0, or -1 with OSError (EOPNOTSUPP). */
int fg_ops_refuse_native(struct fg_python_ops *self);

/* Detaches the object from all functions in the engine. What it asks for stays. */
void fg_ops_detach(struct fg_client *client);

/* FgraphOps.set_filter() and its likes (an fg_edit_filter), and FgraphOps.set_tids(). */
int fg_ops_edit_filter(PyObject *self, enum fgraph_filter_set set, PyObject *patterns, bool reset);
PyObject *fg_ops_set_tids(PyObject *self, PyObject *tids);

#endif
