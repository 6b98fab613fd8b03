/* Finding a name among the attributes of an instance or the entries of a dict, without hashing it. Only with
 * the GIL: what is found is borrowed. */
#ifndef FG_CPYTHON_TABLE_GET_H
#define FG_CPYTHON_TABLE_GET_H

#include <string.h>

#include "arch/cpython/base/compat/parts.h"
#include "arch/cpython/base/compat/text.h"

#if FG_HAVE_BORROWED_READS

#define FG_TABLE_MAX_SCAN 256 /* places that are looked at: most may be empty */

static inline bool fg_is_this_text(PyObject *object, const char *text, size_t bytes)
{
    return PyUnicode_IS_ASCII(object) && (size_t)PyUnicode_GET_LENGTH(object) == bytes &&
           memcmp(PyUnicode_DATA(object), text, bytes) == 0;
}

/* What a table of names has under @name, borrowed, looked for among its first entries. */
static inline PyObject *fg_table_get(const struct fg_table *table, const char *name)
{
    Py_ssize_t n = table->n;
    size_t bytes = strlen(name);
    PyObject *key, *value;

    for (Py_ssize_t i = 0; i < n && i < FG_TABLE_MAX_SCAN; i++) {
        if (fg_table_entry(table, i, &key, &value) && fg_is_str(key) && fg_is_this_text(key, name, bytes))
            return value;
    }
    return NULL;
}

#endif
#endif
