/* See profile_figures.h. */
#define _GNU_SOURCE
#include "engine/profile/profile_figures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/profile/profile_data.h"
#include "engine/users/users.h"

/* Sums up the rows of one thread, or (0) of all. Lock of rows held. */
static int sum_up(struct fg_profile_data *data, int tid, struct fg_profile_task *sum)
{
    bool is_there = !tid;

    for (const struct fg_profile_task *task = data->tasks; task; task = task->next) {
        if (tid && task->tid != tid)
            continue;
        is_there = true;
        if (!fg_profile_add_rows(sum, task))
            return -ENOMEM;
    }
    if (!is_there)
        return -ESRCH;
    return tid || fg_profile_add_rows(sum, &data->ended) ? 0 : -ENOMEM;
}

/* As the kernel computes it, with n the calls that began: 1 / (n (n - 1)) * (n * sum of x^2 -
 * (sum of x)^2). */
static double variance_of(double n, double sum, double squares)
{
    double square = n > 1 ? (n * squares - sum * sum) / (n * (n - 1)) : 0;

    return square > 0 ? square : 0;
}

static bool put_figures(struct fg_profile_figures *figures, const struct fg_profile_function *known,
                        struct fg_profile_row *row, double ns_per_unit)
{
    uint64_t hit = atomic_load_explicit(&row->hit, memory_order_relaxed);
    double time_ns = (double)atomic_load_explicit(&row->time, memory_order_relaxed) * ns_per_unit;
    double squares = atomic_load_explicit(&row->squares, memory_order_relaxed) * ns_per_unit * ns_per_unit;

    *figures = (struct fg_profile_figures){.name = strdup(known->name),
                                           .file = strdup(known->file),
                                           .line = known->line,
                                           .hit = hit,
                                           .time_ns = (uint64_t)time_ns,
                                           .variance = variance_of((double)hit, time_ns, squares)};
    return figures->name && figures->file;
}

void fg_profile_figures_free(struct fg_profile_figures *figures, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(figures[i].name);
        free(figures[i].file);
    }
    free(figures);
}

static int take_figures(const struct fg_profile_data *data, const struct fg_profile_task *sum,
                        double ns_per_unit, struct fg_profile_figures **out, size_t *n)
{
    struct fg_profile_figures *figures = calloc(data->nr_functions + 1, sizeof(*figures));
    bool is_complete = figures != NULL;
    size_t at = 0;

    for (uint32_t id = 0; is_complete && id < data->nr_functions && id < sum->nr_rows; id++) {
        if (fg_profile_row_is_empty(&sum->rows[id]) || !data->functions[id])
            continue;
        is_complete = put_figures(&figures[at++], data->functions[id], &sum->rows[id], ns_per_unit);
        figures[at - 1].func = id;
    }
    if (!is_complete) {
        fg_profile_figures_free(figures, at);
        return -ENOMEM;
    }
    *out = figures;
    *n = at;
    return 0;
}

static int read_locked(struct fg_function_profile *profile, int tid, double ns_per_unit,
                       struct fg_profile_task *sum, struct fg_profile_figures **figures, size_t *n)
{
    struct fg_profile_data nothing = {0}, *data = profile->data ? profile->data : &nothing;
    int error;

    fg_profile_rows_lock();
    error = sum_up(data, tid, sum);
    fg_profile_rows_unlock();
    return error ? error : take_figures(data, sum, ns_per_unit, figures, n);
}

int fg_function_profile_read(struct fg_function_profile *profile, int tid,
                             struct fg_profile_figures **figures, size_t *n)
{
    double ns_per_unit = profile->sleep_time ? fg_clock_ns_per_tick() : 1;
    struct fg_profile_task sum = {0};
    int error;

    fg_engine_lock();
    error = read_locked(profile, tid, ns_per_unit, &sum, figures, n);
    fg_engine_unlock();
    fg_profile_clear_rows(&sum);
    return error;
}

/* Stores up to @room of the threads' ids. Returns how many threads there are. */
static size_t read_tids(const struct fg_profile_data *data, int tids[], size_t room)
{
    size_t n = 0;

    fg_profile_rows_lock();
    for (const struct fg_profile_task *task = data->tasks; task; task = task->next, n++) {
        if (n < room)
            tids[n] = task->tid;
    }
    fg_profile_rows_unlock();
    return n;
}

/* Another thread may begin to count between the two looks. */
int *fg_function_profile_tids(struct fg_function_profile *profile, size_t *n)
{
    size_t room, found;
    int *tids;

    fg_engine_lock();
    room = profile->data ? read_tids(profile->data, NULL, 0) : 0;
    tids = malloc((room + 1) * sizeof(*tids));
    found = tids && profile->data ? read_tids(profile->data, tids, room) : 0;
    *n = found < room ? found : room;
    fg_engine_unlock();
    return tids;
}
