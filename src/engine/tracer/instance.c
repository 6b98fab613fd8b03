/* Starting and stopping instances, the symbols they write, and what becomes of them in a forked child. */
#define _GNU_SOURCE
#include "engine/tracer/instance.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/core/clock.h"
#include "engine/graph/parked.h"
#include "engine/graph/users.h"
#include "engine/tracer/function_profile.h"
#include "engine/tracer/instance_control.h"

#define NO_HANDLE 0
#define MAX_ARGV 64u
#define MAX_CMDLINE_BYTES 4096u

static struct {
    pthread_mutex_t lock;
    struct fg_instance *first;
    int next_handle;
    uint32_t count;
} instances = {.lock = PTHREAD_MUTEX_INITIALIZER, .next_handle = 1};

static void put_function(struct fg_ring *ring, const struct fg_func *func, enum fg_symbol_type type)
{
    const char *const strings[] = {func->module, func->qualname, func->file, func->args};
    struct fg_symbol symbol = {
        .type = (uint16_t)type, .flags = func->flags, .id = func->id, .line = func->line, .nr_strings = 4};

    fg_ring_put_symbol(ring, &symbol, strings);
}

/* True the first time. Without memory for the note a symbol comes twice, which harms nobody. */
static bool tell_once(struct fg_instance *instance, uint32_t id)
{
    uint32_t word = id / 64;

    if (word >= instance->nr_told_words) {
        uint32_t words = word + 1 + word / 2;
        uint64_t *told = realloc(instance->told, words * sizeof(*told));

        if (!told)
            return true;
        memset(told + instance->nr_told_words, 0, (words - instance->nr_told_words) * sizeof(*told));
        instance->told = told;
        instance->nr_told_words = words;
    }
    if (instance->told[word] >> id % 64 & 1)
        return false;
    instance->told[word] |= 1ull << id % 64;
    return true;
}

/* Where there is no file filters change often, and nobody asks for what ran but is not recorded. */
static void found(struct fg_func *func, struct fgraph_ops *ops, bool matched)
{
    struct fg_instance *instance = fg_instance_of(ops);
    bool shows_callers = fg_instance_shows_callers(instance);
    enum fg_symbol_type other = shows_callers ? FG_SYMBOL_CALLER : FG_SYMBOL_SEEN;

    if (instance->ring.directory || ((matched || shows_callers) && tell_once(instance, func->id)))
        put_function(&instance->ring, func, matched ? FG_SYMBOL_FUNC : other);
}

static void task_exit(struct fg_task *task, struct fgraph_ops *ops)
{
    fg_ring_task_exit(&fg_instance_of(ops)->ring, task, fg_instance_cursor(task, ops));
}

/* Before the slot, and with it the tasks' cursors, can be another's. */
static void leave(struct fgraph_ops *ops)
{
    fg_ring_retire_all(&fg_instance_of(ops)->ring);
}

/* The process's arguments as the kernel has them: NUL-separated. */
static uint32_t read_cmdline(char *text, size_t room, const char *strings[MAX_ARGV])
{
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd < 0 ? 0 : read(fd, text, room - 1);
    uint32_t n = 0;

    if (fd >= 0)
        close(fd);
    text[bytes > 0 ? bytes : 0] = 0;
    for (char *at = text; at < text + bytes && n < MAX_ARGV; at += strlen(at) + 1)
        strings[n++] = at;
    return n;
}

void fg_instance_put_process(struct fg_ring *ring)
{
    char text[MAX_CMDLINE_BYTES];
    const char *strings[MAX_ARGV + 1] = {program_invocation_short_name};
    struct fg_symbol symbol = {
        .type = FG_SYMBOL_PROCESS, .id = (uint32_t)getpid(), .tid = (uint32_t)getppid()};

    symbol.nr_strings = 1 + read_cmdline(text, sizeof(text), strings + 1);
    fg_ring_put_symbol(ring, &symbol, strings);
}

static void put_known_function(struct fg_func *func, void *arg)
{
    struct fg_instance *instance = arg;

    if (func->domain == fg_user_of(&instance->ops)->domain)
        found(func, &instance->ops, fgraph_filter_matches(&fg_user_of(&instance->ops)->filter, func));
}

void fg_instance_tell_functions(struct fg_instance *instance)
{
    fg_func_for_each(put_known_function, instance);
}

/* A forked child's first record: its file is new and knows no symbol yet. The child has one thread then. */
static void reopened(struct fg_ring *ring)
{
    struct fg_instance *instance = fg_container_of(ring, struct fg_instance, ring);

    fg_instance_put_process(ring);
    fg_func_for_each(put_known_function, instance);
}

/* Runs in the thread that found the broken invariant, wherever that is: it must not wait for a lock. */
static void killed(const char *message)
{
    if (pthread_mutex_trylock(&instances.lock) != 0)
        return; /* standard error and fg_killed() have the message */
    for (struct fg_instance *instance = instances.first; instance; instance = instance->next)
        fg_ring_set_killed(&instance->ring, message);
    pthread_mutex_unlock(&instances.lock);
}

static void instance_free(struct fg_instance *instance)
{
    fg_filter_clear(&fg_user_of(&instance->ops)->filter);
    fg_filter_clear(&instance->filter);
    free(instance->told);
    free(instance);
}

static struct fg_instance *instance_new(struct fg_instance_config *config)
{
    struct fg_instance *instance = calloc(1, sizeof(*instance));
    struct fg_user *user;

