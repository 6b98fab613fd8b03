/* See program.h. */
#include "arch/cpython/fetch/program.h"

#include <errno.h>
#include <string.h>

#include "arch/cpython/base/compat/lookup.h"
#include "arch/cpython/fetch/check.h"
#include "arch/cpython/fetch/store.h"

/* What one text should have room for in entry data, if there is as much: a value of the usual length. */
#define ENTRY_TEXT_BYTES 60u

enum operand { NOTHING, TEXT, NUMBER, EITHER };

struct word {
    const char *name;
    enum operand operand;
};

static const struct word sources[] = {
#define X(id, name, operand) {name, operand},
    FG_FETCH_SOURCES(X)
#undef X
};
static const struct word steps[] = {
#define X(id, name, operand) {name, operand},
    FG_FETCH_STEPS(X)
#undef X
};

#define NR(table) ((int)(sizeof(table) / sizeof((table)[0])))

/* ---- operands */

static int intern(struct fg_fetch_operand *operand, PyObject *text)
{
    operand->key = PyUnicode_FromObject(text); /* an exact str */
    if (operand->key)
        PyUnicode_InternInPlace(&operand->key);
    operand->text = operand->key ? PyUnicode_AsUTF8(operand->key) : NULL;
    if (!operand->text)
        return -1;
    operand->hash = PyObject_Hash(operand->key);
    return 0;
}

static int intern_name(struct fg_fetch_operand *operand, const char *name)
{
    PyObject *text = PyUnicode_FromString(name);
    int error = text ? intern(operand, text) : -1;

    Py_XDECREF(text);
    return error;
}

/* Any int may be a key of a dict or an immediate; indices fit 64 bits. */
static int set_number(struct fg_fetch_operand *operand, PyObject *number)
{
    int overflow;

    operand->number = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow && _PyLong_NumBits(number) > 64) {
        PyErr_Format(PyExc_ValueError, "%R has more than 64 bits", number);
        return -1;
    }
    if (overflow)
        operand->number = overflow < 0 ? INT64_MIN : INT64_MAX;
    operand->key = Py_NewRef(number);
    operand->hash = PyObject_Hash(number);
    return 0;
}

static int raise_word(PyObject *word, const char *kind)
{
    PyErr_Format(PyExc_ValueError, "invalid %s: %R", kind, word);
    return -1;
}

static int set_operand(struct fg_fetch_operand *operand, PyObject *word, enum operand kind, const char *what)
{
    PyObject *given = PyTuple_GET_SIZE(word) == 2 ? PyTuple_GET_ITEM(word, 1) : NULL;

    if (given && PyUnicode_Check(given) && (kind == TEXT || kind == EITHER))
        return intern(operand, given);
    if (given && PyLong_CheckExact(given) && (kind == NUMBER || kind == EITHER))
        return set_number(operand, given);
    return !given && kind == NOTHING && PyTuple_GET_SIZE(word) == 1 ? 0 : raise_word(word, what);
}

/* Parses ("NAME", OPERAND). Return: the index of the name in the table; -1 with an exception. */
static int parse_word(PyObject *word, const struct word *table, int n, const char *what,
                      struct fg_fetch_operand *operand)
{
    PyObject *name = PyTuple_Check(word) && PyTuple_GET_SIZE(word) > 0 ? PyTuple_GET_ITEM(word, 0) : NULL;

    for (int i = 0; name && PyUnicode_Check(name) && i < n; i++) {
        if (PyUnicode_CompareWithASCIIString(name, table[i].name) == 0)
            return set_operand(operand, word, table[i].operand, what) == 0 ? i : -1;
    }
    return raise_word(word, what);
}

/* ---- steps */

