/* See root.h. */
#include "engine/core/root.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/core/mutex.h"
#include "engine/core/public.h"

#define MAX_KILL_HOOKS 4

static int stub_entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)trace, (void)ops, (void)regs;
    return 0;
}

static void stub_return(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)trace, (void)ops, (void)regs;
}

struct fgraph_ops fg_stub_ops = {.entryfunc = stub_entry, .retfunc = stub_return, .name = "stub"};

struct fg_root fg_root = {
    .slots = {[0 ... FG_MAX_USERS - 1] = {.ops = &fg_stub_ops, .generation = FG_GENERATION_NONE}},
};

static void no_name(struct fg_task *task, char *out, size_t room)
{
    (void)task, (void)room;
    *out = 0;
}

static const struct fg_process_ops no_process = {.task_name = no_name};

static struct {
    pthread_mutex_t lock;
    const struct fg_process_ops *process;
    void (*kill_hooks[MAX_KILL_HOOKS])(const char *message);
    char kill_message[512];
} engine = {.lock = PTHREAD_MUTEX_INITIALIZER};

void fg_engine_lock(void)
{
    fg_mutex_lock(&engine.lock);
}

void fg_engine_unlock(void)
{
    fg_mutex_unlock(&engine.lock);
}

int fg_engine_init(const struct fg_process_ops *process)
{
    if (engine.process)
        return -EBUSY;
    fg_clock_init();
    engine.process = process ? process : &no_process;
    return 0;
}

const struct fg_process_ops *fg_process(void)
{
    return engine.process ? engine.process : &no_process;
}

uint64_t fg_overrun_total(void)
{
    return atomic_load(&fg_root.overrun);
}

void fg_kill(const char *format, ...)
{
    static const char prefix[] = "funcgraph: tracing is off for good, the program goes on: ";
    char line[sizeof(engine.kill_message) + sizeof(prefix) + 1];
    va_list arguments;
    int length;

    if (atomic_exchange(&fg_root.killed, true))
        return;
    /* From here on no frame is pushed, and no frame finds its users. */
    atomic_store(&fg_root.descriptor, 0);
    atomic_store(&fg_root.plain_descriptor, 0);
    for (uint32_t i = 0; i < FG_MAX_USERS; i++)
        atomic_store(&fg_root.slots[i].generation, FG_GENERATION_NONE);
    va_start(arguments, format);
    vsnprintf(engine.kill_message, sizeof(engine.kill_message), format, arguments);
    va_end(arguments);
    length = snprintf(line, sizeof(line), "%s%s\n", prefix, engine.kill_message);
    if (write(STDERR_FILENO, line, (size_t)length) < 0)
        return; /* stderr is closed; the message is kept */
    for (int i = 0; i < MAX_KILL_HOOKS; i++) {
        if (engine.kill_hooks[i])
            engine.kill_hooks[i](engine.kill_message);
    }
}

const char *fg_killed(void)
{
    return atomic_load(&fg_root.killed) ? engine.kill_message : NULL;
}

void fg_on_kill(void (*hook)(const char *message))
{
    for (int i = 0; i < MAX_KILL_HOOKS; i++) {
        if (!engine.kill_hooks[i] || engine.kill_hooks[i] == hook) {
            engine.kill_hooks[i] = hook;
            return;
        }
    }
}
