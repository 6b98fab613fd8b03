/* Patterns that may select native functions: funcgraph.native.hooking knows which objects are meant, and has
 * their functions hooked. */
#ifndef FG_BINDING_NATIVE_PATTERNS_H
#define FG_BINDING_NATIVE_PATTERNS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "engine/core/pattern.h"

/**
 * fg_native_refuse() - Refuse patterns that name native functions, for users with Python callbacks.
 *
 * Return: 0, or -1 with OSError (EOPNOTSUPP).
 */
int fg_native_refuse(const struct fg_patterns *patterns);

/* Has native functions that patterns select hooked. Return: 0, or -1 with OSError (EOPNOTSUPP). */
int fg_native_hook(const struct fg_patterns *patterns);

/**
 * fg_native_select() - Find native functions, hooked as soon as they have users.
 * @pattern: with ":mod:"
 *
 * Return: a list of Function; NULL with OSError (EOPNOTSUPP).
 */
PyObject *fg_native_select(const char *pattern);

/* The negative errno of the exception that one of these has set, which is cleared. */
int fg_native_errno(void);

#endif
