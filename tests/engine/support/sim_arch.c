/* The simulated arch. A call is identified by a number that is never reused, in place of a frame's
 * address. */
#include "support/sim_arch.h"

#include <stdatomic.h>
#include <stdio.h>

#include "engine/base/clock.h"
#include "engine/core/regs.h"
#include "engine/graph/call.h"
#include "engine/graph/suspended.h"
#include "engine/graph/user_list.h"
#include "engine/probe/fprobe_call.h"
#include "engine/users/meet.h"
#include "support/check.h"

static _Atomic uintptr_t next_call = 16;
static _Thread_local char thread_name[FG_TASK_NAME_BYTES];
static struct ftrace_regs no_regs;

struct sim_function {
    _Atomic uint32_t syncs;
    _Atomic bool is_hooked, has_return_hooks;
};

static void (*before_sync)(struct fg_func *func);

void sim_before_sync(void (*call)(struct fg_func *func))
{
    before_sync = call;
}

/* As in the arch for CPython 3.12 and later: a function has only entry hooks unless a user wants
 * returns. */
static void hook(struct fg_func *func, struct sim_function *sim)
{
    bool is_busy = fg_func_has_pending_returns(func),
         has_return_hooks = fg_func_wants_returns(func) || is_busy;

    atomic_store(&sim->is_hooked, fg_func_has_users(func) || is_busy);
    atomic_store(&sim->has_return_hooks, has_return_hooks);
    fg_func_set_return_hooks(func, has_return_hooks || !fg_func_has_users(func));
}

static _Thread_local int open_brackets[SIM_NR_ARCHES]; /* this thread's unfinished sync brackets per arch */
static struct sim_arch_calls calls_of_arch[SIM_NR_ARCHES];

static void sync_func(struct fg_func *func, int arch)
{
    struct sim_function *sim = func->arch_data;

    CHECK_EQ(open_brackets[arch], 1);
    CHECK(func->domain->arch == sim_domains[arch].arch);
    atomic_fetch_add(&calls_of_arch[arch].syncs, 1);
    if (!func->live || !sim)
        return;
    if (before_sync)
        before_sync(func);
    atomic_fetch_add(&sim->syncs, 1);
    hook(func, sim);
}

static void sync_begin(int arch)
{
    for (int i = 0; i < SIM_NR_ARCHES; i++)
        CHECK_EQ(open_brackets[i], 0);
    open_brackets[arch]++;
    atomic_fetch_add(&calls_of_arch[arch].brackets, 1);
}

static void sync_end(int arch)
{
    CHECK_EQ(open_brackets[arch], 1);
    open_brackets[arch]--;
}

static void (*before_name)(void);

void sim_before_name(void (*call)(void))
{
    before_name = call;
}

static void task_name(struct fg_task *task, char *out, size_t room)
{
    (void)task;
    if (before_name)
        before_name();
    snprintf(out, room, "%s", thread_name);
}

static _Thread_local bool irq;

static bool is_irq(int arch)
{
    atomic_fetch_add(&calls_of_arch[arch].irq_requested, 1);
    return irq;
}

void sim_irq(bool on)
{
    irq = on;
}

static _Thread_local bool handler;

static bool is_in_handler(const struct ftrace_regs *regs)
{
    (void)regs;
    return handler;
}

void sim_handler(bool on)
{
    handler = on;
}

static _Atomic uint64_t dropped;

static void drop_object(void *object, struct fg_domain *domain, int arch)
{
    CHECK(domain->arch == sim_domains[arch].arch);
    atomic_fetch_add(&calls_of_arch[arch].drops, 1);
    atomic_fetch_add((_Atomic uint64_t *)object, 1);
    atomic_fetch_add(&dropped, 1);
}

uint64_t sim_dropped(void)
{
    return atomic_load(&dropped);
}

static _Atomic uint64_t ended;

static void instance_ended(const void *scope)
{
    CHECK(!scope);
    CHECK(!fg_task_is_quiet(fg_task_self));
    atomic_fetch_add(&ended, 1);
}

uint64_t sim_ended(void)
{
    return atomic_load(&ended);
}

static const struct fg_process_ops sim_process = {
    .task_name = task_name, .is_in_handler = is_in_handler, .instance_ended = instance_ended};

/* The callbacks of one arch, each of which knows its arch's number. */
#define SIM_ARCH(number)                                                                                     \
    SIM_ARCH_CALLBACKS(number)                                                                               \
    static bool is_irq_##number(const struct ftrace_regs *regs)                                              \
    {                                                                                                        \
        (void)regs;                                                                                          \
        return is_irq(number);                                                                               \
    }                                                                                                        \
    static const struct fg_arch_ops arch_##number = {.name = "simulated " #number,                           \
                                                     .sync = sync_##number,                                  \
                                                     .sync_begin = sync_begin_##number,                      \
                                                     .sync_end = sync_end_##number,                          \
                                                     .drop_object = drop_object_##number,                    \
                                                     .is_irq = is_irq_##number};

