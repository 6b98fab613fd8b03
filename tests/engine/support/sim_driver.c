/* The engine for tests/support/model.py. Each task is a thread that executes one step at a time on
 * request; all callbacks go into a log. */
#include "support/sim_driver.h"

#include <pthread.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/core/regs.h"
#include "engine/graph/call.h"
#include "engine/graph/data.h"
#include "engine/graph/suspended.h"
#include "engine/graph/user_list.h"
#include "engine/probe/fprobe.h"
#include "engine/probe/fprobe_call.h"
#include "engine/users/meet.h"
#include "engine/users/users.h"
#include "support/check.h"
#include "support/sim_arch.h"

enum { MAX_LOG = 1 << 16, MAX_DRIVER_USERS = 80, MAX_DRIVER_FUNCS = 256, MAX_DRIVER_FPROBES = 16 };

struct driver_task {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int tid;
    int step; /* enum sim_step, or -1: idle */
    struct fg_func *func;
    uintptr_t call;
};

struct driver_user {
    struct fgraph_ops ops;
    struct sim_user is;
};

struct driver_fprobe {
    struct fprobe fp;
    uint64_t refused; /* bit i: its entry handler declines the exit of function i */
};

static struct driver_user users[MAX_DRIVER_USERS];
static struct driver_fprobe fprobes[MAX_DRIVER_FPROBES];
static struct fg_func *funcs[MAX_DRIVER_FUNCS];
static int nr_funcs;
static struct sim_event events[MAX_LOG];
static int nr_events;
static uint64_t next_token;
static struct ftrace_regs no_regs;

static void put(struct sim_event event)
{
    CHECK(nr_events < MAX_LOG);
    events[nr_events++] = event;
}

/* Returns the token in a user's data, whose words hold consecutive numbers. */
static uint64_t token_in(const uint64_t *data, size_t bytes)
{
    for (size_t i = 1; data && i < bytes / sizeof(*data); i++)
        CHECK_EQ(data[i], data[0] + i);
    return data ? data[0] : 0;
}

static uint64_t token_below(const struct fg_task *task, const uint64_t *frame, const struct fgraph_ops *ops,
                            unsigned depth)
{
    size_t bytes = 0;
    const uint64_t *data = fgraph_retrieve_parent_data(task, frame, ops, depth, &bytes);

    return token_in(data, bytes);
}

static void log_event(enum sim_event_kind kind, struct fgraph_ops *ops, const struct ftrace_graph_ret *trace,
                      uint64_t token)
{
    put((struct sim_event){.kind = kind,
                           .user = (int)(intptr_t)ops->private_data,
                           .func = (int)trace->func->line,
                           .depth = (int)trace->depth,
                           .end = (int)trace->end,
                           .token = token,
                           .parent = token_below(trace->task, trace->frame, ops, 1),
                           .grandparent = token_below(trace->task, trace->frame, ops, 2),
                           .var = (*fgraph_task_var(trace->task, ops))++});
}

static void log_begin(enum sim_event_kind kind, struct fgraph_ops *ops, const struct ftrace_graph_ent *entry,
                      uint64_t token)
{
    struct ftrace_graph_ret trace = {
        .func = entry->func, .task = entry->task, .frame = entry->frame, .depth = entry->depth};

    log_event(kind, ops, &trace, token);
}

static void log_end(enum sim_event_kind kind, struct fgraph_ops *ops, const struct ftrace_graph_ret *trace)
{
    size_t bytes = 0;
    const uint64_t *data = fgraph_retrieve_data(trace, ops, &bytes);
    uint64_t token = token_in(data, bytes);
    void *object = fgraph_retrieve_object(trace, ops);

    if (token && object)
        CHECK_EQ((uintptr_t)object, token);
    log_event(kind, ops, trace, token);
}

