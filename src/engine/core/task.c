/* Tasks: their mappings, the list of tasks, and the wait until no task can hold what was unpublished. */
#define _GNU_SOURCE
#include "engine/core/task.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/address_space.h"
#include "engine/core/mutex.h"
#include "engine/core/signal_stack.h"

/* Of the process's limit of address space, one part in so many may be a thread's shadow stack. */
#define ADDRESS_SPACE_PART 1024u

/* fg_task_set_apart(): whether the thread is, and its task meanwhile, if it has one. */
static _Thread_local struct {
    bool is_on;
    struct fg_task *task;
} apart __attribute__((tls_model("initial-exec"))); /* the call for another model may allocate */

static _Atomic bool fence_is_light; /* membarrier(2) works here */

static struct {
    pthread_mutex_t lock;
    pthread_once_t once;
    pthread_key_t exit_key; /* its destructor ends the thread's task */
    bool has_exit_key;
    struct fg_task *first;
    uint32_t count;
    uint32_t next_id;
    size_t mapping_bytes;
} tasks = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .once = PTHREAD_ONCE_INIT,
    .next_id = 1,
    .mapping_bytes = FG_TASK_BYTES_DEFAULT,
};

struct fg_task *fg_task_own(void)
{
    return apart.is_on ? apart.task : fg_task_self;
}

static void task_unlink(struct fg_task *task)
{
    for (struct fg_task **at = &tasks.first; *at; at = &(*at)->next) {
        if (*at == task) {
            *at = task->next;
            tasks.count--;
            return;
        }
    }
}

static void process_exit(struct fg_task *task)
{
    if (fg_process()->task_exit)
        fg_process()->task_exit(task);
}

static _Atomic(void (*)(struct fg_task *task)) exits[FG_TASK_EXITS]; /* fg_task_on_exit */

void fg_task_on_exit(void (*end)(struct fg_task *task))
{
    for (size_t i = 0; i < FG_TASK_EXITS; i++) {
        void (*there)(struct fg_task *) = NULL;

        if (atomic_compare_exchange_strong(&exits[i], &there, end) || there == end)
            return;
    }
}

static void call_exits(struct fg_task *task)
{
    for (size_t i = 0; i < FG_TASK_EXITS; i++) {
        void (*end)(struct fg_task *) = atomic_load(&exits[i]);

        if (end)
            end(task);
    }
}

static void task_end(void *arg)
{
    struct fg_task *task = arg;

    task->exiting = true;
    process_exit(task);
    call_exits(task);
    fg_mutex_lock(&tasks.lock);
    task_unlink(task);
    fg_mutex_unlock(&tasks.lock);
    /* Later destructors of this thread may run traced code. They must find no task, and create none. */
    fg_self_set(NULL);
    fg_signal_stack_free(task->signal_stack);
    munmap(task, task->mapping_bytes);
}

static void tasks_init(void)
{
    int supported = (int)syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

    tasks.has_exit_key = pthread_key_create(&tasks.exit_key, task_end) == 0;
    if (supported > 0 && (supported & MEMBARRIER_CMD_PRIVATE_EXPEDITED) &&
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0)
        atomic_store(&fence_is_light, true);
}

void fg_task_set_size(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (bytes < FG_TASK_BYTES_MIN)
        bytes = FG_TASK_BYTES_MIN;
    tasks.mapping_bytes = (bytes + page - 1) & ~(page - 1);
}

static struct fg_task *task_map(size_t *bytes)
{
    /* A process with little address space left gets a shallower stack rather than none. */
    *bytes = fg_address_space_share(tasks.mapping_bytes, ADDRESS_SPACE_PART) & ~(size_t)0xfff;
    if (*bytes < FG_TASK_BYTES_MIN)
        *bytes = FG_TASK_BYTES_MIN;
    for (; *bytes >= FG_TASK_BYTES_MIN; *bytes /= 4) {
        void *mapping =
            mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (mapping != MAP_FAILED) {
            /* One touched word must not become a huge page of memory for every thread. */
            madvise(mapping, *bytes, MADV_NOHUGEPAGE);
            return mapping;
        }
        *bytes &= ~(size_t)0xffff;
    }
    return NULL;
}

/* The keys whose values are in the thread's own memory (glibc, nptl/descr.h, PTHREAD_KEY_2NDLEVEL_SIZE). */
#define KEYS_IN_THREAD 32u

