/* See item.h. */
#include "arch/cpython/fetch/item.h"

#include <string.h>

#include "arch/cpython/base/compat/parts.h"
#include "arch/cpython/base/compat/text.h"
#include "arch/cpython/value/numpy.h"

/* ---- is it a plain container? */

/* True if a subclass has the __getitem__ of the built-in type. Those of list and dict are methods, so every
 * class in Python has a slot of its own that looks for one. */
static bool inherits_items(PyTypeObject *type, PyTypeObject *base, const struct fg_fetch_operand *getitem)
{
#if FG_HAVE_BORROWED_READS
    struct fg_dict_key key = {getitem->key, getitem->hash};
    PyObject *found, *of_base;

    if (type->tp_as_mapping->mp_subscript == base->tp_as_mapping->mp_subscript)
        return true;
    return fg_type_peek(type, &key, &found) == FG_PEEK_FOUND &&
           fg_type_peek(base, &key, &of_base) == FG_PEEK_FOUND && found == of_base;
#else /* another thread may be changing a class */
    (void)type, (void)base, (void)getitem;
    return false;
#endif
}

/* True if object[n] does what it does for the built-in type @base, which is a base of its type. */
static bool has_items_of(PyObject *object, PyTypeObject *base, const struct fg_fetch_operand *getitem)
{
    return Py_IS_TYPE(object, base) || inherits_items(Py_TYPE(object), base, getitem);
}

/* True if len(object) does what it does for @base. It asks the sequence first. */
static bool has_length_of(PyObject *object, PyTypeObject *base)
{
    return Py_IS_TYPE(object, base) ||
           (FG_HAVE_BORROWED_READS && Py_TYPE(object)->tp_as_sequence &&
            Py_TYPE(object)->tp_as_sequence->sq_length == base->tp_as_sequence->sq_length);
}

/* True for instances of a type in C that has no symbol: no class in Python is immutable. */
static bool is_named(PyObject *object, const char *name)
{
    return FG_HAVE_BORROWED_READS && (Py_TYPE(object)->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) &&
           strcmp(Py_TYPE(object)->tp_name, name) == 0;
}

/* The index from the beginning, or -1: there is no such item. */
static int64_t place(int64_t n, int64_t length)
{
    if (n < 0)
        n += length;
    return n < length ? n : -1;
}

/* ---- deques */

#define MAX_BLOCKS 1024 /* that are walked over, from the nearer end */

static struct fg_fetched deque_item(PyObject *object, int64_t n)
{
    const struct fg_deque *deque = (const struct fg_deque *)object;
    int64_t length = Py_SIZE(object), from_left = n + deque->left_index, from_right = length - 1 - n;
    int64_t blocks = from_left / FG_DEQUE_BLOCK_ITEMS;
    const struct fg_deque_block *block = deque->left;

    if (blocks * 2 > length / FG_DEQUE_BLOCK_ITEMS) {
        blocks = (from_right + FG_DEQUE_BLOCK_ITEMS - 1 - deque->right_index) / FG_DEQUE_BLOCK_ITEMS;
        for (block = deque->right; blocks > 0 && blocks <= MAX_BLOCKS; blocks--)
            block = block->left;
    } else {
        for (; blocks > 0 && blocks <= MAX_BLOCKS; blocks--)
            block = block->right;
    }
    return fg_fetched_object(blocks ? NULL : block->items[from_left % FG_DEQUE_BLOCK_ITEMS]);
}

/* ---- ranges (Objects/rangeobject.c) */

struct range {
    PyObject_HEAD;
    PyObject *start, *stop, *step, *length;
};

/* Ranges beyond 63 bits are faults. */
static bool small_int(PyObject *object, int64_t *number)
{
    uint64_t bits;
    bool fits = PyLong_Check(object) && fg_int_bits(object, &bits) == 0;

    *number = fits ? (int64_t)bits : 0;
    return fits;
}

static struct fg_fetched range_length(PyObject *object)
{
    int64_t length;

