/* Shapes of pandas' frames, series and indexes, without a call of its code. pandas is never imported: its
 * classes are classes in Python with their names and modules.
 *
 * The managers of frames, and their blocks, are classes of Cython, whose structures no document describes.
 * But each has a function that tells the garbage collector of the objects that it refers to (tp_traverse),
 * which runs no Python code. Among these a manager has one tuple of blocks and one list of axes; a block has
 * one array. What is not as expected has no shape here. */
#ifndef FG_CPYTHON_PANDAS_H
#define FG_CPYTHON_PANDAS_H

#include "arch/cpython/base/compat/python.h"

#include <stdbool.h>
#include <stdint.h>

enum fg_pandas_kind { FG_PANDAS_NONE, FG_PANDAS_FRAME, FG_PANDAS_SERIES, FG_PANDAS_INDEX };

/* What instances of a class are. */
enum fg_pandas_kind fg_pandas_kind(const PyTypeObject *type);

struct fg_pandas_shape {
    uint32_t nd;
    Py_ssize_t lengths[2];
    PyObject *array; /* the array of numpy that has all values, borrowed; NULL: there is none */
};

/* Return: false: the object is none of pandas, or its shape is not found. */
bool fg_pandas_shape(PyObject *object, struct fg_pandas_shape *shape);

#endif