/* The descriptor enum.Enum.__dict__[name]; new reference, or NULL. An enum that exists has imported enum. */
static PyObject *enum_property(const char *name)
{
    PyObject *module = fg_imported("enum", strlen("enum"));
    PyObject *of_module = module ? PyModule_GetDict(module) : NULL; /* borrowed */
    PyObject *class = of_module ? fg_dict_get(of_module, "Enum") : NULL;
    PyObject *key = PyUnicode_FromString(name);
    PyObject *found = class && key && PyType_Check(class) ? fg_type_lookup((PyTypeObject *)class, key) : NULL;

    Py_XDECREF(key);
    Py_XDECREF(class);
    Py_XDECREF(module);
    PyErr_Clear();
    return found;
}

static int complete_attr(struct fg_fetch_step *step)
{
    bool is_value = strcmp(step->operand.text, "value") == 0;

    if (!is_value && strcmp(step->operand.text, "name") != 0)
        return 0;
    step->enum_property = enum_property(step->operand.text);
    return intern_name(&step->hidden, is_value ? "_value_" : "_name_");
}

static bool are_bits(int64_t number)
{
    uint64_t n = FG_FETCH_NR_BITS(number);

    return n >= 1 && n <= 64 && FG_FETCH_FIRST_BIT(number) + n <= 64;
}

static int parse_step(struct fg_fetch_step *step, PyObject *word)
{
    int kind = parse_word(word, steps, NR(steps), "step", &step->operand);

    if (kind < 0)
        return -1;
    step->kind = (enum fg_fetch_step_kind)kind;
    step->hint = PyMem_Calloc(1, sizeof(*step->hint));
    if (!step->hint) {
        PyErr_NoMemory();
        return -1;
    }
    step->hint->entry = -1;
    if (step->kind == FG_FETCH_STEP_BITS && !are_bits(step->operand.number))
        return raise_word(word, "step");
    if (step->kind == FG_FETCH_STEP_LEN || step->kind == FG_FETCH_STEP_BITS)
        return 0;
    if (step->kind != FG_FETCH_STEP_ATTR)
        return intern_name(&step->method, "__getitem__");
    return intern_name(&step->method, "__getattribute__") == 0 ? complete_attr(step) : -1;
}

static int parse_steps(struct fg_fetch_field *field, PyObject *words)
{
    Py_ssize_t n = PyTuple_Check(words) ? PyTuple_GET_SIZE(words) : -1;

    if (n < 0 || n > (Py_ssize_t)FG_FETCH_MAX_STEPS) {
        PyErr_Format(PyExc_ValueError, "steps must be a tuple of at most %u, got %R", FG_FETCH_MAX_STEPS,
                     words);
        return -1;
    }
    field->steps = PyMem_Calloc((size_t)n + 1, sizeof(*field->steps));
    if (!field->steps) {
        PyErr_NoMemory();
        return -1;
    }
    for (; field->nr_steps < n; field->nr_steps++) {
        if (parse_step(&field->steps[field->nr_steps], PyTuple_GET_ITEM(words, field->nr_steps)) != 0) {
            field->nr_steps++; /* so that it is freed */
            return -1;
        }
    }
    return 0;
}

/* ---- fields */

static int parse_source(struct fg_fetch_field *field, PyObject *word)
{
    int source = parse_word(word, sources, NR(sources), "source", &field->operand);

    if (source < 0)
        return -1;
    field->source = (enum fg_fetch_source)source;
    if (field->source == FG_FETCH_ARG && field->operand.number < 1)
        return raise_word(word, "source: arguments count from 1");
    if (field->source == FG_FETCH_STACK && field->operand.number < 0)
        return raise_word(word, "source: stack slots count from 0");
    return 0;
}

/* The type of a field that names none, from its source. */
static enum fg_field_type type_of_source(const struct fg_fetch_field *field)
{
    if (field->nr_steps == 0 && field->source == FG_FETCH_SYMBOL)
        return FG_FIELD_SYMBOL;
    if (field->nr_steps == 0 &&
        (field->source == FG_FETCH_COMM || (field->source == FG_FETCH_IMM && field->operand.text)))
        return FG_FIELD_STRING;
    return FG_FIELD_VALUE;
}