static int on_entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    const struct sim_user *is = &users[(intptr_t)ops->private_data].is;
    uint64_t token = ++next_token;

    (void)regs;
    /* Odd tokens reserve the object before the data, even tokens after them. */
    if (is->has_object && token % 2)
        CHECK(fgraph_reserve_object(trace, ops, (void *)(uintptr_t)token));
    if (is->data_words) {
        uint64_t *data = fgraph_reserve_data(trace, ops, (size_t)is->data_words * sizeof(*data));

        CHECK(data != NULL);
        for (int i = 0; i < is->data_words; i++)
            data[i] = token + (uint64_t)i;
    }
    if (is->has_object && !(token % 2))
        CHECK(fgraph_reserve_object(trace, ops, (void *)(uintptr_t)token));
    log_begin(SIM_ENTRY, ops, trace, token);
    return !(is->refused >> trace->func->line & 1);
}

static void on_return(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)regs;
    log_end(SIM_RETURN, ops, trace);
}

static void on_suspend(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)regs;
    log_end(SIM_SUSPEND, ops, trace);
}

static void on_resume(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)regs;
    log_begin(SIM_RESUME, ops, trace, 0);
}

static struct fg_domain domains[2]; /* of two arches, to which functions belong in turn */

static void drop_object(void *object, const struct fg_domain *domain, int arch)
{
    CHECK(domain == &domains[arch]);
    put((struct sim_event){.kind = SIM_DROP, .user = -1, .func = -1, .token = (uintptr_t)object});
}

static int open_arch = -1; /* the arch between its sync_begin and sync_end, or -1 */

/* Hooks only entries where no user wants returns. If a user then missed a return, check_entry_only would
 * fail. */
static void sync_func(struct fg_func *func, int arch)
{
    CHECK(open_arch == arch && func->domain == &domains[arch]);
    fg_func_set_return_hooks(func, fg_func_wants_returns(func) || fg_func_has_pending_returns(func) ||
                                       !fg_func_has_users(func));
}

static void sync_begin(int arch)
{
    CHECK_EQ(open_arch, -1);
    open_arch = arch;
}

static void sync_end(int arch)
{
    CHECK_EQ(open_arch, arch);
    open_arch = -1;
}

#define DRIVER_ARCH(number)                                                                                  \
    SIM_ARCH_CALLBACKS(number)                                                                               \
    static const struct fg_arch_ops arch_##number = {.name = "driver " #number,                              \
                                                     .sync = sync_##number,                                  \
                                                     .sync_begin = sync_begin_##number,                      \
                                                     .sync_end = sync_end_##number,                          \
                                                     .drop_object = drop_object_##number};

DRIVER_ARCH(0)
DRIVER_ARCH(1)

static struct fg_domain domains[] = {{.arch = &arch_0}, {.arch = &arch_1, .is_global = true}};

static struct fg_func *funcs_of_calls[MAX_LOG]; /* the function of each of the latest calls */

static struct fg_func **func_of_call(uintptr_t call)
{
    return &funcs_of_calls[call / 16 % MAX_LOG];
}

static void do_engine_step(const struct driver_task *task)
{
    struct fg_task *self = fg_task_current();

    switch (task->step) {
    case SIM_DO_ENTER:
        if (fg_func_has_users(task->func) && !fg_enter_plain(self, task->func, task->call))
            fg_enter(self, task->func, task->call, &no_regs);
        break;
    case SIM_DO_RETURN:
        if (!fg_return_plain(self, task->call, fg_clock_counter()))
            fg_return(self, task->call, &no_regs, FG_END_RETURN);
        break;
    case SIM_DO_RAISE:
        fg_return(self, task->call, &no_regs, FG_END_RAISE);
        break;
    case SIM_DO_SUSPEND:
        fg_suspend(self, task->call, &no_regs);
        break;
    case SIM_DO_RESUME:
        fg_resume(self, task->call, &no_regs);
        break;
    case SIM_DO_CLOSE:
        fg_abandon(self, task->call, &no_regs);
        break;
    }
}

