/* See event_fields.h. */
#define _GNU_SOURCE
#include "binding/event/event_fields.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binding/base/raise.h"

/* ---- the layout: `TYPE NAME COUNT OFFSET` of each field, joined by ';' */

static const char *const type_names[] = {
#define X(type, name, bytes) name,
    FG_FIELD_TYPES(X)
#undef X
};

/* The faults come last. */
static void put_faults(FILE *stream, const struct fg_hist_fields *fields)
{
    uint32_t first = 0, end = 0;

    for (uint32_t i = 0; i < fields->n; i++) {
        const struct fg_field *field = &fields->fields[i];

        if (!field->fault_bit)
            continue;
        first = first ? first : field->fault_bit / 8u;
        end = (field->fault_bit + (field->count ? field->count : 1u) + 7) / 8;
    }
    if (end)
        fprintf(stream, ";%s %s %u %u", type_names[FG_FIELD_U8], FG_FIELD_FAULTS, end - first, first);
}

/* Return: a new text, or NULL with MemoryError. */
static char *layout_of(const struct fg_hist_fields *fields)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);

    for (uint32_t i = 0; stream && i < fields->n; i++) {
        const struct fg_field *field = &fields->fields[i];

        fprintf(stream, "%s%s %s %u %u", i ? ";" : "", type_names[field->type], fields->names[i],
                field->count, field->offset);
    }
    if (stream)
        put_faults(stream, fields);
    if (stream && fclose(stream) == 0)
        return text;
    free(text);
    PyErr_NoMemory();
    return NULL;
}

/* ---- the fields that an event has */

struct fg_hist_fields fg_event_layout_fields(const struct fg_fetch_layout *layout)
{
    return (struct fg_hist_fields){layout->names, layout->fields, layout->nr_fields, 0};
}

struct fg_hist_fields fg_event_described(const struct fg_event_object *self)
{
    return (struct fg_hist_fields){self->names, self->fields, self->nr_fields, 0};
}

/* Copies names, of which there are n. NULL with MemoryError. */
static const char **copy_names(const char *const *names, uint32_t n)
{
    size_t bytes = n * sizeof(char *);
    const char **copy;
    char *at;

    for (uint32_t i = 0; i < n; i++)
        bytes += strlen(names[i]) + 1;
    copy = malloc(bytes + 1);
    if (!copy) {
        PyErr_NoMemory();
        return NULL;
    }
    at = (char *)(copy + n);
    for (uint32_t i = 0; i < n; i++) {
        copy[i] = at;
        at = stpcpy(at, names[i]) + 1;
    }
    return copy;
}

int fg_event_take_fields(struct fg_event_object *self, const struct fg_hist_fields *fields)
{
    size_t bytes = fields->n * sizeof(self->fields[0]);

    self->layout = layout_of(fields);
    self->names = copy_names(fields->names, fields->n);
    self->fields = malloc(bytes + 1);
    if (!self->fields)
        PyErr_NoMemory();
    if (!self->layout || !self->names || !self->fields)
        return -1;
    memcpy(self->fields, fields->fields, bytes);
    self->nr_fields = fields->n;
    return 0;
}

/* ---- what reads them */

int fg_event_program(const struct fg_event_object *self, PyObject *fields, struct fg_event_program *program)
{
    struct fg_hist_fields its_fields;
    char *layout;
    bool is_same;

    if (fg_event_program_make(program, fields, self->place, self->is_native) != 0)
        return -1;
    its_fields = fg_event_layout_fields(fg_event_program_layout(program));
    layout = layout_of(&its_fields);
    is_same = layout && (!self->layout || strcmp(layout, self->layout) == 0);
    if (layout && !is_same)
        fg_raise_os_error(EEXIST, PyUnicode_FromFormat("the event has other fields: %s", self->layout));
    free(layout);
    if (is_same)
        return 0;
    fg_event_program_clear(program);
    return -1;
}

int fg_event_new_filter(const struct fg_event_object *self, PyObject *program,
                        struct fg_event_filter **filter)
{
    int error;

    *filter = NULL;
    if (program == Py_None)
        return 0;
    if (!PyBytes_Check(program)) {
        fg_raise_type("filter", "bytes or None", program);
        return -1;
    }
    error = fg_event_filter_make(filter, PyBytes_AS_STRING(program), (size_t)PyBytes_GET_SIZE(program),
                                 self->fields, self->nr_fields);
    if (error)
        fg_event_raise(error);
    return error ? -1 : 0;
}
