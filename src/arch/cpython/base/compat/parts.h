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

/* ---- ranges (Objects/rangeobject.c) */

struct fg_range {
    PyObject_HEAD;
    PyObject *start, *stop, *step, *length;
};

#if FG_HAVE_BORROWED_READS

/* ---- dicts, and the attributes of an instance, which may have them in itself */

/* Entries one after the other: names, and their values beside them or in an array of their own. */
struct fg_table {
    const char *keys, *values; /* of the first entry */
    size_t key_step, value_step;
    Py_ssize_t n;
};

/* @values: NULL: they are beside the keys */
static inline struct fg_table fg_table_of(PyDictKeysObject *keys, const PyDictValues *values)
{
    struct fg_table table = {.n = 0};

    if (!keys)
        return table;
    table.n = keys->dk_nentries;
    if (DK_IS_UNICODE(keys)) {
        const PyDictUnicodeEntry *entries = DK_UNICODE_ENTRIES(keys);

        table.keys = (const char *)&entries->me_key;
        table.values = values ? (const char *)values->values : (const char *)&entries->me_value;
        table.key_step = sizeof(*entries);
        table.value_step = values ? sizeof(values->values[0]) : sizeof(*entries);
    } else {
        const PyDictKeyEntry *entries = DK_ENTRIES(keys);

        table.keys = (const char *)&entries->me_key;
        table.values = (const char *)&entries->me_value;
        table.key_step = table.value_step = sizeof(*entries);
    }
    return table;
}

static inline struct fg_table fg_table_of_dict(PyObject *dict)
{
    const PyDictObject *object = (PyDictObject *)dict;

    return fg_table_of(object->ma_keys, object->ma_values);
}

static inline struct fg_table fg_table_of_instance(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyDictValues *values = type->tp_flags & Py_TPFLAGS_MANAGED_DICT ? fg_instance_values(object, type) : NULL;
    PyObject *dict = values ? NULL : fg_instance_dict(object, type);

    if (values)
        return fg_table_of(((PyHeapTypeObject *)type)->ht_cached_keys, values);
    return dict && PyDict_Check(dict) ? fg_table_of_dict(dict) : (struct fg_table){.n = 0};
}

/* Entry @i. Return: false: there is none at that place any longer, or not yet. */
static inline bool fg_table_entry(const struct fg_table *table, Py_ssize_t i, PyObject **key,
                                  PyObject **value)
{
    *key = *(PyObject *const *)(table->keys + (size_t)i * table->key_step);
    *value = *(PyObject *const *)(table->values + (size_t)i * table->value_step);
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