    return small_int(((struct range *)object)->length, &length) ? fg_fetched_signed(length)
                                                                : fg_fetched_fault();
}

static struct fg_fetched range_item(PyObject *object, int64_t n)
{
    const struct range *range = (const struct range *)object;
    int64_t length, start, step, item;

    if (!small_int(range->length, &length) || !small_int(range->start, &start) ||
        !small_int(range->step, &step))
        return fg_fetched_fault();
    n = place(n, length);
    if (n < 0 || __builtin_mul_overflow(n, step, &item) || __builtin_add_overflow(item, start, &item))
        return fg_fetched_fault();
    return fg_fetched_signed(item);
}

/* ---- items */

/* Items of what can change while it is read without the GIL. */
static struct fg_fetched mutable_item(PyObject *object, int64_t n, const struct fg_fetch_operand *getitem)
{
    int64_t at;

    if (!FG_HAVE_BORROWED_READS)
        return fg_fetched_fault();
    if (PyList_Check(object) && has_items_of(object, &PyList_Type, getitem)) {
        at = place(n, PyList_GET_SIZE(object));
        return fg_fetched_object(at >= 0 ? PyList_GET_ITEM(object, at) : NULL);
    }
    if (PyByteArray_Check(object) && has_items_of(object, &PyByteArray_Type, getitem)) {
        at = place(n, PyByteArray_GET_SIZE(object));
        return at >= 0 ? fg_fetched_signed((unsigned char)PyByteArray_AS_STRING(object)[at])
                       : fg_fetched_fault();
    }
    if (is_named(object, "collections.deque")) {
        at = place(n, Py_SIZE(object));
        return at >= 0 ? deque_item(object, at) : fg_fetched_fault();
    }
    return fg_fetched_fault();
}

static struct fg_fetched object_item(PyObject *object, int64_t n, const struct fg_fetch_operand *getitem)
{
    int64_t at;

    if (PyTuple_Check(object) && has_items_of(object, &PyTuple_Type, getitem)) {
        at = place(n, PyTuple_GET_SIZE(object));
        return fg_fetched_object(at >= 0 ? PyTuple_GET_ITEM(object, at) : NULL);
    }
    if (fg_is_str(object) && has_items_of(object, &PyUnicode_Type, getitem)) {
        at = place(n, PyUnicode_GET_LENGTH(object));
        return at >= 0 ? fg_fetched_char(PyUnicode_READ_CHAR(object, at)) : fg_fetched_fault();
    }
    if (PyBytes_Check(object) && has_items_of(object, &PyBytes_Type, getitem)) {
        at = place(n, PyBytes_GET_SIZE(object));
        return at >= 0 ? fg_fetched_signed((unsigned char)PyBytes_AS_STRING(object)[at]) : fg_fetched_fault();
    }
    return PyRange_Check(object) ? range_item(object, n) : mutable_item(object, n, getitem);
}

struct fg_fetched fg_fetch_nth(struct fg_fetched from, int64_t n, const struct fg_fetch_operand *getitem)
{
    switch (from.kind) {
    case FG_FETCHED_OBJECT:
    case FG_FETCHED_RAISED:
        return object_item(from.object, n, getitem);
    case FG_FETCHED_LENGTHS:
        n = place(n, from.n);
        return n >= 0 ? fg_fetched_signed(from.lengths[n]) : fg_fetched_fault();
    case FG_FETCHED_CHAR:
        return place(n, 1) == 0 ? from : fg_fetched_fault();
    default:
        return fg_fetched_fault();
    }
}

#if FG_HAVE_BORROWED_READS
static bool has_keys(PyObject *object, const struct fg_fetch_operand *getitem)
{
    PyTypeObject *base = fg_dict_type(object);

    return base && has_items_of(object, base, getitem);
}

/* A key that is missing is a fault, also where __missing__ would make a value. */
static struct fg_fetched value_of_key(PyObject *dict, const struct fg_fetch_operand *operand)
{
    struct fg_dict_key key = {operand->key, operand->hash};
    int32_t entry = -1;
    PyObject *value;