bool fg_task_creation_allocates(void)
{
#ifdef __GLIBC__
    pthread_once(&tasks.once, tasks_init);
    return tasks.has_exit_key && tasks.exit_key >= KEYS_IN_THREAD;
#else
    return false;
#endif
}

static struct fg_task *create(void)
{
    /* Set when the thread gets its task. A second request comes from a destructor that runs after the
     * task has ended: it goes untraced. */
    static _Thread_local bool had_task __attribute__((tls_model("initial-exec")));
    struct fg_task *task;
    size_t bytes;

    if (had_task)
        return NULL;
    pthread_once(&tasks.once, tasks_init);
    task = task_map(&bytes);
    if (!task)
        return NULL;
    had_task = true;
    task->mapping_bytes = bytes;
    /* The zeros below the stack are no descriptor: a search on an empty stack finds no frame. */
    task->stack = task->floor = task->top = (uint64_t *)(task + 1) + FG_SENTINEL_WORDS;
    task->end = (uint64_t *)((char *)task + bytes);
    fg_task_reaps(task);
    for (uint32_t i = 0; i < FG_MAX_USERS; i++)
        task->users[i].bit = 1ull << i;
    task->context = FG_CONTEXT_NORMAL;
    if (!atomic_load(&fence_is_light))
        fg_local_set(&task->guard, FG_GUARD_NEEDS_FENCE);
    task->tid = (int)syscall(SYS_gettid);
    if (tasks.has_exit_key)
        pthread_setspecific(tasks.exit_key, task);
    fg_mutex_lock(&tasks.lock);
    task->id = tasks.next_id++;
    task->next = tasks.first;
    tasks.first = task;
    tasks.count++;
    fg_mutex_unlock(&tasks.lock);
    return task;
}

struct fg_task *fg_task_create(void)
{
    if (apart.is_on) {
        if (!apart.task)
            apart.task = create();
        return apart.task;
    }
    fg_self_set(create());
    return fg_task_self;
}

bool fg_task_set_apart(bool on)
{
    if (on == apart.is_on)
        return false;
    if (on) {
        apart.task = fg_task_self;
        fg_self_set(NULL);
    } else {
        fg_self_set(apart.task);
        apart.task = NULL;
    }
    apart.is_on = on;
    return true;
}

void fg_task_for_each(void (*visit)(struct fg_task *task, void *arg), void *arg)
{
    fg_mutex_lock(&tasks.lock);
    for (struct fg_task *task = tasks.first; task; task = task->next)
        visit(task, arg);
    fg_mutex_unlock(&tasks.lock);
}

uint32_t fg_task_count(void)
{
    uint32_t count;

    fg_mutex_lock(&tasks.lock);
    count = tasks.count;
    fg_mutex_unlock(&tasks.lock);
    return count;
}

void fg_task_fence_heavy(void)
{
    atomic_thread_fence(memory_order_seq_cst);
#ifndef FG_TSAN
    if (atomic_load_explicit(&fence_is_light, memory_order_relaxed))
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
#endif
}

bool fg_task_fence_is_light(void)
{
    pthread_once(&tasks.once, tasks_init);
    return atomic_load(&fence_is_light);
}

uint64_t fg_task_guard(struct fg_task *task)
{
#ifdef FG_TSAN
    return atomic_load_explicit(&task->guard,
                                memory_order_seq_cst); /* for the heavy fence, as fg_local_set() */
#else
    /* acquire: pairs with the release in fg_guard_leave */
    return atomic_load_explicit(&task->guard, memory_order_acquire);
#endif
}

void fg_guard_leave_inner(struct fg_task *task)
{
    uint64_t outer = atomic_load_explicit(&task->guard, memory_order_relaxed) & FG_CONTEXTS & ~task->context;

    if (!outer) {
        fg_local_add(&task->guard, FG_SECTION - task->context);
        return;
    }
    fg_local_add(&task->inner, 1);
    fg_local_clear(&task->guard, task->context);
}

bool fg_task_is_quiet(struct fg_task *task)
{
    return !(fg_task_guard(task) & FG_CONTEXTS);
}

static struct fg_task *find_by_id(uint32_t id)
{
    struct fg_task *task = tasks.first;

    while (task && task->id != id)
        task = task->next;
    return task;
}

