/* What objects consist of: the entries of dicts and sets, attributes of instances, blocks of deques. Only
 * with the GIL, as dict.h: all results are borrowed. */
#ifndef FG_COMPAT_PARTS_H
#define FG_COMPAT_PARTS_H

#include "arch/cpython/base/compat/python.h"

#include "arch/cpython/base/compat/instance.h"

/* ---- deques: a list of blocks (Modules/_collectionsmodule.c) */

#define FG_DEQUE_BLOCK_ITEMS 64

struct fg_deque_block {
    struct fg_deque_block *left;
    PyObject *items[FG_DEQUE_BLOCK_ITEMS];
    struct fg_deque_block *right;
};

struct fg_deque {
    PyObject_VAR_HEAD;
    struct fg_deque_block *left, *right;
    Py_ssize_t left_index, right_index; /* of the first and the last item, in their blocks */
};

#if FG_HAVE_BORROWED_READS

/* ---- dicts, and the attributes of an instance, which may have them in itself */

struct fg_table {
    PyDictKeysObject *keys; /* NULL: there are no entries */
    PyDictValues *values;   /* NULL: they are beside the keys */
};

static inline struct fg_table fg_table_of_dict(PyObject *dict)
{
    const PyDictObject *object = (PyDictObject *)dict;

    return (struct fg_table){object->ma_keys, object->ma_values};
}

static inline struct fg_table fg_table_of_instance(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyDictValues *values = type->tp_flags & Py_TPFLAGS_MANAGED_DICT ? fg_instance_values(object, type) : NULL;
    PyObject *dict = values ? NULL : fg_instance_dict(object, type);

    if (values)
        return (struct fg_table){((PyHeapTypeObject *)type)->ht_cached_keys, values};
    return dict && PyDict_Check(dict) ? fg_table_of_dict(dict) : (struct fg_table){NULL, NULL};
}

static inline Py_ssize_t fg_table_size(const struct fg_table *table)
{
    return table->keys ? table->keys->dk_nentries : 0;
}

/* Entry @i. Return: false: there is none at that place any longer, or not yet. */
static inline bool fg_table_entry(const struct fg_table *table, Py_ssize_t i, PyObject **key,
                                  PyObject **value)
{
    if (DK_IS_UNICODE(table->keys)) {
        const PyDictUnicodeEntry *entry = &DK_UNICODE_ENTRIES(table->keys)[i];

        *key = entry->me_key;
        *value = table->values ? table->values->values[i] : entry->me_value;
    } else {
        const PyDictKeyEntry *entry = &DK_ENTRIES(table->keys)[i];

        *key = entry->me_key;
        *value = entry->me_value;
    }
    return *key && *value;
}

/* ---- sets */

/* The item in slot @i of a set's table; NULL: there is none. A slot of what was removed has the hash -1. */
static inline PyObject *fg_set_slot(PyObject *set, Py_ssize_t i)
{
    const setentry *entry = &((PySetObject *)set)->table[i];

    return entry->key && entry->hash != -1 ? entry->key : NULL;
}

static inline Py_ssize_t fg_set_slots(PyObject *set)
{
    return ((PySetObject *)set)->mask + 1;
}

#endif

#endif
