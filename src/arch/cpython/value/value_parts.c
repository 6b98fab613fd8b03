/* See value_parts.h. */
#include "arch/cpython/value/value_parts.h"

#include <inttypes.h>
#include <stdio.h>

#include "arch/cpython/base/compat/lookup.h"
#include "arch/cpython/base/compat/parts.h"
#include "arch/cpython/base/compat/text.h"
#include "arch/cpython/value/numpy.h"
#include "arch/cpython/value/pandas.h"
#include "arch/cpython/value/plain_values.h"
#include "arch/cpython/value/short_values.h"
#include "arch/cpython/value/shown_values.h"
#include "arch/cpython/value/slots.h"
#include "arch/cpython/value/table_get.h"
#include "arch/cpython/value/utf8.h"
#include "arch/cpython/value/verdicts.h"
#include "engine/base/compiler.h"

#define MAX_ITEMS 16      /* of a container */
#define MAX_ATTRIBUTES 32 /* of an instance */
#define MAX_SCAN 256      /* places of a table that are looked at: most may be empty */
#define MAX_BASES 16      /* classes of an instance that are looked at for slots */
#define NAME_BYTES 64     /* of a name */
#define NAMED_BYTES (2 + NAME_BYTES + FG_VALUE_MAX_BYTES)
#define END_BYTES 2 /* MORE and CLOSE */
#define MAX_KEPT 4  /* parts for which the one before them leaves room */

static bool put_deep(struct fg_out *out, PyObject *value, uint32_t depth);

void fg_put_value(struct fg_out *out, PyObject *value, uint32_t depth)
{
    if (fg_unlikely(!value))
        fg_put_tag(out, FG_VALUE_UNBOUND);
    else if (!fg_put_exact(out, value) && (!out->style->depth || !put_deep(out, value, depth)))
        fg_put_object(out, value);
}

/* ---- names */

/* The UTF-8 of a str; of ASCII it is the object's own. Return: false: it is too long for @buffer. */
static inline bool name_of(PyObject *str, char buffer[4 * NAME_BYTES + 1], const char **name, size_t *bytes)
{
    if (fg_likely(PyUnicode_IS_ASCII(str))) {
        *name = (const char *)PyUnicode_DATA(str);
        *bytes = (size_t)PyUnicode_GET_LENGTH(str);
        return true;
    }
    *name = buffer;
    *bytes = fg_utf8_copy(str, buffer, 4 * NAME_BYTES + 1);
    return PyUnicode_GET_LENGTH(str) <= NAME_BYTES;
}

FG_NOINLINE static bool hides_str(const struct fg_value_style *style, PyObject *name)
{
    char buffer[4 * NAME_BYTES + 1];
    const char *text;
    size_t bytes;

    return !name_of(name, buffer, &text, &bytes) || fg_value_style_hides(style, text, bytes);
}

/* Names that have a hash, as those of attributes. Another name may have the address later: the text's hash
 * and length are a part of the key. */
static bool hides_known_str(const struct fg_value_style *style, PyObject *name, Py_hash_t hash)
{
    static struct fg_verdicts verdicts;
    uint64_t length = (uint64_t)PyUnicode_GET_LENGTH(name);
    uint64_t key = fg_verdict_key((uint64_t)hash ^ style->redact_hash, (uintptr_t)name + (length << 48));
    int found = fg_verdict_find(&verdicts, key);

    if (fg_unlikely(found < 0)) {
        found = hides_str(style, name);
        fg_verdict_keep(&verdicts, key, found);
    }
    return found;
}

bool fg_hides_name(const struct fg_value_style *style, PyObject *name)
{
    Py_hash_t hash;

    if (PyBytes_Check(name))
        return fg_value_style_hides(style, PyBytes_AS_STRING(name), (size_t)PyBytes_GET_SIZE(name));
    if (!fg_is_str(name))
        return false;
    hash = ((PyASCIIObject *)name)->hash;
    return hash == -1 ? hides_str(style, name) : hides_known_str(style, name, hash);
}

/* ---- parts: between OPEN and CLOSE */

static void open_parts(struct fg_out *out, enum fg_value_form form, Py_ssize_t length,
                       const PyTypeObject *type)
{
    fg_put_tag(out, FG_VALUE_OPEN);
    *out->at++ = (uint8_t)form;
    fg_put_u64(out, (uint64_t)length);
    if (type)
        fg_put_type_name(out, type);
    else
        *out->at++ = 0;
    out->end -= END_BYTES;
}