    fg_dict_peek(dict, &key, &entry, &value);
    return fg_fetched_object(value);
}
#endif

struct fg_fetched fg_fetch_item(struct fg_fetched from, const struct fg_fetch_step *step)
{
#if FG_HAVE_BORROWED_READS
    if (from.kind == FG_FETCHED_OBJECT && has_keys(from.object, &step->method))
        return value_of_key(from.object, &step->operand);
#endif
    return step->operand.text ? fg_fetched_fault() : fg_fetch_nth(from, step->operand.number, &step->method);
}

/* ---- lengths */

#if FG_HAVE_BORROWED_READS
static bool is_dict_view(PyObject *object)
{
    return PyDictKeys_Check(object) || PyDictValues_Check(object) || PyDictItems_Check(object);
}

/* @length: that of the underlying dict, of a view too. Return: false: it is neither. */
static bool dict_length(PyObject *object, Py_ssize_t *length)
{
    const PyDictObject *dict = (PyDictObject *)object;
    const PyTypeObject *base = fg_dict_type(object);

    if (is_dict_view(object))
        dict = ((_PyDictViewObject *)object)->dv_dict;
    else if (!base || Py_TYPE(object)->tp_as_mapping->mp_length != base->tp_as_mapping->mp_length)
        return false;
    *length = dict ? dict->ma_used : 0;
    return true;
}
#else
static bool dict_length(PyObject *object, Py_ssize_t *length)
{
    *length = PyDict_CheckExact(object) ? PyDict_GET_SIZE(object) : 0;
    return PyDict_CheckExact(object);
}
#endif

/* -1: it is none of these, or only a method of the program knows its length. */
static Py_ssize_t object_length(PyObject *object)
{
    Py_ssize_t length;

    if (fg_is_str(object) && has_length_of(object, &PyUnicode_Type))
        return PyUnicode_GET_LENGTH(object);
    if (PyTuple_Check(object) && has_length_of(object, &PyTuple_Type))
        return PyTuple_GET_SIZE(object);
    if (PyList_Check(object) && has_length_of(object, &PyList_Type))
        return PyList_GET_SIZE(object);
    if (dict_length(object, &length))
        return length;
    if (PyBytes_Check(object) && has_length_of(object, &PyBytes_Type))
        return PyBytes_GET_SIZE(object);
    if (PyAnySet_Check(object) &&
        has_length_of(object,
                      PyType_IsSubtype(Py_TYPE(object), &PySet_Type) ? &PySet_Type : &PyFrozenSet_Type))
        return PySet_GET_SIZE(object);
    if (PyByteArray_Check(object) && has_length_of(object, &PyByteArray_Type))
        return PyByteArray_GET_SIZE(object);
    return is_named(object, "collections.deque") || is_named(object, "array.array") ? Py_SIZE(object) : -1;
}

static struct fg_fetched length_of(PyObject *object)
{
    Py_ssize_t length = object_length(object);

    if (length >= 0)
        return fg_fetched_signed(length);
    if (PyRange_Check(object))
        return range_length(object);
    return FG_HAVE_BORROWED_READS && fg_is_ndarray(object) ? fg_ndarray_len(object) : fg_fetched_fault();
}

static int64_t characters(const char *text, uint32_t bytes)
{
    int64_t n = 0;

    for (uint32_t i = 0; i < bytes; i++)
        n += (text[i] & 0xc0) != 0x80;
    return n;
}

struct fg_fetched fg_fetch_len(struct fg_fetched from)
{
    switch (from.kind) {
    case FG_FETCHED_OBJECT:
        return length_of(from.object);
    case FG_FETCHED_LENGTHS:
        return fg_fetched_signed(from.n);
    case FG_FETCHED_CHAR:
        return fg_fetched_signed(1);
    case FG_FETCHED_TEXT:
        return fg_fetched_signed(characters(from.text, from.n));
    default:
        return fg_fetched_fault();
    }
}
