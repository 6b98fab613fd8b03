/* The engine's root: its lock, its arch, and the kill switch. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "engine/core/clock.h"
#include "engine/graph/users.h"

#define MAX_KILL_HOOKS 4

struct fg_root fg_root;

static struct {
    pthread_mutex_t lock;
    const struct fg_arch_ops *arch;
    void (*kill_hooks[MAX_KILL_HOOKS])(const char *message);
    char kill_message[512];
} engine = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void no_sync(struct fg_func *func)
{
    (void)func;
}

static void no_bracket(void)
{
}

static void no_name(struct fg_task *task, char *out, size_t room)
{
    (void)task, (void)room;
    *out = 0;
}

static const struct fg_arch_ops no_arch = {
    .name = "none", .sync = no_sync, .sync_begin = no_bracket, .sync_end = no_bracket, .task_name = no_name};

void fg_engine_lock(void)
{
    pthread_mutex_lock(&engine.lock);
}

void fg_engine_unlock(void)
{
    pthread_mutex_unlock(&engine.lock);
}

int fg_engine_init(const struct fg_arch_ops *arch)
{
    if (engine.arch)
        return -EBUSY;
    fg_clock_init();
    engine.arch = arch ? arch : &no_arch;
    fg_users_init();
    return 0;
}

const struct fg_arch_ops *fg_engine_arch(void)
{
    return engine.arch ? engine.arch : &no_arch;
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
    /* No frame is pushed any more, and none finds its users. */
    atomic_store(&fg_root.descriptor, 0);
    atomic_store(&fg_root.plain_descriptor, 0);
    for (uint32_t i = 0; i < FG_MAX_USERS; i++)
        atomic_store(&fg_root.slots[i].generation, FG_GENERATION_NONE);
    va_start(arguments, format);
    vsnprintf(engine.kill_message, sizeof(engine.kill_message), format, arguments);
    va_end(arguments);
    length = snprintf(line, sizeof(line), "%s%s\n", prefix, engine.kill_message);
    if (write(STDERR_FILENO, line, (size_t)length) < 0)
        return; /* nowhere to say it; it is kept */
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