static void close_parts(struct fg_out *out)
{
    out->end += END_BYTES;
    fg_put_tag(out, FG_VALUE_CLOSE);
}

static void put_more(struct fg_out *out)
{
    *out->at++ = FG_VALUE_MORE; /* open_parts() has kept its room */
}

/* Lets a part leave room for some of those after it, so that a long one does not take that of all others.
 * @after: so many follow; @bytes: what it needs. Return: the end to put back; NULL: there is too little
 * room. */
static inline uint8_t *begin_part(struct fg_out *out, Py_ssize_t after, size_t bytes)
{
    size_t room = fg_out_room(out), kept = (size_t)(after < MAX_KEPT ? after : MAX_KEPT) * FG_VALUE_MAX_BYTES;
    uint8_t *end = out->end;

    if (fg_unlikely(room < bytes))
        return NULL;
    out->end = out->at + (room > kept + bytes ? room - kept : bytes);
    return end;
}

static bool put_item(struct fg_out *out, PyObject *value, Py_ssize_t after, uint32_t depth, bool is_hidden)
{
    uint8_t *end = begin_part(out, after, FG_VALUE_MAX_BYTES);

    if (!end)
        return false;
    if (fg_unlikely(is_hidden))
        fg_put_tag(out, FG_VALUE_HIDDEN);
    else if (fg_likely(value != NULL))
        fg_put_value(out, value, depth);
    else
        fg_put_tag(out, FG_VALUE_FAULT);
    out->end = end;
    return true;
}

/* @hides: the name says that the value is left out */
static bool put_named_utf8(struct fg_out *out, const char *name, size_t bytes, PyObject *value,
                           Py_ssize_t after, uint32_t depth, bool hides)
{
    if (fg_unlikely(fg_out_room(out) < NAMED_BYTES))
        return false;
    fg_put_tag(out, FG_VALUE_NAME);
    fg_put_counted(out, name, bytes < NAME_BYTES ? bytes : NAME_BYTES);
    return put_item(out, value, after, depth, hides);
}

static bool put_named(struct fg_out *out, PyObject *name, PyObject *value, Py_ssize_t after, uint32_t depth)
{
    char buffer[4 * NAME_BYTES + 1];
    const char *text;
    size_t bytes;

    name_of(name, buffer, &text, &bytes);
    return put_named_utf8(out, text, bytes, value, after, depth, fg_is_hidden(out->style, name));
}

/* ---- sequences */

static const PyTypeObject *unless(PyObject *value, const PyTypeObject *exact)
{
    return Py_TYPE(value) == exact ? NULL : Py_TYPE(value);
}

/* A pair of a name and a value, as in lists of headers. */
static bool hides_second(const struct fg_out *out, PyObject *const *items, Py_ssize_t n)
{
    return n == 2 && items[0] && fg_is_hidden(out->style, items[0]);
}

/* @after: parts that follow the items, or stand for the room of one that needs more. Return: false: some were
 * left out. */
static bool put_items(struct fg_out *out, PyObject *const *items, Py_ssize_t n, Py_ssize_t after,
                      uint32_t depth)
{
    bool hides = hides_second(out, items, n);
    Py_ssize_t i;

    for (i = 0; i < n && i < MAX_ITEMS; i++) {
        if (!put_item(out, items[i], n - i - 1 + after, depth, hides && i == 1))
            break;
    }
    return i == n;
}

static bool put_sequence(struct fg_out *out, enum fg_value_form form, const PyTypeObject *type,
                         PyObject *const *items, Py_ssize_t n, uint32_t depth)
{
    open_parts(out, form, n, type);
    if (!put_items(out, items, n, 0, depth - 1))
        put_more(out);
    close_parts(out);
    return true;
}

void fg_put_unmade_exception(struct fg_out *out, const PyTypeObject *type, PyObject *arguments,
                             uint32_t depth)
{
    if (!arguments || arguments == Py_None)
        put_sequence(out, FG_FORM_CALL, type, NULL, 0, depth);
    else if (PyTuple_Check(arguments))
        put_sequence(out, FG_FORM_CALL, type, ((PyTupleObject *)arguments)->ob_item,
                     PyTuple_GET_SIZE(arguments), depth);
    else
        put_sequence(out, FG_FORM_CALL, type, &arguments, 1, depth);
}

