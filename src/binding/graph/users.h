/* All users of this interpreter, and errors of registration that name them. */
#ifndef FG_BINDING_USERS_H
#define FG_BINDING_USERS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <structseq.h>

struct fgraph_ops;

extern PyStructSequence_Desc fg_user_desc;

/* leavefunc of each FgraphOps, by which the engine's users that are FgraphOps are known. Does nothing:
 * whoever unregisters an FgraphOps drops the engine's reference, not the engine, which holds its lock
 * here. */
void fg_python_user_leaves(struct fgraph_ops *ops);

/* users(), and the users for status(). New references, or NULL with an exception. */
PyObject *fg_users(PyObject *module, PyObject *ignored);
PyObject *fg_users_status(void);

/* Raises OSError ENOSPC that names the users that hold the slots. Return: NULL. */
PyObject *fg_raise_no_slot(void);

/**
 * fg_raise_registration - raise what an error of fg_cpython_register means
 * @object: the user that was not registered
 *
 * Return: NULL.
 */
PyObject *fg_raise_registration(int error, PyObject *object);

#endif
