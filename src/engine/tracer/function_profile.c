/* The function profiler: an fgraph user that counts. profile_rows.h draws where; here is what makes that room, what a call
 * is that is not plain, and the sum that readers get. */
#define _GNU_SOURCE
#include "engine/tracer/function_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engine/core/clock.h"
#include "engine/graph/users.h"
#include "engine/tracer/profile_rows.h"

/* What is said of a function in every line about it. It outlives the function's record. */
struct known_function {
    char *name, *file;
    uint32_t line;
};

/* The rows of a thread, or the sum of several; engine's lock held. */
struct fg_profile_task {
    struct fg_profile_task *next;
    int tid;
    struct fg_profile_row *rows;
    uint32_t nr_rows;
};

/* All that was counted from a start on. All but the rows under the engine's lock. */
struct fg_profile_data {
    uint64_t since;                    /* calls that began before, in a parent process, are not its own */
    struct fg_profile_task *tasks;     /* of living threads, or those that outlived the profile */
    struct fg_profile_task ended;      /* the sum of those that ended */
    struct known_function **functions; /* by id; NULL: never called */
    uint32_t nr_functions;
};

static struct fg_function_profile *registered; /* under the engine's lock */

/* ---- memory */

#define MIN_ROWS 128u /* a page */

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

/* Makes room for so many rows. False: no memory, and all is as it was. Engine's lock held, and by its own thread. */
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

static void task_clear(struct fg_profile_task *task)
{
    if (task->rows)
        munmap(task->rows, bytes_of(task->nr_rows));
    *task = (struct fg_profile_task){0};
}

static void task_free(struct fg_profile_task *task)
{
    task_clear(task);
    free(task);
}

static void tasks_free(struct fg_profile_data *data)
{
    for (struct fg_profile_task *task = data->tasks, *next; task; task = next) {
        next = task->next;
        task_free(task);
    }
    data->tasks = NULL;
    task_clear(&data->ended);
}

static void data_free(struct fg_profile_data *data)
{
    if (!data)
        return;
    tasks_free(data);
    for (uint32_t i = 0; i < data->nr_functions; i++) {
        if (data->functions[i])
            free(data->functions[i]->name);
        free(data->functions[i]);
    }
    free(data->functions);
    free(data);
}

static bool make_room_for(struct fg_profile_data *data, uint32_t func)
{
    uint32_t n = data->nr_functions ? data->nr_functions : 256;
    struct known_function **functions;

    if (func < data->nr_functions)
        return true;
    while (n <= func)
        n *= 2;
    functions = realloc(data->functions, n * sizeof(struct known_function *));
    if (!functions)
        return false;
    memset(functions + data->nr_functions, 0, (n - data->nr_functions) * sizeof(struct known_function *));
    data->functions = functions;
    data->nr_functions = n;
    return true;
}

static struct known_function *known_new(const struct fg_func *func)
{
    size_t name = strlen(func->name) + 1, file = strlen(func->file) + 1;
    struct known_function *known = malloc(sizeof(*known));
    char *texts = known ? malloc(name + file) : NULL;

    if (!texts) {
        free(known);
        return NULL;
    }
    memcpy(texts, func->name, name);
    memcpy(texts + name, func->file, file);
    *known = (struct known_function){texts, texts + name, func->line};
    return known;
}

/* The function runs in this very thread: its record is alive. Engine's lock held. */
static bool know(struct fg_profile_data *data, const struct fg_func *func)
{
    if (!make_room_for(data, func->id))
        return false;
    if (!data->functions[func->id])
        data->functions[func->id] = known_new(func);
    return data->functions[func->id] != NULL;
}

static struct fg_profile_task *task_new(struct fg_profile_data *data, int tid)
{
    struct fg_profile_task *task = calloc(1, sizeof(*task));

    if (task) {
        task->tid = tid;
        task->next = data->tasks;
        data->tasks = task;
    }
    return task;
}

/* ---- counting */

static struct fg_profile_cursor *cursor_of(struct fg_task *task, const struct fgraph_ops *ops)
{
    return &task->users[fg_user_of_const(ops)->idx].profile;
}

/* Engine's lock held. False: no memory. */
static bool make_row(struct fg_profile_cursor *cursor, struct fg_profile_data *data, int tid,
                     const struct fg_func *func)
{
    if (!cursor->task) {
        cursor->since = data->since;
        cursor->task = task_new(data, tid);
    }
    if (!cursor->task || !know(data, func) || !task_grow(cursor->task, func->id + 1))
        return false;
    cursor->rows = cursor->task->rows;
    cursor->nr_rows = cursor->task->nr_rows;
    return true;
}

/* The row of a function, made if it is not there. NULL: there is no memory for it. */
FG_COLD static struct fg_profile_row *first_row(struct fgraph_ops *ops, struct fg_task *task,
                                                const struct fg_func *func)
{
    struct fg_profile_cursor *cursor = cursor_of(task, ops);
    bool is_made;

    fg_engine_lock();
    is_made = make_row(cursor, fg_function_profile_of(ops)->data, task->tid, func);
    fg_engine_unlock();
    if (is_made)
        return cursor->rows + func->id;
    atomic_fetch_add_explicit(&fg_user_of(ops)->nmissed, 1, memory_order_relaxed);
    return NULL;
}

