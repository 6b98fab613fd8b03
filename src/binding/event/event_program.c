/* See event_program.h. */
#include "binding/event/event_program.h"

#include <errno.h>
#include <string.h>

#include "engine/fetch/native_program.h"

static const char *const source_names[] = {
#define X(id, name) name,
    FG_NATIVE_SOURCES(X)
#undef X
};
#define NR_SOURCES (sizeof(source_names) / sizeof(source_names[0]))

static int raise_word(PyObject *word, const char *kind)
{
    PyErr_Format(PyExc_ValueError, "invalid %s: %R", kind, word);
    return -1;
}

/* The low 64 bits. Return: 0, or -1 with an exception. */
static int take_number(PyObject *number, uint64_t *out)
{
    *out = PyLong_AsUnsignedLongLongMask(number);
    return PyErr_Occurred() ? -1 : 0;
}

static int take_operand(PyObject *operand, struct fg_native_field *field)
{
    if (!PyUnicode_Check(operand))
        return take_number(operand, &field->operand);
    field->text = (char *)(uintptr_t)PyUnicode_AsUTF8(operand); /* copied when the field is set */
    return field->text ? 0 : -1;
}

static int take_source(PyObject *word, struct fg_native_field *field)
{
    const char *name;
    PyObject *operand = NULL;

    if (!PyTuple_Check(word) || !PyArg_ParseTuple(word, "s|O", &name, &operand))
        return raise_word(word, "source");
    for (unsigned i = 0; i < NR_SOURCES; i++) {
        if (strcmp(name, source_names[i]) == 0) {
            field->source = (enum fg_native_source)i;
            return operand ? take_operand(operand, field) : 0;
        }
    }
    return raise_word(word, "source");
}

static int take_step(PyObject *word, struct fg_native_field *field)
{
    const char *name;
    PyObject *operand;
    uint64_t number;

    if (!PyTuple_Check(word) || !PyArg_ParseTuple(word, "sO!", &name, &PyLong_Type, &operand) ||
        take_number(operand, &number) != 0 || field->nr_bits || field->nr_derefs == FG_FETCH_MAX_STEPS)
        return raise_word(word, "step");
    if (strcmp(name, "deref") == 0) {
        field->derefs[field->nr_derefs++] = (int64_t)number;
        return 0;
    }
    field->first_bit = (uint8_t)FG_FETCH_FIRST_BIT(number);
    field->nr_bits = (uint8_t)FG_FETCH_NR_BITS(number);
    return strcmp(name, "bits") == 0 ? 0 : raise_word(word, "step");
}

/* Return: 0, or -1 with an exception. */
static int take_field(struct fg_native_program *program, uint32_t i, PyObject *given)
{
    struct fg_native_field field = {.text = NULL};
    const char *name, *type_name;
    PyObject *source, *steps;
    int type, error;
    unsigned char count;

    if (!PyTuple_Check(given) ||
        !PyArg_ParseTuple(given, "ssbOO!", &name, &type_name, &count, &source, &PyTuple_Type, &steps) ||
        take_source(source, &field) != 0)
        return PyErr_Occurred() ? -1 : raise_word(given, "field");
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(steps); k++) {
        if (take_step(PyTuple_GET_ITEM(steps, k), &field) != 0)
            return -1;
    }
    type = fg_field_type_by_name(type_name);
    error =
        type < 0 ? -EINVAL : fg_native_program_set(program, i, name, (enum fg_field_type)type, count, &field);
    if (error == -ENOMEM)
        PyErr_NoMemory();
    return error == -EINVAL ? raise_word(given, "field") : error;
}

/* Return: 0, or -1 with an exception. */
static int fill(struct fg_native_program *program, PyObject *tuple)
{
    struct fg_fetch_too_long too_long;

    for (uint32_t i = 0; i < program->layout.nr_fields; i++) {
        if (take_field(program, i, PyTuple_GET_ITEM(tuple, i)) != 0)
            return -1;
    }
    if (fg_native_program_finish(program, &too_long) == 0)
        return 0;
    fg_fetch_raise_too_long(&too_long);
    return -1;
}

/* NULL with an exception. */
static struct fg_native_program *make_native(PyObject *fields, enum fg_fetch_place place)
{
    PyObject *tuple = PySequence_Tuple(fields);
    struct fg_native_program *program = NULL;
    struct fg_fetch_too_long too_long;
    int error =
        tuple ? fg_native_program_new((uint32_t)PyTuple_GET_SIZE(tuple), place, &program, &too_long) : 0;

    if (error == -E2BIG)
        fg_fetch_raise_too_long(&too_long);
    else if (error)
        PyErr_NoMemory();
    if (program && fill(program, tuple) != 0) {
        fg_native_program_free(program);
        program = NULL;
    }
    Py_XDECREF(tuple);
    return program;
}

int fg_event_program_make(struct fg_event_program *program, PyObject *fields, enum fg_fetch_place place,
                          bool is_native)
{
    *program = (struct fg_event_program){NULL, NULL};
    if (!is_native)
        return fg_fetch_program_new(fields, place, &program->python) == 0 ? 0 : -1;
    program->native = make_native(fields, place);
    return program->native ? 0 : -1;
}

void fg_event_program_clear(struct fg_event_program *program)
{
    fg_fetch_program_free(program->python);
    fg_native_program_free(program->native);
    *program = (struct fg_event_program){NULL, NULL};
}
