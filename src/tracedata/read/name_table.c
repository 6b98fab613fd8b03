/* See name_table.h. */
#include "tracedata/read/name_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/array.h"
#include "tracedata/base/text.h"
#include "tracedata/base/trace_event.h"

/* A damaged file may have another thread id in every record: from this many on, unknown tasks share the
 * last one. */
#define MAX_UNKNOWN_TASKS 1024u

int fg_name_table_init(struct fg_name_table *table, uint32_t nr_functions, uint32_t nr_tasks)
{
    *table = (struct fg_name_table){.nr_functions = nr_functions};
    table->functions = calloc(nr_functions + (size_t)1, sizeof(*table->functions));
    if (!table->functions)
        return -ENOMEM;
    return fg_array_reserve(&table->tasks, &table->tasks_capacity, nr_tasks + (size_t)1);
}

void fg_name_table_free(struct fg_name_table *table)
{
    fg_arena_free(&table->texts);
    fg_text_free(&table->scratch);
    for (uint32_t i = 0; i < table->nr_tasks; i++)
        free(table->tasks[i].name);
    for (uint32_t i = 0; i < table->nr_imports; i++)
        free((char *)table->imports[i].text);
    free(table->imports);
    fg_hash_clear(&table->imports_by_name);
    free(table->functions);
    free(table->tasks);
    fg_hash_clear(&table->threads);
    *table = (struct fg_name_table){0};
}

static uint32_t count_arguments(const char *arguments, size_t bytes)
{
    uint32_t count = bytes > 0;
    for (size_t i = 0; i < bytes; i++)
        count += arguments[i] == ',';
    return count;
}

/* Appends each argument with '=', and notes its size. */
static void put_arguments(struct fg_text *text, const char *arguments, size_t bytes, struct fg_label *labels,
                          uint32_t count)
{
    const char *end = arguments + bytes;

    for (uint32_t i = 0; i < count; i++) {
        const char *comma = memchr(arguments, ',', (size_t)(end - arguments));
        size_t start = text->bytes, argument_bytes = (size_t)((comma ? comma : end) - arguments);

        fg_text_escaped(text, arguments, argument_bytes, 0);
        fg_text_char(text, '=');
        labels[i].bytes = (uint32_t)(text->bytes - start);
        arguments += argument_bytes + (comma != NULL);
    }
}

int fg_name_table_set_function(struct fg_name_table *table, uint32_t index, const char *name,
                               size_t name_bytes, const char *arguments, size_t arguments_bytes,
                               uint32_t size_bytes)
{
    uint32_t count = count_arguments(arguments, arguments_bytes), escaped_bytes;
    size_t labels_bytes = count * sizeof(struct fg_label);
    struct fg_label *labels =
        fg_arena_reserve(&table->texts, labels_bytes, count ? _Alignof(struct fg_label) : 1);
    struct fg_text *text = &table->scratch;
    char *at;

    if (!labels)
        return -ENOMEM;
    fg_arena_take(&table->texts, labels_bytes);
    text->bytes = 0;
    fg_text_escaped(text, name, name_bytes, 0);
    escaped_bytes = (uint32_t)text->bytes;
    put_arguments(text, arguments, arguments_bytes, labels, count);
    at = text->failed ? NULL : fg_arena_reserve(&table->texts, text->bytes, 1);
    if (!at)
        return -ENOMEM;
    fg_arena_take(&table->texts, text->bytes);
    if (text->bytes)
        memcpy(at, text->data, text->bytes);
    table->functions[index] = (struct fg_function_name){
        .name = {at, escaped_bytes}, .arguments = labels, .nr_arguments = count, .size_bytes = size_bytes};
    at += escaped_bytes;
    for (uint32_t i = 0; i < count; i++) {
        labels[i].text = at;
        at += labels[i].bytes;
    }
    return 0;
}

/* ---- imports */

static const char unnamed_import[] = "(import machinery)";

static uint32_t find_import(const struct fg_name_table *table, uint64_t hash, const struct fg_text *label)
{
    struct fg_hash_slot *slot = fg_hash_first(&table->imports_by_name, hash);

    for (; slot; slot = fg_hash_next(&table->imports_by_name, slot)) {
        const struct fg_label *there = &table->imports[slot->value - 1];

        if (there->bytes == label->bytes && memcmp(there->text, label->data, label->bytes) == 0)
            return (uint32_t)slot->value;
    }
    return 0;
}

static int add_import(struct fg_name_table *table, uint64_t hash, const struct fg_text *label)
{
    if (label->failed || fg_hash_reserve(&table->imports_by_name) < 0 ||
        fg_array_reserve(&table->imports, &table->imports_capacity, table->nr_imports + (size_t)1) < 0)
        return -ENOMEM;
    table->imports[table->nr_imports++] = (struct fg_label){label->data, (uint32_t)label->bytes};
    fg_hash_add(&table->imports_by_name, hash, table->nr_imports);
    return 0;
}

