/* See numpy.h. */
#include "arch/cpython/value/numpy.h"

#include <string.h>

/* PyArrayObject_fields, and PyArray_Descr as far as all versions of numpy have it. */
struct descr {
    PyObject_HEAD;
    PyTypeObject *typeobj;
};

struct array {
    PyObject_HEAD;
    char *data;
    int nd;
    Py_ssize_t *dimensions, *strides;
    PyObject *base;
    struct descr *descr;
};

/* A class that is written in Python may have any name, but is not immutable. */
static bool is_of_numpy(const PyTypeObject *type)
{
    return (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) && strncmp(type->tp_name, "numpy.", 6) == 0;
}

bool fg_is_ndarray(PyObject *object)
{
    const PyTypeObject *type = Py_TYPE(object);

    return is_of_numpy(type) && strcmp(type->tp_name, "numpy.ndarray") == 0 &&
           type->tp_basicsize >= (Py_ssize_t)sizeof(struct array);
}

/* numpy.bool_ and others end with an underscore, which the data type does not have. */
static struct fg_fetched type_name(const PyTypeObject *type)
{
    const char *dot = strrchr(type->tp_name, '.'), *name = dot ? dot + 1 : type->tp_name;
    size_t n = strlen(name);

    if (n && name[n - 1] == '_')
        n--;
    return (struct fg_fetched){.kind = FG_FETCHED_TEXT, .text = name, .n = (uint32_t)n};
}

static int64_t size_of(const struct array *array)
{
    int64_t size = 1;

    for (int i = 0; i < array->nd; i++)
        size *= array->dimensions[i];
    return size;
}

struct fg_fetched fg_ndarray_attr(PyObject *object, const char *name)
{
    const struct array *array = (const struct array *)object;

    if (!fg_is_ndarray(object))
        return fg_fetched_fault();
    if (strcmp(name, "shape") == 0)
        return (struct fg_fetched){
            .kind = FG_FETCHED_LENGTHS, .lengths = array->dimensions, .n = (uint32_t)array->nd};
    if (strcmp(name, "ndim") == 0)
        return fg_fetched_signed(array->nd);
    if (strcmp(name, "size") == 0)
        return fg_fetched_signed(size_of(array));
    return strcmp(name, "dtype") == 0 ? type_name(array->descr->typeobj) : fg_fetched_fault();
}

struct fg_fetched fg_ndarray_len(PyObject *object)
{
    const struct array *array = (const struct array *)object;

    return array->nd > 0 ? fg_fetched_signed(array->dimensions[0]) : fg_fetched_fault();
}

/* ---- scalars: the number lies after the object's head */

/* X(name after "numpy.", C type, function) */
#define SCALARS(X)                                                                                           \
    X("float64", double, fg_fetched_real)                                                                    \
    X("float32", float, fg_fetched_real)                                                                     \
    X("int64", int64_t, fg_fetched_signed)                                                                   \
    X("int32", int32_t, fg_fetched_signed)                                                                   \
    X("int16", int16_t, fg_fetched_signed)                                                                   \
    X("int8", int8_t, fg_fetched_signed)                                                                     \
    X("longlong", long long, fg_fetched_signed)                                                              \
    X("uint64", uint64_t, fg_fetched_unsigned)                                                               \
    X("uint32", uint32_t, fg_fetched_signed)                                                                 \
    X("uint16", uint16_t, fg_fetched_signed)                                                                 \
    X("uint8", uint8_t, fg_fetched_signed)                                                                   \
    X("ulonglong", unsigned long long, fg_fetched_unsigned)                                                  \
    X("bool", uint8_t, fg_fetched_signed)                                                                    \
    X("bool_", uint8_t, fg_fetched_signed)

struct fg_fetched fg_numpy_number(PyObject *scalar)
{
    const PyTypeObject *type = Py_TYPE(scalar);
    const char *at = (const char *)scalar + sizeof(PyObject);
    size_t bytes = (size_t)type->tp_basicsize - sizeof(PyObject);

    if (!is_of_numpy(type))
        return fg_fetched_fault();
#define X(name, ctype, function)                                                                             \
    if (strcmp(type->tp_name + 6, name) == 0 && bytes >= sizeof(ctype)) {                                    \
        ctype number;                                                                                        \
                                                                                                             \
        memcpy(&number, at, sizeof(number));                                                                 \
        return function(number);                                                                             \
    }
    SCALARS(X)
#undef X
    return fg_fetched_fault();
}
