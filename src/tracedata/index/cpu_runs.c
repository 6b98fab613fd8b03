/* See cpu_runs.h.
 *
 *     CPU 0    work --- work  kworker --  work ------
 *     runs     0 ........ 0   1 ......1   2 ....... 2
 *
 * A run ends at the last event of its thread before another one has the CPU: what that does not record, such
 * as an idle CPU, is nobody's. */
#include "tracedata/index/cpu_runs.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/array.h"

struct cpu {
    struct fg_run run; /* in progress, if it has a thread */
    uint32_t thread;   /* 1 + its number; 0: none so far */
    uint32_t root;
    bool has_root;
};

struct thread {
    uint64_t last_ns;
    uint32_t task; /* 1 + that of its first event, as the index has it; 0: it had none so far */
};

struct maker {
    struct fg_run_set *set;
    const struct fg_name_table *names;
    struct cpu *cpus; /* by lane of the file */
    size_t nr_cpus;
    struct thread *threads;
    size_t nr_threads;
};

static int end_run(const struct maker *maker, const struct cpu *cpu)
{
    return cpu->thread && cpu->root != FG_LEFT_OUT ? fg_run_set_add(maker->set, &cpu->run) : 0;
}

/* When the thread of an event came to its CPU, at the latest. A call whose end is all that is recorded began
 * there, too, unless the thread was seen meanwhile. */
static uint64_t begin_ns(const struct cpu *cpu, const struct thread *thread, const struct fg_event *event)
{
    uint64_t begin = event->time_ns, calltime;

    if (event->type != FG_EVENT_funcgraph_exit || !event->size)
        return begin;
    calltime = fg_event_graph(event)->calltime_ns;
    if (thread->last_ns >= calltime || calltime > begin)
        return begin;
    return cpu->thread && cpu->run.end_ns > calltime ? cpu->run.end_ns : calltime;
}

static int begin_run(struct maker *maker, struct cpu *cpu, const struct thread *thread,
                     const struct fg_event *event)
{
    struct fg_run run = {.begin_ns = begin_ns(cpu, thread, event), .task = thread->task - 1, .nr_depths = 1};
    int error = end_run(maker, cpu);

    if (!error && !cpu->has_root) {
        struct fg_run_root root = {FG_FUNC_UNKNOWN, FG_FUNC_UNKNOWN, event->cpu, FG_ROOT_cpu};

        error = fg_run_set_add_root(maker->set, &root, &cpu->root);
        cpu->has_root = true;
    }
    run.root = cpu->root;
    cpu->run = run;
    cpu->thread = event->thread + 1;
    return error;
}

static void add_call(struct fg_run *run, const struct fg_event *event)
{
    const struct fg_graph_data *graph = fg_event_graph(event);

    run->nr_calls += event->type == FG_EVENT_funcgraph_entry;
    if (graph->depth >= run->nr_depths)
        run->nr_depths = graph->depth + 1;
}

static int add_event(struct maker *maker, const struct fg_event *event)
{
    struct thread *thread;
    struct cpu *cpu;
    int error = 0;

    if (fg_array_reserve_zeroed(&maker->cpus, &maker->nr_cpus, (size_t)event->lane + 1) < 0 ||
        fg_array_reserve_zeroed(&maker->threads, &maker->nr_threads, (size_t)event->thread + 1) < 0)
        return -ENOMEM;
    cpu = &maker->cpus[event->lane];
    thread = &maker->threads[event->thread];
    if (!thread->task)
        thread->task = maker->names->tasks[event->task].number + 1;
    if (cpu->thread != event->thread + 1)
        error = begin_run(maker, cpu, thread, event);
    cpu->run.end_ns = thread->last_ns = event->time_ns;
    if (fg_event_is_call(event->type) && event->size)
        add_call(&cpu->run, event);
    return error;
}

int fg_cpu_runs_make(struct fg_run_set *set, struct fg_merge *merge)
{
    struct maker maker = {.set = set, .names = merge->names};
    struct fg_event event;
    int result;

    set->drops_short = true;
    while ((result = fg_merge_next(merge, &event)) > 0) {
        result = add_event(&maker, &event);
        if (result)
            break;
    }
    for (size_t i = 0; !result && i < maker.nr_cpus; i++)
        result = end_run(&maker, &maker.cpus[i]);
    free(maker.cpus);
    free(maker.threads);
    return result;
}
