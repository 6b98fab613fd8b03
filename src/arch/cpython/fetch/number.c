/* See number.h. */
#include "arch/cpython/fetch/number.h"

#include "arch/cpython/base/compat/integer.h"
#include "arch/cpython/fetch/item.h"
#include "arch/cpython/value/numpy.h"
#include "engine/base/compiler.h"

/* Ints and floats are immutable, but their class may be changed without the GIL. */
static bool is_plain_int(PyObject *object)
{
    const PyNumberMethods *methods = Py_TYPE(object)->tp_as_number;

    return PyLong_CheckExact(object) ||
           (PyLong_Check(object) && methods->nb_int == PyLong_Type.tp_as_number->nb_int &&
            methods->nb_index == PyLong_Type.tp_as_number->nb_index);
}

static bool is_plain_float(PyObject *object)
{
    return PyFloat_CheckExact(object) || (PyFloat_Check(object) && Py_TYPE(object)->tp_as_number->nb_float ==
                                                                       PyFloat_Type.tp_as_number->nb_float);
}

FG_NOINLINE static struct fg_fetched wide_int(PyObject *object)
{
    uint64_t bits;
    int kind = fg_int_bits(object, &bits);

    if (kind < 2)
        return kind == 0 ? fg_fetched_signed((int64_t)bits) : fg_fetched_unsigned(bits);
    return (struct fg_fetched){
        .kind = FG_FETCHED_BIG, .n = (uint32_t)_PyLong_NumBits(object), .number = kind == 3};
}

static struct fg_fetched number_of(PyObject *object)
{
    int64_t number;

    if (fg_likely(is_plain_int(object)))
        return fg_int_is_compact(object, &number) ? fg_fetched_signed(number) : wide_int(object);
    if (is_plain_float(object))
        return fg_fetched_real(PyFloat_AS_DOUBLE(object));
    return fg_numpy_number(object);
}

static bool is_object(struct fg_fetched from)
{
    return from.kind == FG_FETCHED_OBJECT || from.kind == FG_FETCHED_RAISED;
}

struct fg_fetched fg_fetched_number(struct fg_fetched from)
{
    return is_object(from) ? number_of(from.object) : from;
}

bool fg_fetched_real_number(struct fg_fetched from, double *real)
{
    struct fg_fetched number = fg_fetched_number(from);

    switch (number.kind) {
    case FG_FETCHED_REAL:
        *real = number.real;
        return true;
    case FG_FETCHED_SIGNED:
        *real = (double)number.number;
        return true;
    case FG_FETCHED_UNSIGNED:
        *real = (double)number.word;
        return true;
    case FG_FETCHED_BIG: /* below 2**1023 it neither overflows nor raises */
        *real = number.n < 1024 ? PyLong_AsDouble(from.object) : 0.0;
        return number.n < 1024;
    default:
        return false;
    }
}

struct fg_fetched fg_fetched_bits(struct fg_fetched from, uint64_t first, uint64_t n)
{
    struct fg_fetched number = fg_fetched_number(from);
    uint64_t word;

    switch (number.kind) {
    case FG_FETCHED_SIGNED:
    case FG_FETCHED_UNSIGNED:
        word = number.word;
        break;
    case FG_FETCHED_BIG: /* of an int it neither raises nor calls */
        word = PyLong_AsUnsignedLongLongMask(from.object);
        break;
    default:
        return fg_fetched_fault();
    }
    return fg_fetched_unsigned((word >> first) & (UINT64_MAX >> (64 - n)));
}

/* An object whose class has neither __bool__ nor __len__ is true. */
static bool is_always_true(const PyTypeObject *type)
{
    return !(type->tp_as_number && type->tp_as_number->nb_bool) &&
           !(type->tp_as_mapping && type->tp_as_mapping->mp_length) &&
           !(type->tp_as_sequence && type->tp_as_sequence->sq_length);
}

/* A container may have a __bool__ beside its length; an int's or a float's is compared with the base's. */
static int truth_of_object(struct fg_fetched from)
{
    const PyNumberMethods *methods = Py_TYPE(from.object)->tp_as_number;
    struct fg_fetched length;

    if (from.object == Py_None)
        return 0;
    if (is_always_true(Py_TYPE(from.object)))
        return 1;
    length = fg_fetch_len(from);
    if (length.kind != FG_FETCHED_SIGNED || (methods && methods->nb_bool && !PyRange_Check(from.object)))
        return -1;
    return length.number != 0;
}

static bool keeps_truth(PyObject *object)
{
    const PyTypeObject *base = PyLong_Check(object)    ? &PyLong_Type
                               : PyFloat_Check(object) ? &PyFloat_Type
                                                       : Py_TYPE(object);

    return (Py_TYPE(object)->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) ||
           Py_TYPE(object)->tp_as_number->nb_bool == base->tp_as_number->nb_bool;
}

int fg_fetched_truth(struct fg_fetched from)
{
    struct fg_fetched number = fg_fetched_number(from);

    if (is_object(from) && number.kind != FG_FETCHED_FAULT && !keeps_truth(from.object))
        return -1;
    switch (number.kind) {
    case FG_FETCHED_REAL:
        return number.real != 0;
    case FG_FETCHED_SIGNED:
        return number.number != 0;
    case FG_FETCHED_FAULT:
        return is_object(from) ? truth_of_object(from) : -1;
    default:
        return number.kind == FG_FETCHED_TEXT || number.kind == FG_FETCHED_LENGTHS ? number.n != 0 : 1;
    }
}
