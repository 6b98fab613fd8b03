/* The names a trace's events refer to: functions by index, tasks by lane, thread id and time. Filled once
 * from the trace's JSON, then only read, but for tasks that the JSON does not know. */
#ifndef FG_NAME_TABLE_H
#define FG_NAME_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fg_label {
    const char *text;
    uint32_t bytes;
};

struct fg_function_name {
    char *text; /* owns what the labels point into */
    struct fg_label name;
    struct fg_label *arguments; /* "n=", "*args=" */
    uint32_t nr_arguments;
    uint32_t size_bytes; /* of native code; 0: not native, and places in it are lines */
};

struct fg_task_name {
    char *name;
    uint32_t lane;
    int32_t tid;
    int32_t pid;
    uint64_t first_ns, last_ns;
    bool selected;
};

struct fg_name_table {
    struct fg_function_name *functions;
    uint32_t nr_functions;
    struct fg_task_name *tasks; /* those of the JSON in order of lane and time, then the unknown ones */
    uint32_t nr_tasks;
    uint32_t nr_known_tasks;
    size_t tasks_capacity;
    bool select_unknown;
};

/* Returns 0 or -ENOMEM, as all of these do. */
int fg_name_table_init(struct fg_name_table *table, uint32_t nr_functions, uint32_t nr_tasks);
void fg_name_table_free(struct fg_name_table *table);

/* `arguments`: names joined by ',', in which the one for *args and the one for **kwargs carry their stars.
 * `size_bytes`: of native code, whose name is "symbol" or "symbol [module]"; else 0. */
int fg_name_table_set_function(struct fg_name_table *table, uint32_t index, const char *name,
                               size_t name_bytes, const char *arguments, size_t arguments_bytes,
                               uint32_t size_bytes);
/* `task`'s name is copied. */
int fg_name_table_add_task(struct fg_name_table *table, const struct fg_task_name *task);
/* Call once, after the last fg_name_table_add_task. */
void fg_name_table_sort(struct fg_name_table *table);

/* The task that ran in `lane` with this thread id at that time. One the JSON does not know is added, named
 * "<...>" as the kernel does. UINT32_MAX when there is no memory. */
uint32_t fg_name_table_find_task(struct fg_name_table *table, uint32_t lane, int32_t tid, uint64_t time_ns);

#endif