static bool put_fields(struct fg_out *out, PyObject *tuple, PyObject *names, uint32_t depth)
{
    Py_ssize_t n = PyTuple_GET_SIZE(tuple), i;

    open_parts(out, FG_FORM_CALL, n, Py_TYPE(tuple));
    for (i = 0; i < n && i < MAX_ATTRIBUTES; i++) {
        if (!fg_is_str(PyTuple_GET_ITEM(names, i)) ||
            !put_named(out, PyTuple_GET_ITEM(names, i), PyTuple_GET_ITEM(tuple, i), n - i - 1, depth - 1))
            break;
    }
    if (i < n)
        put_more(out);
    close_parts(out);
    return true;
}

#if FG_HAVE_BORROWED_READS
/* collections.namedtuple puts `_fields` near the beginning of its class's dictionary. */
static PyObject *field_names(PyObject *tuple)
{
    PyTypeObject *type = Py_TYPE(tuple);
    PyObject *names = NULL;

    for (int i = 0; !names && i < MAX_BASES && type && fg_is_class_in_python(type);
         i++, type = type->tp_base) {
        struct fg_table table = fg_table_of_dict(fg_type_dict(type));

        names = fg_table_get(&table, "_fields");
    }
    return names && PyTuple_CheckExact(names) && PyTuple_GET_SIZE(names) == PyTuple_GET_SIZE(tuple) ? names
                                                                                                    : NULL;
}
#else
static PyObject *field_names(PyObject *tuple)
{
    (void)tuple;
    return NULL;
}
#endif

static bool put_tuple(struct fg_out *out, PyObject *value, uint32_t depth)
{
    PyObject *names = PyTuple_CheckExact(value) ? NULL : field_names(value);

    if (names)
        return put_fields(out, value, names, depth);
    return put_sequence(out, FG_FORM_TUPLE, unless(value, &PyTuple_Type), ((PyTupleObject *)value)->ob_item,
                        PyTuple_GET_SIZE(value), depth);
}

#if FG_HAVE_BORROWED_READS

static bool put_deque(struct fg_out *out, PyObject *value, uint32_t depth)
{
    const struct fg_deque *deque = (const struct fg_deque *)value;
    const struct fg_deque_block *block = deque->left;
    Py_ssize_t at = deque->left_index, n = Py_SIZE(value), i;

    open_parts(out, FG_FORM_LIST, n, Py_TYPE(value));
    for (i = 0; i < n && i < MAX_ITEMS; i++) {
        if (at == FG_DEQUE_BLOCK_ITEMS) {
            block = block->right;
            at = 0;
        }
        if (!put_item(out, block->items[at++], n - i - 1, depth - 1, false))
            break;
    }
    if (i < n)
        put_more(out);
    close_parts(out);
    return true;
}

/* ---- dicts and sets */

/* A key may not take the room of its value. */
static bool put_entry(struct fg_out *out, PyObject *key, PyObject *value, Py_ssize_t after, uint32_t depth)
{
    if (fg_out_room(out) < 2 * FG_VALUE_MAX_BYTES)
        return false;
    put_item(out, key, 1 + after, depth, false);
    put_item(out, value, after, depth, fg_is_hidden(out->style, key));
    return true;
}

static bool put_dict(struct fg_out *out, PyObject *value, uint32_t depth)
{
    struct fg_table table = fg_table_of_dict(value);
    Py_ssize_t used = ((PyDictObject *)value)->ma_used, n = table.n, done = 0;
    PyObject *key, *of_key;

    open_parts(out, FG_FORM_DICT, used, unless(value, &PyDict_Type));
    for (Py_ssize_t i = 0; i < n && i < MAX_SCAN && done < MAX_ITEMS; i++) {
        if (!fg_table_entry(&table, i, &key, &of_key))
            continue;
        if (!put_entry(out, key, of_key, used - done - 1, depth - 1))
            break;
        done++;
    }
    if (done < used)
        put_more(out);
    close_parts(out);
    return true;
}