    if (!instance) {
        fg_filter_clear(&config->filter);
        return NULL;
    }
    instance->tracer = &fg_tracer_nop;
    instance->refs = 1;
    instance->max_graph_depth = config->max_graph_depth;
#define X(name, option) instance->name = config->name;
    FG_INSTANCE_FLAGS(X)
#undef X
    fg_clock_init();
    instance->ticks_per_ns = 1.0 / fg_clock_ns_per_tick();
    instance->follow_fork = config->follow_fork;
    instance->thresh_ticks = fg_instance_thresh_ticks(config->thresh_us);
    instance->filter = config->filter;
    memset(&config->filter, 0, sizeof(config->filter));
    user = fg_user_of(&instance->ops);
    user->domain = config->domain;
    user->foundfunc = found;
    user->taskexitfunc = task_exit;
    user->leavefunc = leave;
    return instance;
}

static void instance_link(struct fg_instance *instance)
{
    pthread_mutex_lock(&instances.lock);
    instance->handle = instances.next_handle++;
    instance->next = instances.first;
    instances.first = instance;
    instances.count++;
    pthread_mutex_unlock(&instances.lock);
    fg_on_kill(killed);
}

int fg_instance_start(struct fg_instance_config *config, int *handle)
{
    struct fg_instance *instance = instance_new(config);
    int error;

    if (!instance)
        return -ENOMEM;
    config->ring.times_work = config->no_sleep_time;
    error = fg_ring_open(&instance->ring, &config->ring);
    if (error) {
        instance_free(instance);
        return error;
    }
    instance->ring.reopened = reopened;
    instance_link(instance);
    *handle = instance->handle;
    error = fg_instance_run(instance, config->tracer);
    if (error) {
        if (instance->ring.path)
            unlink(instance->ring.path);
        fg_instance_stop(*handle);
    }
    return error;
}

struct fg_instance *fg_instance_get(int handle)
{
    struct fg_instance *instance;

    pthread_mutex_lock(&instances.lock);
    for (instance = instances.first; instance && instance->handle != handle; instance = instance->next)
        ;
    if (instance)
        instance->refs++;
    pthread_mutex_unlock(&instances.lock);
    return instance;
}

static void let_go(struct fg_instance *instance, uint32_t refs)
{
    bool is_last;

    pthread_mutex_lock(&instances.lock);
    instance->refs -= refs;
    is_last = instance->refs == 0;
    pthread_mutex_unlock(&instances.lock);
    if (is_last)
        instance_free(instance);
}

void fg_instance_put(struct fg_instance *instance)
{
    let_go(instance, 1);
}

static void instance_unlink(struct fg_instance *instance)
{
    struct fg_instance **at = &instances.first;

    pthread_mutex_lock(&instances.lock);
    while (*at != instance)
        at = &(*at)->next;
    *at = instance->next;
    instances.count--;
    pthread_mutex_unlock(&instances.lock);
}

/* It stays in the list for the fork handlers until it is closed. */
static void instance_hide(struct fg_instance *instance)
{
    pthread_mutex_lock(&instances.lock);
    instance->handle = NO_HANDLE;
    pthread_mutex_unlock(&instances.lock);
}

int fg_instance_stop(int handle)
{
    struct fg_instance *instance = handle == NO_HANDLE ? NULL : fg_instance_get(handle);
    int error = instance ? fg_instance_change_begin(instance) : -EINVAL;

    if (!error) { /* and nobody changes it any more */
        instance_hide(instance);
        fg_instance_halt(instance);
        fg_ring_close(&instance->ring);
        instance_unlink(instance);
    }
    if (instance)
        let_go(instance, error ? 1 : 2); /* ours, and that of the list */
    return error;
}

int fg_instance_next(int handle, const void *domain)
{
    int next = NO_HANDLE;

    pthread_mutex_lock(&instances.lock);
    for (struct fg_instance *at = instances.first; at; at = at->next) {
        if (at->handle > handle && (next == NO_HANDLE || at->handle < next) &&
            fg_user_of(&at->ops)->domain == domain)
            next = at->handle;
    }
    pthread_mutex_unlock(&instances.lock);
    return next;
}

uint32_t fg_instance_count(void)
{
    uint32_t count;

    pthread_mutex_lock(&instances.lock);
    count = instances.count;
    pthread_mutex_unlock(&instances.lock);
    return count;
}

/* Fork. Locks in their order: instances, engine, rings, tasks, parked frames. */

static void prepare(void)
{
    pthread_mutex_lock(&instances.lock);
    fg_engine_lock();
    for (struct fg_instance *instance = instances.first; instance; instance = instance->next)
        pthread_mutex_lock(&instance->ring.lock);
    fg_task_fork_prepare();
    fg_parked_lock_all();
}

static void release(void)
{
    fg_parked_unlock_all();
    for (struct fg_instance *instance = instances.first; instance; instance = instance->next)
        pthread_mutex_unlock(&instance->ring.lock);
    fg_engine_unlock();
    pthread_mutex_unlock(&instances.lock);
}

static void parent(void)
{
    fg_task_fork_parent();
    release();
}

static void cursor_clear(const struct fg_task *task, struct fg_ring_cursor *cursor)
{
    memset(cursor, 0, sizeof(*cursor));
    cursor->overrun_told = (uint32_t)atomic_load(&task->overrun); /* the parent tells of those so far */
}

static void child(void)
{
    struct fg_task *self = fg_task_self;

    fg_task_fork_child();
    fg_function_profiles_fork_child();
    for (struct fg_instance *instance = instances.first; instance; instance = instance->next) {
        fg_ring_fork_child(&instance->ring, instance->follow_fork);
        atomic_store(&instance->changing, false); /* whoever changed it is not here */
        if (self && fg_user_of(&instance->ops)->generation)
            cursor_clear(self, fg_instance_cursor(self, &instance->ops));
    }
    release();
}

void fg_instances_install_fork_handlers(void)
{
    pthread_atfork(prepare, parent, child);
}
