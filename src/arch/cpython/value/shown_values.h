/* Encoding objects that a text stands for, as str() shows them: dates and times, Decimal, UUID, paths. */
#ifndef FG_CPYTHON_SHOWN_VALUES_H
#define FG_CPYTHON_SHOWN_VALUES_H

#include "arch/cpython/value/value_out.h"

/* Return: false: it is none of them, or there is no room; nothing was written. */
bool fg_put_shown(struct fg_out *out, PyObject *value);

#endif