static bool put_set(struct fg_out *out, PyObject *value, uint32_t depth)
{
    Py_ssize_t used = PySet_GET_SIZE(value), n = fg_set_slots(value), done = 0;

    open_parts(out, FG_FORM_SET, used, unless(value, &PySet_Type));
    for (Py_ssize_t i = 0; i < n && i < MAX_SCAN && done < MAX_ITEMS; i++) {
        PyObject *item = fg_set_slot(value, i);

        if (!item)
            continue;
        if (!put_item(out, item, used - done - 1, depth - 1, false))
            break;
        done++;
    }
    if (done < used)
        put_more(out);
    close_parts(out);
    return true;
}

/* ---- numpy */

static void put_name(struct fg_out *out, const char *name)
{
    fg_put_tag(out, FG_VALUE_NAME);
    fg_put_counted(out, name, strlen(name));
}

static void put_shape(struct fg_out *out, struct fg_fetched shape)
{
    open_parts(out, FG_FORM_TUPLE, shape.n, NULL);
    for (uint32_t i = 0; i < shape.n; i++) {
        int64_t length = shape.lengths[i];

        if (fg_out_room(out) < 9 || i == MAX_ITEMS) {
            put_more(out);
            break;
        }
        fg_put_tag(out, FG_VALUE_INT64);
        fg_put_bytes(out, &length, sizeof(length));
    }
    close_parts(out);
}

/* @array: an array with the data type; NULL: it has none, or several */
static bool put_shape_of(struct fg_out *out, const PyTypeObject *type, struct fg_fetched shape,
                         PyObject *array)
{
    struct fg_fetched dtype = array ? fg_ndarray_attr(array, "dtype") : fg_fetched_fault();

    if (fg_out_room(out) < 4 * FG_VALUE_MAX_BYTES)
        return false;
    open_parts(out, FG_FORM_CALL, 0, type);
    put_name(out, "shape");
    put_shape(out, shape);
    if (array && fg_out_room(out) >= 2 * FG_VALUE_MAX_BYTES) {
        put_name(out, "dtype");
        fg_put_tag(out, FG_VALUE_MEMBER);
        fg_put_counted(out, dtype.text, dtype.n < FG_VALUE_MAX_TYPE ? dtype.n : FG_VALUE_MAX_TYPE);
    }
    close_parts(out);
    return true;
}

static bool put_array(struct fg_out *out, PyObject *array)
{
    return put_shape_of(out, Py_TYPE(array), fg_ndarray_attr(array, "shape"), array);
}

static bool put_pandas(struct fg_out *out, PyObject *object)
{
    struct fg_pandas_shape shape;
    struct fg_fetched lengths = {.kind = FG_FETCHED_LENGTHS, .lengths = shape.lengths};

    if (!fg_pandas_shape(object, &shape))
        return false;
    lengths.n = shape.nd;
    return put_shape_of(out, Py_TYPE(object), lengths, shape.array);
}

/* A number beyond INT64_MAX is a text. */
static void put_unsigned(struct fg_out *out, const PyTypeObject *type, uint64_t number)
{
    char digits[24];
    size_t n = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, number);

    fg_put_tag(out, FG_VALUE_SHOWN);
    fg_put_type_name(out, type);
    fg_put_utf8(out, digits, n, n);
}

static bool put_scalar(struct fg_out *out, PyObject *value)
{
    struct fg_fetched number = fg_numpy_number(value);

    if (number.kind == FG_FETCHED_FAULT || fg_out_room(out) < 2 * FG_VALUE_MAX_BYTES)
        return false;
    if (number.kind == FG_FETCHED_UNSIGNED) {
        put_unsigned(out, Py_TYPE(value), number.word);
        return true;
    }
    open_parts(out, FG_FORM_CALL, 0, Py_TYPE(value));
    if (number.kind == FG_FETCHED_REAL) {
        fg_put_tag(out, FG_VALUE_FLOAT);
        fg_put_bytes(out, &number.real, sizeof(number.real));
    } else {
        fg_put_tag(out, FG_VALUE_INT64);
        fg_put_bytes(out, &number.number, sizeof(number.number));
    }
    close_parts(out);
    return true;
}

/* ---- instances of classes in Python */

static bool is_enum(const PyTypeObject *type)
{
    const PyTypeObject *meta = Py_TYPE(type);

    for (; meta && fg_is_class_in_python(meta); meta = meta->tp_base) {
        if (strcmp(meta->tp_name, "EnumType") == 0)
            return true;
    }
    return false;
}

