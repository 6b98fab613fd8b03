/* Memoryviews of bytes that a user keeps on the shadow stack. */
#ifndef FG_BINDING_VIEW_H
#define FG_BINDING_VIEW_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "binding/core/spare.h"
#include "binding/core/state.h"

struct fg_buffer;
struct fg_callback;

extern PyType_Spec fg_buffer_spec;

/**
 * fg_view_of - the view of a piece of reserved data, for the callback that runs
 * @words: @bytes bytes on the shadow stack
 *
 * The same view for the same words until the callback releases that view. It is valid until the callback
 * ends.
 *
 * Return: a new reference to a memoryview, or NULL with an exception.
 */
PyObject *fg_view_of(struct fg_callback *callback, void *words, size_t bytes);

/* The callback ends: copies the views' bytes back to the shadow stack; all views of them raise from now
 * on. */
void fg_views_settle(struct fg_callback *callback);

/* Entry data of a fprobe have one size, so one view serves call after call. `spare` keeps that view. */

/* A buffer with a view of `words`. A new reference, or NULL with an exception. */
struct fg_buffer *fg_entry_data_take(struct fg_engine_state *state, fg_spare *spare, void *words,
                                     size_t bytes);
/* Its memoryview, borrowed. */
PyObject *fg_entry_data_view(const struct fg_buffer *buffer);
/* The callback ends, as fg_views_settle. Steals the reference. */
void fg_entry_data_settle(struct fg_engine_state *state, struct fg_buffer *buffer, fg_spare *spare);

#endif