/* A function without return hooks must produce no event here, because a real arch would not have
 * reported it. */
static void check_entry_only(const struct fg_func *func, int first_event)
{
    for (int i = first_event; i < nr_events; i++)
        CHECK(events[i].kind == SIM_DROP || events[i].func != (int)func->line);
}

static void do_step(const struct driver_task *task)
{
    int first_event = nr_events;
    const struct fg_func *func;
    bool was_entry_only;

    if (task->step == SIM_DO_ENTER)
        *func_of_call(task->call) = task->func;
    func = *func_of_call(task->call);
    was_entry_only = func && atomic_load(&func->entry_hook_only);
    do_engine_step(task);
    if (was_entry_only && task->step != SIM_DO_ENTER && task->step != SIM_DO_END)
        check_entry_only(func, first_event);
}

static void *run_task(void *arg)
{
    struct driver_task *task = arg;
    bool over = false;

    pthread_mutex_lock(&task->lock);
    task->tid = fg_task_current()->tid;
    pthread_cond_signal(&task->changed);
    while (!over) {
        while (task->step < 0)
            pthread_cond_wait(&task->changed, &task->lock);
        over = task->step == SIM_DO_END;
        do_step(task);
        task->step = -1;
        pthread_cond_signal(&task->changed);
    }
    pthread_mutex_unlock(&task->lock);
    return NULL;
}

void *sim_task_new(void)
{
    struct driver_task *task = calloc(1, sizeof(*task));

    CHECK(task != NULL);
    pthread_mutex_init(&task->lock, NULL);
    pthread_cond_init(&task->changed, NULL);
    task->step = -1;
    sim_spawn(&task->thread, run_task, task);
    pthread_mutex_lock(&task->lock);
    while (!task->tid)
        pthread_cond_wait(&task->changed, &task->lock);
    pthread_mutex_unlock(&task->lock);
    return task;
}

int sim_task_tid(void *handle)
{
    return ((const struct driver_task *)handle)->tid;
}

void sim_task_do(void *handle, int step, int func, uint64_t call)
{
    struct driver_task *task = handle;

    pthread_mutex_lock(&task->lock);
    task->func = step == SIM_DO_ENTER ? funcs[func] : NULL;
    task->call = (uintptr_t)call;
    task->step = step;
    pthread_cond_signal(&task->changed);
    while (task->step >= 0)
        pthread_cond_wait(&task->changed, &task->lock);
    pthread_mutex_unlock(&task->lock);
    if (step == SIM_DO_END) {
        sim_join(task->thread);
        pthread_mutex_destroy(&task->lock);
        pthread_cond_destroy(&task->changed);
        free(task);
    }
}

int sim_init(void)
{
    return fg_engine_init(NULL);
}

int sim_driver_function(const char *module, const char *qualname)
{
    struct fg_func_desc desc = {.module = module,
                                .qualname = qualname,
                                .file = "",
                                .args = "",
                                .line = (uint32_t)nr_funcs,
                                .domain = &domains[nr_funcs % 2]};

    CHECK(nr_funcs < MAX_DRIVER_FUNCS);
    funcs[nr_funcs] = fg_func_meet(&desc);
    CHECK(funcs[nr_funcs] != NULL);
    return nr_funcs++;
}

void sim_user_new(int number, uint64_t refused, int data_words, int has_object)
{
    struct driver_user *user = &users[number];

    fg_filter_clear(&fg_user_of(&user->ops)->filter);
    user->is = (struct sim_user){refused, data_words, has_object};
    user->ops = (struct fgraph_ops){.entryfunc = on_entry,
                                    .retfunc = on_return,
                                    .suspendfunc = on_suspend,
                                    .resumefunc = on_resume,
                                    .name = "driver",
                                    .private_data = (void *)(intptr_t)number};
    fg_user_of(&user->ops)->is_entry_only = !(~refused & ((1ull << nr_funcs) - 1));
}