/* Class.NAME; "A|B" of flags is a name, too. */
static bool put_member(struct fg_out *out, PyObject *value)
{
    struct fg_table table = fg_table_of_instance(value);
    PyObject *name = fg_table_get(&table, "_name_");
    const char *class = fg_type_name(Py_TYPE(value));
    char text[FG_VALUE_MAX_TYPE + 1 + NAME_BYTES];
    size_t n = strnlen(class, FG_VALUE_MAX_TYPE);

    if (!name || !fg_is_str(name) || fg_out_room(out) < 2 + sizeof(text))
        return false;
    memcpy(text, class, n);
    text[n++] = '.';
    n += fg_utf8_copy(name, text + n, NAME_BYTES);
    fg_put_tag(out, FG_VALUE_MEMBER);
    fg_put_counted(out, text, n);
    return true;
}

/* A number or a text of a subclass: what it holds as its base does. */
static bool put_base(struct fg_out *out, PyObject *value)
{
    uint8_t *end;

    if (!PyLong_Check(value) && !PyFloat_Check(value) && !fg_is_str(value) && !PyBytes_Check(value))
        return false;
    if (fg_out_room(out) < 2 * FG_VALUE_MAX_BYTES)
        return false;
    open_parts(out, FG_FORM_CALL, 0, Py_TYPE(value));
    end = begin_part(out, 0, FG_VALUE_MAX_BYTES);
    if (end && PyLong_Check(value)) {
        fg_put_int(out, value);
    } else if (end && PyFloat_Check(value)) {
        fg_put_tag(out, FG_VALUE_FLOAT);
        fg_put_bytes(out, &((PyFloatObject *)value)->ob_fval, sizeof(double));
    } else if (end && PyUnicode_Check(value)) {
        fg_put_str(out, value);
    } else if (end) {
        fg_put_byte_string(out, value);
    }
    if (end)
        out->end = end;
    close_parts(out);
    return true;
}

/* An attribute as nearly all are: a name of ASCII, and a value that takes little room. Return: false: it
 * takes the long way, and nothing was written. */
static inline bool put_short_attribute(struct fg_out *out, PyObject *name, PyObject *value)
{
    size_t bytes = (size_t)PyUnicode_GET_LENGTH(name);
    uint8_t *at = out->at;

    if (fg_unlikely(!PyUnicode_IS_COMPACT_ASCII(name) || bytes > NAME_BYTES ||
                    fg_out_room(out) < NAMED_BYTES || fg_is_hidden(out->style, name)))
        return false;
    at = fg_copy_counted(fg_copy_tag(at, FG_VALUE_NAME), (const PyASCIIObject *)name + 1, bytes);
    at = fg_copy_short_value(at, value, out->style);
    if (fg_unlikely(!at))
        return false;
    out->at = at;
    return true;
}

/* What frameworks keep in their instances beside what the program put there. */
static bool is_of_framework(PyObject *name, PyObject *value)
{
    if (fg_likely(!PyUnicode_IS_COMPACT_ASCII(name) || *(const char *)((PyASCIIObject *)name + 1) != '_'))
        return false;
    return fg_is_this_text(name, "_sa_instance_state", 18) ||
           (fg_is_this_text(name, "_state", 6) && strcmp(Py_TYPE(value)->tp_name, "ModelState") == 0);
}

/* ---- what has a name: classes, functions, modules */

/* @name: a str, or NULL */
static bool put_known(struct fg_out *out, const char *kind, PyObject *name, const char *utf8)
{
    char text[2 * NAME_BYTES];
    size_t n = strlen(kind);

    if (fg_out_room(out) < 2 + sizeof(text) || (!utf8 && (!name || !fg_is_str(name))))
        return false;
    memcpy(text, kind, n);
    if (utf8) {
        size_t bytes = strnlen(utf8, NAME_BYTES);

        memcpy(text + n, utf8, bytes);
        n += bytes;
    } else {
        n += fg_utf8_copy(name, text + n, NAME_BYTES + 1);
    }
    text[n++] = '>';
    fg_put_tag(out, FG_VALUE_MEMBER);
    fg_put_counted(out, text, n);
    return true;
}

