/* See enter.h. */
#include "inject/enter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inject/stopped.h"
#include "inject/tracer.h"

#define ENTRY_BYTES 512 /* red zone, registers */

/* How a thread goes through the stub. */
enum way { WAY_NONE, WAY_SPAWN, WAY_QUEUE, WAY_INTERRUPT };

static void resume(const struct fg_thread *thread, enum way way, struct fg_stub *stub)
{
    fg_place_resume(thread, &stub->resume_rip, &stub->resume_rax, &stub->eintr_rip);
    if (way == WAY_INTERRUPT) {
        stub->resume_rip = thread->regs.rip;
        stub->resume_rax = (uint64_t)-EINTR;
        stub->eintr_rip = 0;
    }
}

static int redirect(struct fg_thread *thread, const struct fg_entry *entry, enum way way)
{
    size_t bytes = fg_stub_size_bytes(strlen(entry->text));
    struct fg_stub stub = {
        .call = way == WAY_SPAWN ? FG_STUB_SPAWN : FG_STUB_QUEUE,
        .signal_mask = thread->signal_mask,
        .xsave_bytes = fg_stub_xsave_bytes(thread->tid),
        .functions = entry->functions,
    };
    char *code = malloc(bytes);
    int error;

    if (code == NULL)
        return -ENOMEM;
    resume(thread, way, &stub);
    fg_stub_write(code, &stub, entry->text);
    error = fg_thread_write(thread, entry->cave.low, code, bytes);
    if (error == 0)
        error = fg_thread_redirect(thread, entry->cave.low + fg_stub_entry_offset());
    free(code);
    return error;
}

static enum way way_of(const struct fg_entry *entry, enum fg_place place)
{
    if (place == FG_PLACE_QUEUES && entry->may_queue)
        return WAY_QUEUE;
    if ((place == FG_PLACE_WAITS || place == FG_PLACE_LOCK) && entry->may_spawn)
        return WAY_SPAWN;
    return place == FG_PLACE_LOCK && entry->may_queue ? WAY_INTERRUPT : WAY_NONE;
}

/* Return: 1: the cave's bytes are the expected ones. 0: they are others. Or a negative errno. */
static int is_cave_free(const struct fg_thread *thread, const struct fg_entry *entry)
{
    size_t bytes = fg_stub_size_bytes(strlen(entry->text));
    char *now = malloc(bytes);
    int result = -ENOMEM;

    if (now != NULL)
        result = fg_thread_read(thread, entry->cave.low, now, bytes) == (ssize_t)bytes &&
                 memcmp(now, entry->content, bytes) == 0;
    free(now);
    return result;
}

/* Sends the stopped thread into the stub. Return: as fg_enter(). */
static int enter_stopped(struct fg_thread *thread, const struct fg_entry *entry, enum fg_place *place)
{
    enum way way;
    int result;

    *place = fg_place_of(thread, &entry->places,
                         FG_STUB_CALL_ROOM_BYTES + ENTRY_BYTES + fg_stub_xsave_bytes(thread->tid));
    way = way_of(entry, *place);
    if (way == WAY_NONE)
        return 0;
    result = is_cave_free(thread, entry);
    if (result == 0)
        *place = FG_PLACE_TAKEN;
    if (result <= 0)
        return result;
    result = redirect(thread, entry, way);
    if (result < 0)
        return result;
    if (way == WAY_INTERRUPT)
        *place = FG_PLACE_QUEUES;
    return 1;
}

/* A process that has executed another program since the attacher looked has done so before the stop: a thread
 * that is stopped between two instructions executes none. */
static int enter(const struct fg_process *process, pid_t tid, const struct fg_entry *entry,
                 enum fg_place *place)
{
    struct fg_thread thread;
    int result = fg_thread_stop(&thread, process, tid);

    if (result < 0)
        return result;
    result = entry->is_same(entry->data) ? enter_stopped(&thread, entry, place) : -ESTALE;
    fg_thread_go(&thread);
    return result;
}

/* ---- what the tracer does. Each function of enter.h has it do one of these. */

struct entering {
    const struct fg_process *process;
    pid_t tid;
    const struct fg_entry *entry;
    enum fg_place *place;
};

static int enter_thread(void *data)
{
    const struct entering *what = data;
    struct fg_thread leader;
    int result;

    if (what->tid == what->process->pid)
        return enter(what->process, what->tid, what->entry, what->place);
    result = fg_thread_stop(&leader, what->process, what->process->pid);
    if (result < 0)
        return result;
    result = enter(what->process, what->tid, what->entry, what->place);
    fg_thread_go(&leader);
    return result;
}

int fg_enter(const struct fg_process *process, pid_t tid, const struct fg_entry *entry, enum fg_place *place)
{
    struct entering what = {process, tid, entry, place};

    if (fg_stub_xsave_bytes(process->pid) == 0)
        return -ENOSYS;
    if (fg_stub_size_bytes(strlen(entry->text)) > entry->cave.high - entry->cave.low)
        return -ENOSPC;
    return fg_tracer_run(enter_thread, &what);
}

static int read_pc(const struct fg_thread *thread, void *data)
{
    *(uint64_t *)data = thread->regs.rip;
    return 0;
}

int fg_pc(const struct fg_process *process, pid_t tid, uint64_t *pc)
{
    return fg_while_stopped(process, tid, read_pc, pc);
}

struct place_range {
    struct fg_range range;
    uint64_t entry;
};

static int is_inside(const struct fg_thread *thread, void *data)
{
    const struct place_range *place = data;

    return fg_place_is_inside(thread, place->range, place->entry);
}

int fg_is_inside(const struct fg_process *process, pid_t tid, struct fg_range range, uint64_t entry)
{
    struct place_range place = {range, entry};

    return fg_while_stopped(process, tid, is_inside, &place);
}

struct replacement {
    uint64_t address;
    const void *old, *new;
    size_t bytes;
};

static int compare_and_write(const struct fg_thread *thread, void *data)
{
    const struct replacement *to = data;
    char *now = malloc(to->bytes);
    int result = 0;

    if (now == NULL)
        return -ENOMEM;
    if (fg_thread_read(thread, to->address, now, to->bytes) == (ssize_t)to->bytes &&
        memcmp(now, to->old, to->bytes) == 0) {
        int error = fg_thread_write(thread, to->address, to->new, to->bytes);

        result = error < 0 ? error : 1;
    }
    free(now);
    return result;
}

int fg_replace(const struct fg_process *process, uint64_t address, const void *old, const void *new,
               size_t bytes)
{
    struct replacement to = {address, old, new, bytes};

    return fg_while_stopped(process, process->pid, compare_and_write, &to);
}