static int entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    const struct fg_profile_cursor *cursor = cursor_of(trace->task, ops);
    uint32_t id = trace->func->id;
    struct fg_profile_row *row;

    (void)regs;
    if (fg_profile_has(cursor, id) && fg_profile_begin(cursor->rows + id))
        return 1;
    row = first_row(ops, trace->task, trace->func);
    if (!row)
        return 0;
    atomic_store_explicit(&row->hit, 1, memory_order_relaxed);
    return 1;
}

/* A call that began before is the parent process's: the time since then is not this one's. It may have begun in another
 * thread. */
static void count(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, uint64_t time)
{
    const struct fg_profile_cursor *cursor = cursor_of(trace->task, ops);
    struct fg_profile_row *row;

    if (trace->start < fg_function_profile_of(ops)->data->since)
        return;
    row = fg_profile_has(cursor, trace->func->id) ? cursor->rows + trace->func->id
                                                  : first_row(ops, trace->task, trace->func);
    if (row)
        fg_profile_end(row, time);
}

static void end(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)regs;
    count(trace, ops, trace->rettime - trace->start);
}

/* ---- without the time of what it calls, or without that in which it did not run
 *
 * The task variable is the time that the calls which the newest call made have taken. A call puts that of its caller
 * aside, and gives it back with its own time added. A suspended call takes what it has so far with it, as wherever it runs
 * again it has another caller. */

struct call {
    uint64_t outer; /* the caller's task variable */
    uint64_t below; /* time of what it called, before it was last suspended */
    uint64_t ran;   /* its time before that */
    uint64_t cpu;   /* the thread's CPU time when it last began to run */
};

static void call_runs(struct call *call, struct fg_task *task, struct fgraph_ops *ops)
{
    uint64_t *var = fgraph_task_var(task, ops);

    call->outer = *var;
    *var = 0;
    if (!fg_function_profile_of(ops)->sleep_time)
        call->cpu = fg_clock_work_ns();
}

static void call_stops(struct call *call, const struct ftrace_graph_ret *trace, struct fgraph_ops *ops)
{
    uint64_t *var = fgraph_task_var(trace->task, ops);
    uint64_t stretch = fg_function_profile_of(ops)->sleep_time ? trace->rettime - trace->calltime
                                                               : fg_clock_work_ns() - call->cpu;

    call->ran += stretch;
    call->below += *var;
    *var = call->outer + stretch;
}

static int entry_of_call(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    struct call *call = fgraph_reserve_data(trace, ops, sizeof(*call));

    if (!call || !entry(trace, ops, regs))
        return 0;
    call_runs(call, trace->task, ops);
    return 1;
}

static void suspend_call(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    struct call *call = fgraph_retrieve_data(trace, ops, NULL);

    (void)regs;
    if (call)
        call_stops(call, trace, ops);
}

static void resume_call(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    struct call *call = fgraph_retrieve_parent_data(trace->task, trace->frame, ops, 0, NULL);

    (void)regs;
    if (call)
        call_runs(call, trace->task, ops);
}

static void end_of_call(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    const struct fg_function_profile *profile = fg_function_profile_of(ops);
    struct call *call = fgraph_retrieve_data(trace, ops, NULL);
    uint64_t time;

    (void)regs;
    if (!call)
        return;
    call_stops(call, trace, ops);
    time = profile->sleep_time ? trace->rettime - trace->start : call->ran;
    count(trace, ops, profile->graph_time ? time : time - call->below);
}

/* ---- tasks that end, and forks */

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

static bool is_empty(struct fg_profile_row *row)
{
    return !atomic_load_explicit(&row->hit, memory_order_relaxed) &&
           !atomic_load_explicit(&row->time, memory_order_relaxed);
}