static bool put_class(struct fg_out *out, PyTypeObject *class)
{
    bool is_heap = class->tp_flags & Py_TPFLAGS_HEAPTYPE;

    return put_known(out, "<class ", is_heap ? ((PyHeapTypeObject *)class)->ht_qualname : NULL,
                     is_heap ? NULL : fg_type_name(class));
}

static bool put_callable(struct fg_out *out, PyObject *value)
{
    if (fg_is_function(value))
        return put_known(out, "<function ", ((PyFunctionObject *)value)->func_qualname, NULL);
    if (PyMethod_Check(value) && fg_is_function(PyMethod_GET_FUNCTION(value)))
        return put_known(out, "<method ", ((PyFunctionObject *)PyMethod_GET_FUNCTION(value))->func_qualname,
                         NULL);
    return PyCFunction_Check(value) &&
           put_known(out, "<built-in ", NULL, ((PyCFunctionObject *)value)->m_ml->ml_name);
}

static bool put_module(struct fg_out *out, PyObject *module)
{
    struct fg_table table = fg_table_of_instance(module);

    return put_known(out, "<module ", fg_table_get(&table, "__name__"), NULL);
}

struct attributes {
    uint32_t left;
    bool is_open, is_full;
};

/* An instance without attributes is shown by its address. */
static bool begin_attribute(struct fg_out *out, PyObject *object, struct attributes *attributes)
{
    if (!attributes->is_open) {
        open_parts(out, FG_FORM_CALL, 0, Py_TYPE(object));
        attributes->is_open = true;
    }
    if (attributes->left-- == 0)
        attributes->is_full = true;
    return !attributes->is_full;
}

static bool put_named_text(struct fg_out *out, const char *name, PyObject *value, uint32_t depth)
{
    size_t bytes = strlen(name);

    return put_named_utf8(out, name, bytes, value, 1, depth, fg_value_style_hides(out->style, name, bytes));
}

static void put_slots_of(struct fg_out *out, PyObject *object, const PyTypeObject *type, uint32_t depth,
                         struct attributes *attributes)
{
    for (const PyMemberDef *member = type->tp_members; member && member->name && !attributes->is_full;
         member++) {
        PyObject *value = fg_member_is_object(member) ? fg_member_object(object, member) : NULL;

        if (value && begin_attribute(out, object, attributes) &&
            !put_named_text(out, member->name, value, depth))
            attributes->is_full = true;
    }
}

/* Those of the base classes first. */
static void put_slots(struct fg_out *out, PyObject *object, uint32_t depth, struct attributes *attributes)
{
    const PyTypeObject *classes[MAX_BASES], *type = Py_TYPE(object);
    int n = 0;

    for (; type && fg_is_class_in_python(type) && n < MAX_BASES; type = type->tp_base) {
        if (Py_SIZE(type) > 0) /* it has slots */
            classes[n++] = type;
    }
    while (n > 0 && !attributes->is_full)
        put_slots_of(out, object, classes[--n], depth, attributes);
}

static void put_dictionary(struct fg_out *out, PyObject *object, uint32_t depth,
                           struct attributes *attributes)
{
    struct fg_table table = fg_table_of_instance(object);
    Py_ssize_t n = table.n;
    PyObject *key, *value;

    for (Py_ssize_t i = 0; i < n && i < MAX_SCAN && !attributes->is_full; i++) {
        if (!fg_table_entry(&table, i, &key, &value) || !fg_is_str(key) || is_of_framework(key, value))
            continue;
        if (begin_attribute(out, object, attributes) && !put_short_attribute(out, key, value) &&
            !put_named(out, key, value, n - i - 1, depth))
            attributes->is_full = true;
    }
}

static bool put_attributes(struct fg_out *out, PyObject *object, uint32_t depth)
{
    struct attributes attributes = {.left = MAX_ATTRIBUTES};

    put_slots(out, object, depth - 1, &attributes);
    put_dictionary(out, object, depth - 1, &attributes);
    if (!attributes.is_open)
        return false;
    if (attributes.is_full)
        put_more(out);
    close_parts(out);
    return true;
}

/* ---- exceptions */