SIM_ARCH(0)
SIM_ARCH(1)

struct fg_domain sim_domains[SIM_NR_ARCHES] = {{.arch = &arch_0}, {.arch = &arch_1, .is_global = true}};

const struct sim_arch_calls *sim_arch_calls(int arch)
{
    return &calls_of_arch[arch];
}

void sim_begin(void)
{
    CHECK_EQ(fg_engine_init(&sim_process), 0);
}

struct fg_func *sim_function(const char *module, const char *qualname)
{
    return sim_function_in(&sim_domains[0], module, qualname);
}

struct fg_func *sim_function_in(struct fg_domain *domain, const char *module, const char *qualname)
{
    struct sim_function *sim = calloc(1, sizeof(*sim));
    struct fg_func_desc desc = {.module = module,
                                .qualname = qualname,
                                .file = "sim.py",
                                .args = "a,b",
                                .line = 7,
                                .arch_data = sim,
                                .domain = domain};
    struct fg_func *func = fg_func_meet(&desc);

    CHECK(func != NULL);
    return func;
}

void sim_functions(struct fg_func **funcs, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        char name[16];

        snprintf(name, sizeof(name), "f%u", i);
        funcs[i] = sim_function("m", name);
    }
}

void sim_free(struct fg_func *func)
{
    void *sim = func->arch_data;

    fg_func_forget(func);
    free(sim);
}

uint32_t sim_syncs(const struct fg_func *func)
{
    return atomic_load(&((struct sim_function *)func->arch_data)->syncs);
}

bool sim_is_hooked(const struct fg_func *func)
{
    return atomic_load(&((struct sim_function *)func->arch_data)->is_hooked);
}

bool sim_set_return_hooks(const struct fg_func *func)
{
    return atomic_load(&((struct sim_function *)func->arch_data)->has_return_hooks);
}

static uintptr_t begin_call(struct fg_func *func, struct ftrace_regs *regs)
{
    uintptr_t call = atomic_fetch_add(&next_call, 16);
    struct fg_task *task = fg_task_current();

    if (fg_func_has_users(func) && !fg_enter_plain(task, func, call) &&
        !(fg_func_probed(func) && fg_enter_probed(task, func, call, 0, regs)))
        fg_enter(task, func, call, regs);
    return call;
}

uintptr_t sim_call(struct fg_func *func)
{
    return begin_call(func, &no_regs);
}

static struct fg_func *caller_of(const struct ftrace_regs *regs)
{
    return regs->frame;
}

uintptr_t sim_call_from(struct fg_func *caller, struct fg_func *func)
{
    static const struct ftrace_regs_ops ops = {.caller = caller_of};
    struct ftrace_regs regs = {.ops = &ops, .frame = caller};

    return begin_call(func, &regs);
}

uintptr_t sim_call_for_signal(struct fg_func *func)
{
    uintptr_t call;

    sim_irq(true);
    call = sim_call(func);
    sim_irq(false);
    return call;
}

void sim_return(uintptr_t call)
{
    struct fg_task *task = fg_task_current();
    struct fg_ending ending = fg_return_begin(task);

    if (!(fg_top_is_probed(task) && fg_return_probed(task, call, 0, &no_regs)) &&
        !fg_return_plain(task, call, ending.counter))
        fg_return_at(task, call, ending, &no_regs, FG_END_RETURN);
}

void sim_raise(uintptr_t call)
{
    fg_return(fg_task_current(), call, &no_regs, FG_END_RAISE);
}

void sim_suspend(uintptr_t call)
{
    fg_suspend(fg_task_current(), call, &no_regs);
}

void sim_resume(uintptr_t call)
{
    fg_resume(fg_task_current(), call, &no_regs);
}

void sim_close(uintptr_t call)
{
    fg_abandon(fg_task_current(), call, &no_regs);
}

void sim_call_return(struct fg_func *func)
{
    sim_return(sim_call(func));
}

void sim_name_thread(const char *name)
{
    snprintf(thread_name, sizeof(thread_name), "%s", name);
}

void sim_spawn(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
    CHECK_EQ(pthread_create(thread, NULL, run, arg), 0);
}

void sim_join(pthread_t thread)
{
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

void sim_work(uint64_t ns)
{
    uint64_t end = fg_clock_work_ns() + ns;

    while (fg_clock_work_ns() < end)
        ;
}

void sim_in_thread(void *(*run)(void *arg), void *arg)
{
    pthread_t thread;

    sim_spawn(&thread, run, arg);
    sim_join(thread);
}
