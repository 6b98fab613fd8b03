/* Lists and tuples: reading those that Python hands in, building those that it gets, tables of names. */
#ifndef FG_BINDING_SEQUENCES_H
#define FG_BINDING_SEQUENCES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stddef.h>

/**
 * fg_tuple_of - copy a sequence into a tuple and check its items
 * @sequence: any iterable but str, which would be read letter by letter
 * @what: the argument's name, for error messages
 * @check: called for each item, 0 or -1 with an exception; or NULL
 *
 * Return: a new reference, or NULL with an exception: TypeError for what is no sequence, or what @check
 * raised.
 */
PyObject *fg_tuple_of(PyObject *sequence, const char *what, int (*check)(PyObject *item, const char *what));

/**
 * fg_list_append - append an item to a list that is being built
 * @list: cleared after a failure; *list may be NULL already
 * @item: a new reference, which is stolen; NULL with an exception set is a failure
 *
 * Return: 0, or -1 with an exception.
 */
int fg_list_append(PyObject **list, PyObject *item);

/**
 * fg_name_tuple - make a tuple of str
 * @names: @n texts in UTF-8
 *
 * Return: a new reference, or NULL with an exception.
 */
PyObject *fg_name_tuple(const char *const names[], size_t n);

/* As fg_name_tuple, of ints. */
PyObject *fg_int_tuple(const int numbers[], size_t n);

/* Adds fg_name_tuple(names, n) to the module as `attribute`. Return: 0, or -1 with an exception. */
int fg_add_names(PyObject *module, const char *attribute, const char *const names[], size_t n);

/* The index of `name` in a table of `n` names, or -1. */
int fg_name_index(const char *const names[], size_t n, const char *name);

#define FG_NR_ITEMS(array) (sizeof(array) / sizeof((array)[0]))

#endif
