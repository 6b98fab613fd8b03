/* What a function profile has counted: rows for each thread, and the names of the functions.
 *
 * profile_rows.h draws the rows, which their own thread writes without a lock. The list of threads and the
 * memory of their rows are under the lock of rows, the names under the engine's lock. A thread that has both
 * takes the engine's first.
 *
 * The first call of a native function in a thread needs a row. The program may be in the middle of its
 * allocator then, or hold a lock that the holder of the engine's lock waits for. So whoever has the lock of
 * rows allocates with mmap(2) alone, and the names of native functions are noted when they are met. */
#ifndef FG_PROFILE_DATA_H
#define FG_PROFILE_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/core/function.h"
#include "engine/graph/profile_rows.h"

/* What figures say of a function. It outlives the function's record. */
struct fg_profile_function {
    char *name, *file;
    uint32_t line;
};

/* The rows of a thread, or the sum of several. */
struct fg_profile_task {
    struct fg_profile_task *next;
    int tid;
    struct fg_profile_row *rows;
    uint32_t nr_rows;
};

/* The data of one run of a profile. */
struct fg_profile_data {
    uint64_t since;                /* calls that began earlier, in a parent process, are not counted */
    struct fg_profile_task *tasks; /* of living threads, or those that outlived the profile */
    struct fg_profile_task ended;  /* the sum of the threads that ended */
    struct fg_profile_function **functions; /* by id; NULL: never called */
    size_t nr_functions;                    /* the array's capacity */
};

void fg_profile_data_free(struct fg_profile_data *data);

void fg_profile_rows_lock(void);
void fg_profile_rows_unlock(void);

/* Frees the rows of all threads: nothing is counted yet. No thread counts, or the lock of rows is held. */
void fg_profile_data_clear_tasks(struct fg_profile_data *data);

/* Notes a function, whose record is alive, for figures. False: no memory. Engine's lock held. */
bool fg_profile_note_function(struct fg_profile_data *data, const struct fg_func *func);

/**
 * fg_profile_make_row() - Make a row for a function in the calling thread.
 * @cursor: where the thread counts; set to the new rows
 * @func: the function's id
 *
 * Return: false: no memory, and the cursor's rows are as before.
 * Context: takes the lock of rows; may be in the middle of native code.
 */
bool fg_profile_make_row(struct fg_profile_cursor *cursor, struct fg_profile_data *data, int tid,
                         uint32_t func);

/* The cursor's thread ends: adds its rows to the sum. Without memory for that they stay in the
 * list of threads. Takes the lock of rows. */
void fg_profile_end_task(struct fg_profile_cursor *cursor, struct fg_profile_data *data);

/* Adds the rows of a thread to a sum. False: no memory, and nothing was added. Lock of rows held. */
bool fg_profile_add_rows(struct fg_profile_task *sum, const struct fg_profile_task *task);
bool fg_profile_row_is_empty(struct fg_profile_row *row);
/* Frees the rows. */
void fg_profile_clear_rows(struct fg_profile_task *task);

#endif