/* @cause: NULL: there is none, or it is left out */
static bool put_with_cause(struct fg_out *out, PyObject *exception, PyObject *cause, uint32_t depth)
{
    PyObject *args = ((PyBaseExceptionObject *)exception)->args;
    bool is_whole;

    if (!args || !PyTuple_Check(args))
        return false;
    open_parts(out, FG_FORM_CALL, PyTuple_GET_SIZE(args), Py_TYPE(exception));
    is_whole = put_items(out, ((PyTupleObject *)args)->ob_item, PyTuple_GET_SIZE(args), cause ? MAX_KEPT : 0,
                         depth - 1);
    if (cause)
        is_whole &= put_named_text(out, "__cause__", cause, depth);
    if (!is_whole)
        put_more(out);
    close_parts(out);
    return true;
}

void fg_put_exception(struct fg_out *out, PyObject *exception, uint32_t depth)
{
    PyObject *cause = ((PyBaseExceptionObject *)exception)->cause;

    if (!put_with_cause(out, exception, cause && PyExceptionInstance_Check(cause) ? cause : NULL, depth))
        fg_put_object(out, exception);
}

/* ---- all of them */

/* Built-in containers, exceptions, and what has them as a base. */
static bool put_container(struct fg_out *out, PyObject *value, uint32_t depth)
{
    PyTypeObject *type = Py_TYPE(value);

    if (PyList_Check(value))
        return put_sequence(out, FG_FORM_LIST, unless(value, &PyList_Type), ((PyListObject *)value)->ob_item,
                            PyList_GET_SIZE(value), depth);
    if (PyTuple_Check(value))
        return put_tuple(out, value, depth);
    if (fg_dict_type(value))
        return put_dict(out, value, depth);
    if (PyAnySet_Check(value))
        return put_set(out, value, depth);
    if (PyExceptionInstance_Check(value))
        return put_with_cause(out, value, NULL, depth);
    if ((type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) && strcmp(type->tp_name, "collections.deque") == 0)
        return put_deque(out, value, depth);
    return false;
}

/* Whether instances of the class are nothing but their attributes: it and its bases but object are written in
 * Python, and have no slots. */
FG_NOINLINE static bool find_ordinary(const PyTypeObject *type)
{
    if (is_enum(type) || fg_pandas_kind(type))
        return false;
    for (; type && type != &PyBaseObject_Type; type = type->tp_base)
        if (!fg_is_class_in_python(type) || Py_SIZE(type) > 0 || strcmp(type->tp_name, "PurePath") == 0 ||
            strcmp(type->tp_name, "UUID") == 0)
            return false;
    return true;
}

/* A class that changes gets another version, and so has a later one at its address. */
static inline bool is_ordinary(const PyTypeObject *type)
{
    static struct fg_verdicts verdicts;
    uint64_t key = fg_verdict_key((uintptr_t)type, type->tp_version_tag);
    int found;

    if (!type->tp_version_tag)
        return false;
    found = fg_verdict_find(&verdicts, key);
    if (fg_unlikely(found < 0)) {
        found = find_ordinary(type);
        fg_verdict_keep(&verdicts, key, found);
    }
    return found;
}

static bool put_deep(struct fg_out *out, PyObject *value, uint32_t depth)
{
    PyTypeObject *type = Py_TYPE(value);
    bool is_python = fg_is_class_in_python(type);

    if (is_python && is_ordinary(type))
        return depth && put_attributes(out, value, depth);
    if (PyType_Check(value))
        return put_class(out, (PyTypeObject *)value);
    if (PyModule_Check(value))
        return put_module(out, value);
    if (is_python && is_enum(type) && put_member(out, value))
        return true;
    if (put_base(out, value) || fg_put_shown(out, value))
        return true;
    if (is_python ? put_pandas(out, value) : fg_is_ndarray(value) && put_array(out, value))
        return true;
    if (!is_python && (put_callable(out, value) || put_scalar(out, value)))
        return true;
    if (!depth)
        return false;
    return put_container(out, value, depth) || (is_python && put_attributes(out, value, depth));
}

#else

/* Another thread may change or free all but what never changes: tuples, dates, times, Decimal. */
static bool put_deep(struct fg_out *out, PyObject *value, uint32_t depth)
{
    return fg_put_shown(out, value) || (depth && PyTuple_Check(value) && put_tuple(out, value, depth));
}

void fg_put_exception(struct fg_out *out, PyObject *exception, uint32_t depth)
{
    (void)depth;
    fg_put_object(out, exception);
}

#endif
