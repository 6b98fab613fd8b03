/* The tables of dicts: looking up a key without running code of the program. CPython's own functions call
 * __eq__ of keys, and may raise or allocate.
 *
 * Only with the GIL: the result is borrowed, and nothing is locked. In builds without it nothing here
 * exists (FG_HAVE_BORROWED_READS in python.h). */
#ifndef FG_COMPAT_DICT_H
#define FG_COMPAT_DICT_H

#include "arch/cpython/base/compat/python.h"

#include "arch/cpython/base/compat/integer.h"
#include "arch/cpython/base/compat/text.h"
#include "internal/pycore_dict.h"

#if FG_HAVE_BORROWED_READS

/* A lookup returns one of these. UNSURE: only __eq__ of the program could tell. */
enum fg_peek { FG_PEEK_UNSURE = -1, FG_PEEK_NOTHING = 0, FG_PEEK_FOUND = 1 };

/* A key to look up: an exact str with its hash, or an exact int. */
struct fg_dict_key {
    PyObject *object;
    Py_hash_t hash;
};

/* Compares a key with one of the same hash in a table. A subclass that compares as its base does is
 * compared by its data. */
static inline enum fg_peek fg_key_is(PyObject *there, PyObject *key)
{
    if (PyUnicode_Check(there) && Py_TYPE(there)->tp_richcompare == PyUnicode_Type.tp_richcompare)
        return PyUnicode_CheckExact(key) && fg_str_is_ready(there) && fg_str_equal(key, there)
                   ? FG_PEEK_FOUND
                   : FG_PEEK_NOTHING;
    if (PyLong_Check(there) && Py_TYPE(there)->tp_richcompare == PyLong_Type.tp_richcompare)
        return PyLong_CheckExact(key) && fg_int_equal(key, there) ? FG_PEEK_FOUND : FG_PEEK_NOTHING;
    if (PyFloat_CheckExact(there))
        return PyLong_CheckExact(key) && fg_int_is_double(key, PyFloat_AS_DOUBLE(there)) ? FG_PEEK_FOUND
                                                                                         : FG_PEEK_NOTHING;
    if (PyBytes_CheckExact(there) || PyTuple_CheckExact(there) || there == Py_None)
        return FG_PEEK_NOTHING;
    return FG_PEEK_UNSURE;
}

/* Where the hash table has an entry's index, or DKIX_EMPTY or DKIX_DUMMY (dictkeys_get_index() of
 * Objects/dictobject.c). */
static inline Py_ssize_t fg_keys_index(const PyDictKeysObject *keys, size_t i)
{
    if (keys->dk_log2_size < 8)
        return ((const int8_t *)keys->dk_indices)[i];
    if (keys->dk_log2_size < 16)
        return ((const int16_t *)keys->dk_indices)[i];
    if (keys->dk_log2_size < 32)
        return ((const int32_t *)keys->dk_indices)[i];
    return (Py_ssize_t)((const int64_t *)keys->dk_indices)[i];
}

static inline enum fg_peek fg_entry_is(PyDictKeysObject *keys, Py_ssize_t entry,
                                       const struct fg_dict_key *key)
{
    PyObject *there;

    if (DK_IS_UNICODE(keys)) { /* all keys are exact str */
        there = DK_UNICODE_ENTRIES(keys)[entry].me_key;
        return there == key->object ||
                       (PyUnicode_CheckExact(key->object) && ((PyASCIIObject *)there)->hash == key->hash &&
                        fg_str_equal(key->object, there))
                   ? FG_PEEK_FOUND
                   : FG_PEEK_NOTHING;
    }
    there = DK_ENTRIES(keys)[entry].me_key;
    if (there == key->object)
        return FG_PEEK_FOUND;
    return DK_ENTRIES(keys)[entry].me_hash == key->hash ? fg_key_is(there, key->object) : FG_PEEK_NOTHING;
}

/* Finds the entry of a key by CPython's own probes: do_lookup() of Objects/dictobject.c. */
static inline enum fg_peek fg_keys_search(PyDictKeysObject *keys, const struct fg_dict_key *key,
                                          int32_t *entry)
{
    size_t mask = (size_t)DK_SIZE(keys) - 1, perturb = (size_t)key->hash, i = perturb & mask;

    for (;;) {
        Py_ssize_t at = fg_keys_index(keys, i);
        enum fg_peek is = at >= 0 ? fg_entry_is(keys, at, key) : FG_PEEK_NOTHING;

        if (at == DKIX_EMPTY || is != FG_PEEK_NOTHING) {
            *entry = (int32_t)at;
            return at == *entry ? is : FG_PEEK_UNSURE;
        }
        perturb >>= 5;
        i = (i * 5 + perturb + 1) & mask;
    }
}

/* @entry: where the key was the last time, or anything; where it is now. */
static inline enum fg_peek fg_keys_peek(PyDictKeysObject *keys, const struct fg_dict_key *key, int32_t *entry)
{
    if (DK_IS_UNICODE(keys) && (size_t)*entry < (size_t)keys->dk_nentries &&
        DK_UNICODE_ENTRIES(keys)[*entry].me_key == key->object)
        return FG_PEEK_FOUND;
    return fg_keys_search(keys, key, entry);
}

/**
 * fg_dict_peek() - Look up a key in a dict, or in a subclass as dict itself does.
 * @entry: a hint: where the key was found the last time, in this or another dict; it is updated
 * @value: set to the value, borrowed, or to NULL
 */
static inline enum fg_peek fg_dict_peek(PyObject *dict, const struct fg_dict_key *key, int32_t *entry,
                                        PyObject **value)
{
    const PyDictObject *table = (PyDictObject *)dict;
    PyDictKeysObject *keys = table->ma_keys;
    enum fg_peek peek = fg_keys_peek(keys, key, entry);

    *value = NULL;
    if (peek != FG_PEEK_FOUND)
        return peek;
    if (table->ma_values)
        *value = table->ma_values->values[*entry];
    else
        *value = DK_IS_UNICODE(keys) ? DK_UNICODE_ENTRIES(keys)[*entry].me_value
                                     : DK_ENTRIES(keys)[*entry].me_value;
    return *value ? FG_PEEK_FOUND : FG_PEEK_NOTHING;
}

/* The built-in type of dicts that the object is an instance of; NULL: it is no dict. */
static inline PyTypeObject *fg_dict_type(PyObject *object)
{
#if PY_VERSION_HEX >= 0x030F0000
    if (PyFrozenDict_Check(object))
        return &PyFrozenDict_Type;
#endif
    return PyDict_Check(object) ? &PyDict_Type : NULL;
}

#endif

#endif