static int set_layout(struct fg_field *layout, struct fg_fetch_field *field, PyObject *type, PyObject *count)
{
    const char *name = PyUnicode_Check(type) ? PyUnicode_AsUTF8(type) : NULL;
    int number = name ? fg_field_type_by_name(name) : -1;
    int overflow;
    long n = PyLong_CheckExact(count) ? PyLong_AsLongAndOverflow(count, &overflow) : -1;

    if (PyErr_Occurred())
        return -1;
    if (number < 0 || n < 0 || n > UINT8_MAX) {
        PyErr_Format(PyExc_ValueError, "invalid type of a field: %R, count %R", type, count);
        return -1;
    }
    layout->type = (uint8_t)(number == FG_FIELD_VALUE && n == 0 ? (int)type_of_source(field) : number);
    layout->count = (uint8_t)n;
    field->int_bytes =
        layout->type <= FG_FIELD_X64 && n == 0 ? (uint8_t)fg_field_element_bytes(layout->type) : 0;
    return n ? intern_name(&field->getitem, "__getitem__") : 0;
}

static int parse_field(struct fg_fetch_program *program, uint32_t i, PyObject *given)
{
    struct fg_fetch_field *field = &program->of[i];

    if (!PyTuple_Check(given) || PyTuple_GET_SIZE(given) != 5 ||
        !PyUnicode_Check(PyTuple_GET_ITEM(given, 0))) {
        PyErr_Format(PyExc_TypeError, "a field must be (name, type, count, source, steps), got %R", given);
        return -1;
    }
    field->name = Py_NewRef(PyTuple_GET_ITEM(given, 0));
    program->image.names[i] = PyUnicode_AsUTF8(field->name);
    field->slot = PyMem_Calloc(1, sizeof(*field->slot));
    if (!field->slot)
        PyErr_NoMemory();
    if (!program->image.names[i] || !field->slot || parse_source(field, PyTuple_GET_ITEM(given, 3)) != 0 ||
        parse_steps(field, PyTuple_GET_ITEM(given, 4)) != 0)
        return -1;
    field->is_of_entry =
        program->image.is_return && (field->source == FG_FETCH_NAME || field->source == FG_FETCH_ARG);
    return set_layout(&program->image.fields[i], field, PyTuple_GET_ITEM(given, 1),
                      PyTuple_GET_ITEM(given, 2));
}

/* ---- where everything lies */

int fg_fetch_raise_too_long(const struct fg_fetch_too_long *too_long)
{
    PyObject *text = PyUnicode_FromFormat(
        "%s: the fields need %u bytes, and %u is the limit; use fewer fields, or give them shorter types",
        too_long->what, too_long->bytes, too_long->limit);
    PyObject *args = text ? Py_BuildValue("(iN)", E2BIG, text) : NULL;

    if (args)
        PyErr_SetObject(PyExc_OSError, args);
    Py_XDECREF(args);
    return -E2BIG;
}

static int lay_out_entry(struct fg_fetch_program *program)
{
    uint32_t end = 0, bit, later = 0, texts = 0, most;

    for (uint32_t i = program->image.nr_fields; i-- > 0;) {
        if (program->of[i].is_of_entry) {
            program->of[i].later_in_entry = (uint16_t)later;
            later += fg_fetch_nr_texts(&program->image.fields[i]) * FG_FETCH_MIN_TEXT;
        }
    }
    for (uint32_t i = 0; i < program->image.nr_fields; i++) {
        if (program->of[i].is_of_entry) {
            program->of[i].in_entry = program->image.fields[i];
            program->of[i].in_entry.offset = (uint16_t)end;
            end += fg_fetch_fixed_bytes(&program->image.fields[i]);
            texts += fg_fetch_nr_texts(&program->image.fields[i]);
        }
    }
    program->entry_faults_at = (uint16_t)end;
    bit = end * 8;
    for (uint32_t i = 0; i < program->image.nr_fields; i++) {
        if (program->of[i].is_of_entry)
            bit = fg_field_place_faults(&program->of[i].in_entry, bit);
    }
    end = (bit + 7) / 8;
    if (end + later > FG_FETCH_MAX_ENTRY_BYTES)
        return fg_fetch_raise_too_long(&(struct fg_fetch_too_long){
            "a return event keeps too many arguments from the entry", end + later, FG_FETCH_MAX_ENTRY_BYTES});
    most = end + texts * ENTRY_TEXT_BYTES;
    program->entry_fixed = (uint16_t)end;
    program->entry_bytes = (uint16_t)(most < FG_FETCH_MAX_ENTRY_BYTES ? most : FG_FETCH_MAX_ENTRY_BYTES);
    return 0;
}

