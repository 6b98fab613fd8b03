/* The engine's event filters without the engine, for the tests: test_filter_model.py loads this by ctypes.
 *
 * Programs and images are copied to the end of a page, with nothing mapped after it: a read beyond them ends
 * the test. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "engine/core/task.h"
#include "engine/filter/filter.h"

#define ROOM_BYTES (64u << 10)

/* Of task.c, which needs the whole engine. */
_Thread_local struct fg_task *fg_task_self __attribute__((tls_model("initial-exec")));

static struct fg_task named_task;

const char *probe_operations = ""
#define X(operation, name) name " "
    FG_EVENT_FILTER_OPERATIONS(X)
#undef X
    ;

const char *probe_operands = ""
#define X(operand, name) name " "
    FG_EVENT_FILTER_OPERANDS(X)
#undef X
    ;

const char *probe_sources = ""
#define X(source, name, type, offset) name " "
    FG_EVENT_FILTER_SOURCES(X)
#undef X
    ;

/* Gives this thread a task of this name, or none. */
void probe_name_task(const char *name)
{
    fg_task_self = name ? &named_task : NULL;
    if (name)
        snprintf(named_task.name, sizeof(named_task.name), "%s", name);
}

static const uint8_t *at_the_end(const void *what, size_t bytes)
{
    static uint8_t *room;

    if (!room) {
        room = mmap(NULL, 2 * ROOM_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (room == MAP_FAILED || mprotect(room + ROOM_BYTES, ROOM_BYTES, PROT_NONE))
            return NULL;
    }
    return bytes <= ROOM_BYTES ? memcpy(room + ROOM_BYTES - bytes, what, bytes) : NULL;
}

int probe_make(struct fg_event_filter **filter, const void *program, size_t bytes,
               const struct fg_field *fields, uint32_t nr_fields)
{
    return fg_event_filter_make(filter, at_the_end(program, bytes), bytes, fields, nr_fields);
}

bool probe_matches(const struct fg_event_filter *filter, const uint8_t *image, uint32_t bytes)
{
    return fg_event_filter_matches(filter, at_the_end(image, bytes), bytes);
}
