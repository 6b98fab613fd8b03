#include "inject/enter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CALL_ROOM_BYTES ((size_t)24 << 10) /* pthread_create() with the loader's lazy binding under it */

static int redirect(struct fg_thread *thread, const struct fg_entry *entry, enum fg_place place)
{
    size_t bytes = fg_stub_size_bytes(strlen(entry->text));
    struct fg_stub stub = {
        .call = place == FG_PLACE_QUEUES ? FG_STUB_QUEUE : FG_STUB_SPAWN,
        .signal_mask = thread->signal_mask,
        .xsave_bytes = fg_stub_xsave_bytes(),
        .functions = entry->functions,
    };
    char *code = malloc(bytes);
    int error;

    if (code == NULL)
        return -ENOMEM;
    fg_place_resume(thread, &stub.resume_rip, &stub.resume_rax, &stub.eintr_rip);
    fg_stub_write(code, &stub, entry->text);
    error = fg_thread_write(thread, entry->cave.low, code, bytes);
    if (error == 0)
        error = fg_thread_redirect(thread, entry->cave.low + fg_stub_entry_offset());
    free(code);
    return error;
}

static bool is_wanted(const struct fg_entry *entry, enum fg_place place)
{
    return (place == FG_PLACE_WAITS && entry->may_spawn) || (place == FG_PLACE_QUEUES && entry->may_queue);
}

int fg_enter(pid_t tid, const struct fg_entry *entry, enum fg_place *place)
{
    struct fg_thread thread;
    int error;

    if (fg_stub_xsave_bytes() == 0)
        return -ENOSYS;
    if (fg_stub_size_bytes(strlen(entry->text)) > entry->cave.high - entry->cave.low)
        return -ENOSPC;
    error = fg_thread_stop(&thread, tid);
    if (error < 0)
        return error;
    *place = fg_place_of(&thread, &entry->places, CALL_ROOM_BYTES + fg_stub_xsave_bytes());
    if (is_wanted(entry, *place)) {
        error = redirect(&thread, entry, *place);
        error = error < 0 ? error : 1;
    }
    fg_thread_go(&thread);
    return error;
}

int fg_is_inside(pid_t tid, struct fg_range range)
{
    struct fg_thread thread;
    int error = fg_thread_stop(&thread, tid);

    if (error < 0)
        return error;
    error = fg_place_is_inside(&thread, range);
    fg_thread_go(&thread);
    return error;
}

static int compare_and_write(const struct fg_thread *thread, uint64_t address, const void *old, const void *new,
                             size_t bytes)
{
    char *now = malloc(bytes);
    int result = -ENOMEM;

    if (now == NULL)
        return result;
    result = 0;
    if (fg_thread_read(thread, address, now, bytes) == (ssize_t)bytes && memcmp(now, old, bytes) == 0)
        result = fg_thread_write(thread, address, new, bytes);
    else
        result = 1;
    free(now);
    return result < 0 ? result : !result;
}

int fg_replace(pid_t tid, uint64_t address, const void *old, const void *new, size_t bytes)
{
    struct fg_thread thread;
    int error = fg_thread_stop(&thread, tid);

    if (error < 0)
        return error;
    error = compare_and_write(&thread, address, old, new, bytes);
    fg_thread_go(&thread);
    return error;
}