int sim_user_register(int number)
{
    return fgraph_register(&users[number].ops);
}

int sim_user_unregister(int number)
{
    return fgraph_unregister(&users[number].ops);
}

int sim_user_edit_filter(int number, int set, const char *const patterns[], size_t n, int reset)
{
    struct fg_pattern_error error;

    return fgraph_edit_filter(&users[number].ops, (enum fgraph_filter_set)set, patterns, n, reset, &error);
}

int sim_user_set_tids(int number, const int *tids, size_t n)
{
    return fgraph_set_tids(&users[number].ops, tids, n);
}

int sim_user_slot(int number)
{
    return fg_user_slot(&users[number].ops);
}

/* ---- fprobes */

static int on_fprobe_entry(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip,
                           struct ftrace_regs *regs, void *data)
{
    struct driver_fprobe *fprobe = fg_container_of(fp, struct driver_fprobe, fp);
    uint64_t token = ++next_token, *words = data;

    (void)ret_ip, (void)regs;
    for (size_t i = 0; data && i < fp->entry_data_size / sizeof(uint64_t); i++)
        words[i] = token + i;
    put((struct sim_event){
        .kind = SIM_ENTRY, .user = (int)(intptr_t)fp->private_data, .func = (int)func->line, .token = token});
    return fprobe->refused >> func->line & 1;
}

static void on_fprobe_exit(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip,
                           struct ftrace_regs *regs, void *data)
{
    (void)ret_ip, (void)regs;
    put((struct sim_event){.kind = SIM_RETURN,
                           .user = (int)(intptr_t)fp->private_data,
                           .func = (int)func->line,
                           .token = token_in(data, fp->entry_data_size)});
}

int sim_fprobe_register(int number, const char *filter, const char *notfilter, uint64_t refused,
                        int data_words, int has_exit)
{
    struct driver_fprobe *fprobe = &fprobes[number];
    struct fg_fprobe_filter patterns = {0};
    const char *reason;
    size_t column;
    int error;

    CHECK_EQ(fg_patterns_add(&patterns.filter, filter, &reason, &column), 0);
    if (*notfilter)
        CHECK_EQ(fg_patterns_add(&patterns.notfilter, notfilter, &reason, &column), 0);
    if (!fg_fprobe_is_registered(&fprobe->fp)) {
        fprobe->refused = refused;
        fprobe->fp.entry_handler = on_fprobe_entry;
        fprobe->fp.exit_handler = has_exit ? on_fprobe_exit : NULL;
        fprobe->fp.entry_data_size = (size_t)data_words * sizeof(uint64_t);
        fprobe->fp.private_data = (void *)(intptr_t)(SIM_FPROBES + number);
    }
    error = fg_fprobe_register(&fprobe->fp, NULL, &patterns);
    fg_patterns_clear(&patterns.filter);
    fg_patterns_clear(&patterns.notfilter);
    return error;
}

int sim_fprobe_unregister(int number, int waits)
{
    struct fprobe *fp = &fprobes[number].fp;

    return waits ? fg_fprobe_unregister(fp) : fg_fprobe_unregister_async(fp);
}

int sim_fprobe_set_enabled(int number, int enabled)
{
    return fg_fprobe_set_enabled(&fprobes[number].fp, enabled != 0);
}

uint64_t sim_fprobe_nmissed(int number)
{
    return fg_fprobe_nmissed(&fprobes[number].fp);
}

int sim_take_events(struct sim_event *out, int room)
{
    int n = nr_events;

    CHECK(n <= room);
    memcpy(out, events, (size_t)n * sizeof(*out));
    nr_events = 0;
    return n;
}

uint64_t sim_tokens_so_far(void)
{
    return next_token;
}

uint32_t sim_nr_tasks(void)
{
    return fg_task_count();
}

const char *sim_killed(void)
{
    return fg_killed();
}
