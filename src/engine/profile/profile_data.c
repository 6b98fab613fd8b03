/* See profile_data.h. */
#define _GNU_SOURCE
#include "engine/profile/profile_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engine/base/array.h"
#include "engine/base/mmap_memory.h"
#include "engine/core/mutex.h"

#define MIN_ROWS 128u /* a page */

static pthread_mutex_t rows_lock = PTHREAD_MUTEX_INITIALIZER;

void fg_profile_rows_lock(void)
{
    fg_mutex_lock(&rows_lock);
}

void fg_profile_rows_unlock(void)
{
    fg_mutex_unlock(&rows_lock);
}

static size_t bytes_of(uint32_t nr_rows)
{
    return nr_rows * sizeof(struct fg_profile_row);
}

static struct fg_profile_row *map_rows(uint32_t nr_rows)
{
    void *mapping = mmap(NULL, bytes_of(nr_rows), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return mapping == MAP_FAILED ? NULL : mapping;
}

static struct fg_profile_row *remap_rows(const struct fg_profile_task *task, uint32_t nr_rows)
{
    void *mapping = mremap(task->rows, bytes_of(task->nr_rows), bytes_of(nr_rows), MREMAP_MAYMOVE);

    return mapping == MAP_FAILED ? NULL : mapping;
}

/* Makes room for `least` rows. False: no memory, and nothing has changed. Not an fg_array: rows get
 * memory only where a function's id touches them, and mremap() moves pages, not contents. */
static bool task_grow(struct fg_profile_task *task, uint32_t least)
{
    uint32_t nr_rows = task->nr_rows ? task->nr_rows : MIN_ROWS;
    struct fg_profile_row *rows;

    if (least <= task->nr_rows)
        return true;
    while (nr_rows < least) {
        if (nr_rows > UINT32_MAX / 2)
            return false;
        nr_rows *= 2;
    }
    rows = task->rows ? remap_rows(task, nr_rows) : map_rows(nr_rows);
    if (!rows)
        return false;
    task->rows = rows;
    task->nr_rows = nr_rows;
    return true;
}

void fg_profile_clear_rows(struct fg_profile_task *task)
{
    if (task->rows)
        munmap(task->rows, bytes_of(task->nr_rows));
    *task = (struct fg_profile_task){0};
}

static void task_free(struct fg_profile_task *task)
{
    fg_profile_clear_rows(task);
    fg_mmap_free(task);
}

void fg_profile_data_clear_tasks(struct fg_profile_data *data)
{
    for (struct fg_profile_task *task = data->tasks, *next; task; task = next) {
        next = task->next;
        task_free(task);
    }
    data->tasks = NULL;
    fg_profile_clear_rows(&data->ended);
}

void fg_profile_data_free(struct fg_profile_data *data)
{
    if (!data)
        return;
    fg_profile_data_clear_tasks(data);
    for (size_t i = 0; i < data->nr_functions; i++) {
        if (data->functions[i])
            free(data->functions[i]->name);
        free(data->functions[i]);
    }
    free(data->functions);
    free(data);
}

/* A native function has its object behind its name, as in graphs, and neither file nor line. */
static int put_name(char *out, size_t room, const struct fg_func *func)
{
    return func->flags & FG_FUNC_NATIVE ? snprintf(out, room, "%s [%s]", func->qualname, func->module)
                                        : snprintf(out, room, "%s", func->name);
}

static struct fg_profile_function *function_new(const struct fg_func *func)
{
    size_t name = (size_t)put_name(NULL, 0, func) + 1, file = strlen(func->file) + 1;
    struct fg_profile_function *known = malloc(sizeof(*known));
    char *texts = known ? malloc(name + file) : NULL;

    if (!texts) {
        free(known);
        return NULL;
    }
    put_name(texts, name, func);
    memcpy(texts + name, func->file, file);
    *known = (struct fg_profile_function){texts, texts + name, func->flags & FG_FUNC_NATIVE ? 0 : func->line};
    return known;
}

bool fg_profile_note_function(struct fg_profile_data *data, const struct fg_func *func)
{
    if (fg_array_reserve_zeroed(&data->functions, &data->nr_functions, (size_t)func->id + 1) != 0)
        return false;
    if (!data->functions[func->id])
        data->functions[func->id] = function_new(func);
    return data->functions[func->id] != NULL;
}

static struct fg_profile_task *task_new(struct fg_profile_data *data, int tid)
{
    struct fg_profile_task *task = fg_mmap_alloc(sizeof(*task));

    if (task) {
        task->tid = tid;
        task->next = data->tasks;
        data->tasks = task;
    }
    return task;
}

static bool make_row(struct fg_profile_cursor *cursor, struct fg_profile_data *data, int tid, uint32_t func)
{
    if (!cursor->task) {
        cursor->since = data->since;
        cursor->task = task_new(data, tid);
    }
    if (!cursor->task || !task_grow(cursor->task, func + 1))
        return false;
    cursor->rows = cursor->task->rows;
    cursor->nr_rows = cursor->task->nr_rows;
    return true;
}

bool fg_profile_make_row(struct fg_profile_cursor *cursor, struct fg_profile_data *data, int tid,
                         uint32_t func)
{
    bool is_made;

    fg_profile_rows_lock();
    is_made = make_row(cursor, data, tid, func);
    fg_profile_rows_unlock();
    return is_made;
}

static void add_row(struct fg_profile_row *to, struct fg_profile_row *from)
{
#define ADD(word)                                                                                            \
    atomic_store_explicit(&to->word,                                                                         \
                          atomic_load_explicit(&to->word, memory_order_relaxed) +                            \
                              atomic_load_explicit(&from->word, memory_order_relaxed),                       \
                          memory_order_relaxed)
    ADD(hit);
    ADD(time);
    ADD(squares);
#undef ADD
}

bool fg_profile_row_is_empty(struct fg_profile_row *row)
{
    return !atomic_load_explicit(&row->hit, memory_order_relaxed) &&
           !atomic_load_explicit(&row->time, memory_order_relaxed);
}

bool fg_profile_add_rows(struct fg_profile_task *sum, const struct fg_profile_task *task)
{
    if (!task_grow(sum, task->nr_rows))
        return false;
    for (uint32_t i = 0; i < task->nr_rows; i++) {
        if (!fg_profile_row_is_empty(&task->rows[i]))
            add_row(&sum->rows[i], &task->rows[i]);
    }
    return true;
}

static void unlink_task(struct fg_profile_data *data, const struct fg_profile_task *task)
{
    struct fg_profile_task **at = &data->tasks;

    while (*at != task)
        at = &(*at)->next;
    *at = task->next;
}

void fg_profile_end_task(struct fg_profile_cursor *cursor, struct fg_profile_data *data)
{
    fg_profile_rows_lock();
    if (cursor->task && fg_profile_add_rows(&data->ended, cursor->task)) {
        unlink_task(data, cursor->task);
        task_free(cursor->task);
    }
    fg_profile_rows_unlock();
    *cursor = (struct fg_profile_cursor){0};
}