uint32_t fg_name_table_import(struct fg_name_table *table, const char *module, size_t bytes)
{
    struct fg_text label = {0};
    uint32_t place;
    uint64_t hash;

    if (module) {
        fg_text_lit(&label, "import ");
        fg_text_escaped(&label, module, bytes, 0);
    } else {
        fg_text_put(&label, unnamed_import, sizeof(unnamed_import) - 1);
    }
    hash = fg_hash_bytes(FG_HASH_BYTES_BEGIN, label.data, label.bytes);
    place = find_import(table, hash, &label);
    if (place || add_import(table, hash, &label) < 0)
        fg_text_free(&label);
    else
        place = table->nr_imports;
    return place ? table->nr_functions + place : UINT32_MAX;
}

bool fg_is_unnamed_import(const struct fg_name_table *table, uint32_t func)
{
    return fg_is_import(table, func) &&
           table->imports[func - table->nr_functions - 1].bytes == sizeof(unnamed_import) - 1 &&
           memcmp(table->imports[func - table->nr_functions - 1].text, unnamed_import,
                  sizeof(unnamed_import) - 1) == 0;
}

/* ---- tasks */

int fg_name_table_add_task(struct fg_name_table *table, const struct fg_task_name *task)
{
    if (fg_array_reserve(&table->tasks, &table->tasks_capacity, table->nr_tasks + (size_t)1) < 0)
        return -ENOMEM;
    struct fg_text name = {0};
    fg_text_escaped(&name, task->name, strlen(task->name), 0);
    fg_text_char(&name, 0);
    if (name.failed) {
        fg_text_free(&name);
        return -ENOMEM;
    }
    table->tasks[table->nr_tasks] = *task;
    table->tasks[table->nr_tasks].number = table->nr_tasks;
    table->tasks[table->nr_tasks++].name = name.data;
    return 0;
}

static int compare_tasks(const void *left, const void *right)
{
    const struct fg_task_name *a = left, *b = right;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    return a->first_ns < b->first_ns ? -1 : a->first_ns > b->first_ns;
}

static uint64_t hash_thread(uint32_t lane, int32_t tid)
{
    return fg_hash_uint64((uint64_t)lane << 32 | (uint32_t)tid);
}

int fg_name_table_sort(struct fg_name_table *table)
{
    int error = 0;

    qsort(table->tasks, table->nr_tasks, sizeof(*table->tasks), compare_tasks);
    table->nr_known_tasks = table->nr_tasks;
    for (uint32_t i = 0; table->by_thread && i < table->nr_tasks && !error; i++)
        error = fg_hash_add(&table->threads, hash_thread(table->tasks[i].lane, table->tasks[i].tid), i + 1);
    return error;
}

static uint32_t find_known(const struct fg_name_table *table, uint32_t lane, int32_t tid, uint64_t time_ns)
{
    uint32_t low = 0, high = table->nr_known_tasks;
    if (table->by_thread)
        return (uint32_t)fg_hash_find(&table->threads, hash_thread(lane, tid)) - 1;
    while (low < high) { /* the first task that begins later, or in a later lane */
        uint32_t middle = low + (high - low) / 2;
        const struct fg_task_name *task = &table->tasks[middle];
        if (task->lane < lane || (task->lane == lane && task->first_ns <= time_ns))
            low = middle + 1;
        else
            high = middle;
    }
    while (low-- > 0 && table->tasks[low].lane == lane)
        if (table->tasks[low].tid == tid)
            return low;
    return UINT32_MAX;
}

uint32_t fg_name_table_find_task(struct fg_name_table *table, uint32_t lane, int32_t tid, uint64_t time_ns)
{
    uint32_t found = find_known(table, lane, tid, time_ns);
    if (found != UINT32_MAX)
        return found;
    for (uint32_t i = table->nr_known_tasks; i < table->nr_tasks; i++)
        if (table->tasks[i].lane == lane && table->tasks[i].tid == tid)
            return i;
    if (table->nr_tasks - table->nr_known_tasks >= MAX_UNKNOWN_TASKS)
        return table->nr_tasks - 1;
    struct fg_task_name unknown = {.name = "<...>",
                                   .lane = lane,
                                   .tid = tid,
                                   .pid = tid,
                                   .first_ns = time_ns,
                                   .last_ns = UINT64_MAX,
                                   .selected = table->select_unknown};
    return fg_name_table_add_task(table, &unknown) == 0 ? table->nr_tasks - 1 : UINT32_MAX;
}

int32_t fg_event_pid(const struct fg_name_table *names, const void *event)
{
    return names->tasks[((const struct fg_event *)event)->task].pid;
}
