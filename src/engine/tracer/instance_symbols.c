/* See instance_symbols.h. */
#define _GNU_SOURCE
#include "engine/tracer/instance_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/array.h"
#include "engine/writer/ring_symbols.h"

#define MAX_ARGV 64u
#define MAX_CMDLINE_BYTES 4096u

static void put_function(struct fg_ring *ring, const struct fg_func *func, enum fg_symbol_type type)
{
    const char *const strings[] = {func->module, func->qualname, func->file, func->args};
    struct fg_symbol symbol = {
        .type = (uint16_t)type, .flags = func->flags, .id = func->id, .line = func->line, .nr_strings = 4};

    fg_ring_put_symbol(ring, &symbol, strings);
}

/* True the first time for each function. Without memory for the note a symbol is put twice,
 * which is harmless. */
static bool describe_once(struct fg_instance *instance, uint32_t id)
{
    uint32_t word = id / 64;

    if (fg_array_reserve_zeroed(&instance->described, &instance->nr_described_words, (size_t)word + 1) != 0)
        return true;
    if (instance->described[word] >> id % 64 & 1)
        return false;
    instance->described[word] |= 1ull << id % 64;
    return true;
}

/* An instance without a file puts each symbol once, though its filter changes often. Functions that match
 * no filter get a symbol only in a file, or where records may name them as callers. */
void fg_instance_found(struct fg_func *func, struct fgraph_ops *ops, bool matched)
{
    struct fg_instance *instance = fg_instance_of(ops);
    bool shows_callers = fg_instance_shows_callers(instance);
    enum fg_symbol_type other = shows_callers ? FG_SYMBOL_CALLER : FG_SYMBOL_SEEN;

    if (instance->ring.directory || ((matched || shows_callers) && describe_once(instance, func->id)))
        put_function(&instance->ring, func, matched ? FG_SYMBOL_FUNC : other);
}

/* The process's arguments, NUL-separated as the kernel has them. Returns how many. */
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

struct named {
    struct fg_instance *instance;
    uint32_t id;
};

static void put_named(struct fg_func *func, void *arg)
{
    const struct named *named = arg;

    if (func->id == named->id && describe_once(named->instance, func->id))
        put_function(&named->instance->ring, func, FG_SYMBOL_CALLER);
}

void fg_instance_name_function(struct fg_instance *instance, uint32_t id)
{
    uint32_t word = id / 64;
    bool is_known;

    fg_engine_lock();
    is_known = word < instance->nr_described_words && instance->described[word] >> id % 64 & 1;
    fg_engine_unlock();
    if (!is_known)
        fg_func_for_each(put_named, &(struct named){instance, id});
}

void fg_instance_forget_symbols(struct fg_instance *instance)
{
    fg_engine_lock();
    if (instance->described)
        memset(instance->described, 0, instance->nr_described_words * sizeof(*instance->described));
    fg_engine_unlock();
}

static void put_process(struct fg_ring *ring)
{
    char text[MAX_CMDLINE_BYTES];
    const char *strings[MAX_ARGV + 1] = {program_invocation_short_name};
    struct fg_symbol symbol = {
        .type = FG_SYMBOL_PROCESS, .id = (uint32_t)getpid(), .tid = (uint32_t)getppid()};

    symbol.nr_strings = 1 + read_cmdline(text, sizeof(text), strings + 1);
    fg_ring_put_symbol(ring, &symbol, strings);
}

static _Atomic(const struct fg_instance_event_ops *) event_ops;

void fg_instance_set_event_ops(const struct fg_instance_event_ops *ops)
{
    atomic_store(&event_ops, ops);
}

void fg_instance_stop_events(struct fg_instance *instance)
{
    const struct fg_instance_event_ops *ops = atomic_load(&event_ops);

    if (ops)
        ops->stopping(instance);
}

void fg_instance_put_first(struct fg_instance *instance)
{
    const struct fg_instance_event_ops *ops = atomic_load(&event_ops);

    put_process(&instance->ring);
    if (ops)
        ops->put_symbols(instance);
}

static void put_known_function(struct fg_func *func, void *arg)
{
    struct fg_instance *instance = arg;

    if (fg_domain_is_seen(func->domain, fg_user_of(&instance->ops)->scope))
        fg_instance_found(func, &instance->ops, fg_filter_matches(&fg_user_of(&instance->ops)->filter, func));
}

void fg_instance_put_functions(struct fg_instance *instance)
{
    fg_func_for_each(put_known_function, instance);
}

void fg_instance_reopened(struct fg_ring *ring)
{
    struct fg_instance *instance = fg_container_of(ring, struct fg_instance, ring);

    fg_instance_forget_symbols(instance);
    fg_instance_put_first(instance);
    fg_instance_put_functions(instance);
}
