/* The counting fprobe. */
#include "support/watch.h"

#include <string.h>

#include "engine/core/function.h"
#include "support/check.h"

static char notes[256];
static size_t nr_noted;
static _Atomic uint64_t next_serial;

static void note(const struct watch *watch, char what)
{
    if (watch->name && nr_noted < sizeof(notes) - 16)
        nr_noted += (size_t)snprintf(notes + nr_noted, sizeof(notes) - nr_noted, "%s%c ", watch->name, what);
}

const char *watch_log(void)
{
    static char taken[sizeof(notes)];

    memcpy(taken, notes, sizeof(notes));
    if (nr_noted)
        taken[nr_noted - 1] = 0;
    nr_noted = 0;
    notes[0] = 0;
    return taken;
}

static void handler_begins(struct watch *watch)
{
    if (!atomic_load(&watch->is_registered))
        atomic_fetch_add(&watch->called_after, 1);
    atomic_fetch_add(&watch->running, 1);
}

static void handler_ends(struct watch *watch)
{
    atomic_fetch_sub(&watch->running, 1);
}

/* Byte `i` of an entry's data. It is unique to the entry, so the exit can recognize its own entry's
 * data. */
static uint8_t data_byte(const struct watch *watch, const struct fg_func *func, uint8_t serial, size_t i)
{
    return (uint8_t)(serial + i * 7 + func->id * 31 + ((uintptr_t)watch >> 6));
}

static void put_data(struct watch *watch, const struct fg_func *func, uint8_t *data)
{
    uint8_t serial = (uint8_t)atomic_fetch_add(&next_serial, 1);

    for (size_t i = 0; i < watch->fp.entry_data_size; i++) {
        if (data[i])
            atomic_fetch_add(&watch->bad, 1);
        data[i] = i ? data_byte(watch, func, serial, i) : serial;
    }
}

static bool data_is_right(const struct watch *watch, const struct fg_func *func, const uint8_t *data)
{
    if (!watch->fp.entry_data_size)
        return data == NULL;
    for (size_t i = 1; data && i < watch->fp.entry_data_size; i++) {
        if (data[i] != data_byte(watch, func, data[0], i))
            return false;
    }
    return data != NULL;
}

static int entry(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip, struct ftrace_regs *regs,
                 void *data)
{
    struct watch *watch = fp->private_data;
    bool cancels = atomic_load(&watch->cancels);

    (void)ret_ip, (void)regs;
    handler_begins(watch);
    atomic_fetch_add(&watch->entries, 1);
    note(watch, '>');
    if (data)
        put_data(watch, func, data);
    handler_ends(watch);
    if (watch->on_entry)
        watch->on_entry(watch, func);
    return cancels;
}

static void exited(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip, struct ftrace_regs *regs,
                   void *data)
{
    struct watch *watch = fp->private_data;

    (void)ret_ip, (void)regs;
    handler_begins(watch);
    atomic_fetch_add(&watch->exits, 1);
    note(watch, '<');
    if (!data_is_right(watch, func, data))
        atomic_fetch_add(&watch->bad, 1);
    handler_ends(watch);
    if (watch->on_exit)
        watch->on_exit(watch, func);
}

void watch_init(struct watch *watch, const char *name, size_t data_bytes)
{
    memset(watch, 0, sizeof(*watch));
    watch->name = name;
    watch->fp = (struct fprobe){
        .entry_handler = entry, .exit_handler = exited, .entry_data_size = data_bytes, .private_data = watch};
}

static void add(struct fg_patterns *set, const char *pattern)
{
    const char *reason;
    size_t column;

    if (pattern)
        CHECK_EQ(fg_patterns_add(set, pattern, &reason, &column), 0);
}

int watch_try_register(struct watch *watch, const char *filter, const char *notfilter)
{
    struct fg_fprobe_filter patterns = {0};
    int error;

    add(&patterns.filter, filter);
    add(&patterns.notfilter, notfilter);
    error = fg_fprobe_register(&watch->fp, NULL, &patterns);
    fg_patterns_clear(&patterns.filter);
    fg_patterns_clear(&patterns.notfilter);
    return error;
}

void watch_register(struct watch *watch, const char *filter)
{
    atomic_store(&watch->is_registered, true);
    CHECK_EQ(watch_try_register(watch, filter, NULL), 0);
}

void watch_register_ips(struct watch *watch, struct fg_func *const funcs[], size_t n)
{
    atomic_store(&watch->is_registered, true);
    CHECK_EQ(fg_fprobe_register_ips(&watch->fp, NULL, funcs, NULL, n), 0);
}

void watch_unregister(struct watch *watch)
{
    CHECK_EQ(fg_fprobe_unregister(&watch->fp), 0);
    atomic_store(&watch->is_registered, false);
}