/* A task that is inside a callback. */
struct busy_task {
    uint32_t id;
    uint64_t section;
};

/* Finds the busy task with the lowest id in (after, last], other than the caller's. */
static bool find_busy(uint32_t after, uint32_t last, struct busy_task *busy)
{
    bool found = false;

    fg_mutex_lock(&tasks.lock);
    for (struct fg_task *task = tasks.first; task; task = task->next) {
        uint64_t guard = fg_task_guard(task);

        if (task == fg_task_self || !(guard & FG_CONTEXTS) || task->id <= after || task->id > last)
            continue;
        if (!found || task->id < busy->id)
            *busy = (struct busy_task){task->id, fg_guard_section(guard)};
        found = true;
    }
    fg_mutex_unlock(&tasks.lock);
    return found;
}

bool fg_task_others_are_quiet(void)
{
    struct busy_task busy;

    fg_task_fence_heavy();
    return !find_busy(0, UINT32_MAX, &busy);
}

/* True if the task has left its callback. A task that waits in fg_task_synchronize() itself counts as
 * settled, but still holds what it loaded: *@safe is lowered to that task's count. */
static bool is_settled(const struct busy_task *busy, uint64_t *safe)
{
    struct fg_task *task;
    bool settled = true;

    fg_mutex_lock(&tasks.lock);
    task = find_by_id(busy->id);
    if (task && fg_guard_section(fg_task_guard(task)) == busy->section) {
        uint64_t its_safe = atomic_load_explicit(&task->sync_safe, memory_order_relaxed);

        settled = atomic_load_explicit(&task->in_synchronize, memory_order_acquire);
        if (settled && its_safe < *safe)
            *safe = its_safe;
    }
    fg_mutex_unlock(&tasks.lock);
    return settled;
}

/* Returns the count up to which the caller, inside a callback, holds nothing itself. It loaded what it
 * holds in its present guard section. So it cannot hold what was already unpublished when it called this
 * in an earlier section. */
static uint64_t safe_of_caller(struct fg_task *self, uint64_t now)
{
    uint64_t guard = atomic_load_explicit(&self->guard, memory_order_relaxed);

    if (!(guard & FG_CONTEXTS))
        return now;
    if (self->sync_section != fg_guard_section(guard)) {
        self->sync_section = fg_guard_section(guard);
        atomic_store_explicit(&self->sync_safe, self->sync_now, memory_order_relaxed);
    }
    self->sync_now = now;
    return atomic_load_explicit(&self->sync_safe, memory_order_relaxed);
}

uint64_t fg_task_synchronize(uint64_t now)
{
    struct fg_task *self = fg_task_self;
    uint64_t safe = self ? safe_of_caller(self, now) : now;
    struct busy_task busy = {0, 0};
    uint32_t last;

    fg_task_fence_heavy();
    fg_mutex_lock(&tasks.lock);
    last = tasks.next_id - 1; /* tasks that begin later see what was published before */
    fg_mutex_unlock(&tasks.lock);
    /* release: pairs with the acquire in is_settled(); a thread that sees the flag sees sync_safe */
    if (self)
        atomic_store_explicit(&self->in_synchronize, true, memory_order_release);
    while (find_busy(busy.id, last, &busy)) {
        for (unsigned rounds = 0; !is_settled(&busy, &safe); rounds++) {
            if (rounds < 64)
                sched_yield();
            else
                usleep(100);
        }
    }
    if (self)
        atomic_store_explicit(&self->in_synchronize, false, memory_order_release);
    return safe;
}

void fg_task_fork_prepare(void)
{
    fg_mutex_lock(&tasks.lock);
}

void fg_task_fork_parent(void)
{
    fg_mutex_unlock(&tasks.lock);
}

void fg_task_fork_child(void)
{
    struct fg_task *self = fg_task_own();

    for (struct fg_task *task = tasks.first, *next; task; task = next) {
        next = task->next;
        if (task == self)
            continue;
        process_exit(task);
        fg_signal_stack_free(task->signal_stack);
        munmap(task, task->mapping_bytes);
    }
    tasks.first = self;
    tasks.count = self ? 1 : 0;
    if (self) {
        self->next = NULL;
        self->tid = (int)syscall(SYS_gettid);
    }
    fg_mutex_unlock(&tasks.lock);
    if (atomic_load(&fence_is_light))
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}
