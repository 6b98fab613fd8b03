/* The names of a trace: functions by index; tasks by lane, thread id and time. Filled once from the
 * trace's JSON. After that it changes only when an event has a task that the JSON does not know, and when
 * imports are folded (select/fold.h). Imports have indexes as functions have, from nr_functions + 1 on. */
#ifndef FG_NAME_TABLE_H
#define FG_NAME_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/hash_table.h"
#include "tracedata/base/arena.h"
#include "tracedata/base/text.h"

struct fg_label {
    const char *text;
    uint32_t bytes;
};

struct fg_function_name {
    struct fg_label name;
    const struct fg_label *arguments; /* "n=", "*args=" */
    uint32_t nr_arguments;
    uint32_t size_bytes; /* of native code; 0 for any other, where places are lines */
};

struct fg_task_name {
    char *name;
    uint32_t lane;
    int32_t tid;
    int32_t pid;
    uint64_t first_ns, last_ns;
    bool selected;
    uint32_t number; /* in the order in which they were added */
};

struct fg_name_table {
    struct fg_function_name *functions;
    struct fg_arena texts;  /* of functions */
    struct fg_text scratch; /* to make one of these */
    uint32_t nr_functions;
    struct fg_label *imports; /* by index: "import json" */
    uint32_t nr_imports;
    size_t imports_capacity;
    struct fg_hash_table imports_by_name; /* 1 + place */
    struct fg_task_name *tasks;           /* the known ones, of the JSON, by lane and time; then the others */
    uint32_t nr_tasks;
    uint32_t nr_known_tasks;
    size_t tasks_capacity;
    bool select_unknown;
    bool by_thread; /* to be set before the sort: no two tasks have the same lane and thread id, as in a
                     * kernel's trace. Its lanes have thousands, and are searched at each task switch */
    struct fg_hash_table threads;
};

/* Return, here and below: 0 or -ENOMEM. The table must be freed in any case. */
int fg_name_table_init(struct fg_name_table *table, uint32_t nr_functions, uint32_t nr_tasks);
void fg_name_table_free(struct fg_name_table *table);

/**
 * fg_name_table_set_function() - Name a function.
 * @arguments: names joined by ',', with the stars of *args and **kwargs
 * @size_bytes: of native code, whose name is "symbol" or "symbol [module]"; else 0
 */
int fg_name_table_set_function(struct fg_name_table *table, uint32_t index, const char *name,
                               size_t name_bytes, const char *arguments, size_t arguments_bytes,
                               uint32_t size_bytes);
/* The index of the import of a module, which is added if need be. @module may be NULL: it is not known.
 * UINT32_MAX: memory is short. */
uint32_t fg_name_table_import(struct fg_name_table *table, const char *module, size_t bytes);

static inline bool fg_is_import(const struct fg_name_table *table, uint32_t func)
{
    return func > table->nr_functions && func - table->nr_functions <= table->nr_imports;
}

/* Whether it stands for imports whose module is not known. */
bool fg_is_unnamed_import(const struct fg_name_table *table, uint32_t func);

/* Adds a task; its name is copied. */
int fg_name_table_add_task(struct fg_name_table *table, const struct fg_task_name *task);
/* Must be called once, after the last fg_name_table_add_task(). */
int fg_name_table_sort(struct fg_name_table *table);

/* The index of the task that ran in `lane` with this thread id at that time. A task that the JSON does not
 * know is added as "<...>", which is what the kernel prints for an unknown name. UINT32_MAX: memory is
 * short. */
uint32_t fg_name_table_find_task(struct fg_name_table *table, uint32_t lane, int32_t tid, uint64_t time_ns);

/* The process of an event's task, as fg_call_consumer.pid: @event is a struct fg_event. */
int32_t fg_event_pid(const struct fg_name_table *names, const void *event);

#endif