static int lay_out(struct fg_fetch_program *program)
{
    struct fg_fetch_too_long too_long;

    return fg_fetch_lay_out(&program->image, &too_long) == 0 ? lay_out_entry(program)
                                                             : fg_fetch_raise_too_long(&too_long);
}

/* ---- programs */

/* Return: as fg_fetch_program_new(), with an exception. */
static int allocate(uint32_t n, enum fg_fetch_place place, struct fg_fetch_program **made)
{
    struct fg_fetch_program *program = PyMem_Calloc(1, sizeof(*program));
    struct fg_fetch_too_long too_long;
    int error = program ? fg_fetch_layout_new(&program->image, n, place, &too_long) : -ENOMEM;

    if (!error)
        program->of = PyMem_Calloc((size_t)n + 1, sizeof(*program->of));
    if (!error && !program->of)
        error = -ENOMEM;
    if (!error) {
        *made = program;
        return 0;
    }
    fg_fetch_program_free(program);
    if (error == -E2BIG)
        return fg_fetch_raise_too_long(&too_long);
    PyErr_NoMemory();
    return error;
}

static int parse_fields(struct fg_fetch_program *program, PyObject *fields)
{
    for (uint32_t i = 0; i < program->image.nr_fields; i++) {
        if (parse_field(program, i, PyTuple_GET_ITEM(fields, i)) != 0)
            return PyErr_ExceptionMatches(PyExc_MemoryError) ? -ENOMEM : -EINVAL;
    }
    return 0;
}

/* @fields is a tuple. */
static int make(PyObject *fields, enum fg_fetch_place place, struct fg_fetch_program **made)
{
    struct fg_fetch_program *program = NULL;
    int error = allocate((uint32_t)PyTuple_GET_SIZE(fields), place, &program);

    if (error)
        return error;
    error = parse_fields(program, fields);
    if (!error)
        error = lay_out(program);
    if (error)
        fg_fetch_program_free(program);
    else
        *made = program;
    return error;
}

int fg_fetch_program_new(PyObject *fields, enum fg_fetch_place place, struct fg_fetch_program **made)
{
    PyObject *tuple = PySequence_Tuple(fields);
    int error = -EINVAL;

    *made = NULL;
    if (tuple && fg_fetch_check() == 0)
        error = make(tuple, place, made);
    Py_XDECREF(tuple);
    return error;
}

static void free_step(struct fg_fetch_step *step)
{
    Py_XDECREF(step->operand.key);
    Py_XDECREF(step->hidden.key);
    Py_XDECREF(step->enum_property);
    Py_XDECREF(step->method.key);
    PyMem_Free(step->hint);
}

static void free_field(struct fg_fetch_field *field)
{
    for (uint32_t i = 0; i < field->nr_steps; i++)
        free_step(&field->steps[i]);
    PyMem_Free(field->steps);
    PyMem_Free(field->slot);
    Py_XDECREF(field->getitem.key);
    Py_XDECREF(field->operand.key);
    Py_XDECREF(field->name);
}

void fg_fetch_program_free(struct fg_fetch_program *program)
{
    if (!program)
        return;
    for (uint32_t i = 0; program->of && i < program->image.nr_fields; i++)
        free_field(&program->of[i]);
    fg_fetch_layout_clear(&program->image);
    PyMem_Free(program->of);
    PyMem_Free(program);
}