/* False: no memory, and nothing was added. Engine's lock held. */
static bool add_rows(struct fg_profile_task *to, const struct fg_profile_task *from)
{
    if (!task_grow(to, from->nr_rows))
        return false;
    for (uint32_t i = 0; i < from->nr_rows; i++) {
        if (!is_empty(&from->rows[i]))
            add_row(&to->rows[i], &from->rows[i]);
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

/* Its rows go into the sum. Without memory for that they stay as they are: those of a thread that is not there. Engine's
 * lock held. */
static void task_exit(struct fg_task *task, struct fgraph_ops *ops)
{
    struct fg_profile_data *data = fg_function_profile_of(ops)->data;
    struct fg_profile_cursor *cursor = cursor_of(task, ops);

    if (cursor->task && add_rows(&data->ended, cursor->task)) {
        unlink_task(data, cursor->task);
        task_free(cursor->task);
    }
    *cursor = (struct fg_profile_cursor){0};
}

void fg_function_profiles_fork_child(void)
{
    struct fg_task *self = fg_task_self;

    for (struct fg_function_profile *profile = registered; profile; profile = profile->next) {
        tasks_free(profile->data);
        profile->data->since = fg_clock_now();
        if (self)
            *cursor_of(self, &profile->ops) = (struct fg_profile_cursor){0};
    }
}

/* ---- starting and stopping */

/* Engine's lock held. */
static void leave(struct fgraph_ops *ops)
{
    struct fg_function_profile **at = &registered;

    while (*at != fg_function_profile_of(ops))
        at = &(*at)->next;
    *at = (*at)->next;
}

bool fg_function_profile_is(const struct fgraph_ops *ops)
{
    return fg_user_of_const(ops)->leavefunc == leave;
}

void fg_function_profile_init(struct fg_function_profile *profile, bool graph_time, bool sleep_time)
{
    struct fg_user *user = fg_user_of(&profile->ops);
    bool is_plain = graph_time && sleep_time;

    profile->graph_time = graph_time;
    profile->sleep_time = sleep_time;
    profile->ops.name = "function_profile";
    profile->ops.entryfunc = is_plain ? entry : entry_of_call;
    profile->ops.retfunc = is_plain ? end : end_of_call;
    profile->ops.suspendfunc = is_plain ? NULL : suspend_call;
    profile->ops.resumefunc = is_plain ? NULL : resume_call;
    user->is_plain = is_plain;
    user->plain_kind = FG_PLAIN_PROFILE;
    user->taskexitfunc = task_exit;
    user->leavefunc = leave;
}

static bool is_enlisted(const struct fg_function_profile *profile)
{
    const struct fg_function_profile *at = registered;

    while (at && at != profile)
        at = at->next;
    return at != NULL;
}

/* Makes `data` what it counts in, and returns what it was until now; -EBUSY: it counts already. */
static int enlist(struct fg_function_profile *profile, struct fg_profile_data *data,
                  struct fg_profile_data **old)
{
    int error = 0;

    fg_engine_lock();
    if (is_enlisted(profile)) {
        error = -EBUSY;
    } else {
        *old = profile->data;
        profile->data = data;
        profile->next = registered;
        registered = profile;
    }
    fg_engine_unlock();
    return error;
}

static void delist(struct fg_function_profile *profile, struct fg_profile_data *data)
{
    fg_engine_lock();
    leave(&profile->ops);
    profile->data = data;
    fg_engine_unlock();
}

int fg_function_profile_start(struct fg_function_profile *profile,
                              int (*register_user)(struct fgraph_ops *ops))
{
    struct fg_profile_data *data = calloc(1, sizeof(*data)), *old = NULL;
    int error;

    if (!data)
        return -ENOMEM;
    data->since = fg_clock_now();
    error = enlist(profile, data, &old);
    if (error) {
        free(data);
        return error;
    }
    error = register_user(&profile->ops);
    if (error)
        delist(profile, old);
    data_free(error ? data : old);
    return error;
}

int fg_function_profile_stop(struct fg_function_profile *profile)
{
    return fgraph_unregister(&profile->ops);
}

void fg_function_profile_clear(struct fg_function_profile *profile)
{
    data_free(profile->data);
    profile->data = NULL;
}

/* ---- reading */

/* The rows of a thread, or of all, added up. Engine's lock held. */
static int sum_up(struct fg_profile_data *data, int tid, struct fg_profile_task *sum)
{
    bool is_there = !tid;

    for (const struct fg_profile_task *task = data->tasks; task; task = task->next) {
        if (tid && task->tid != tid)
            continue;
        is_there = true;
        if (!add_rows(sum, task))
            return -ENOMEM;
    }
    if (!is_there)
        return -ESRCH;
    return tid || add_rows(sum, &data->ended) ? 0 : -ENOMEM;
}

/* 1 / (n (n - 1)) * (n * sum of x^2 - (sum of x)^2), where n counts the calls that began: as the kernel has it. */
static double variance_of(double n, double sum, double squares)
{
    double square = n > 1 ? (n * squares - sum * sum) / (n * (n - 1)) : 0;

    return square > 0 ? square : 0;
}

static bool put_figures(struct fg_profile_figures *figures, const struct known_function *known,
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
    struct fg_profile_figures *figures = calloc(data->nr_functions + 1u, sizeof(*figures));
    bool is_complete = figures != NULL;
    size_t at = 0;

    for (uint32_t id = 0; is_complete && id < data->nr_functions && id < sum->nr_rows; id++) {
        if (is_empty(&sum->rows[id]) || !data->functions[id])
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
    int error = sum_up(data, tid, sum);

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
    task_clear(&sum);
    return error;
}

static size_t count_tasks(const struct fg_profile_data *data)
{
    size_t n = 0;

    for (const struct fg_profile_task *task = data ? data->tasks : NULL; task; task = task->next)
        n++;
    return n;
}

int *fg_function_profile_tids(struct fg_function_profile *profile, size_t *n)
{
    int *tids;

    fg_engine_lock();
    tids = malloc((count_tasks(profile->data) + 1) * sizeof(*tids));
    *n = 0;
    for (const struct fg_profile_task *task = tids && profile->data ? profile->data->tasks : NULL; task;
         task = task->next)
        tids[(*n)++] = task->tid;
    fg_engine_unlock();
    return tids;
}
