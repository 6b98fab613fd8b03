/* See instance_snapshot.h. */
#define _GNU_SOURCE
#include "engine/tracer/instance_snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/tracer/instance_tracer.h"
#include "engine/users/users.h"
#include "engine/writer/ring_spare.h"
#include "engine/writer/ring_swap.h"

/* As funcgraph.ftrace_dump() does (session/dump_request.py). Only system calls: a hook may be anywhere. */
static void request_dump(const struct fg_ring *ring, const char *why)
{
    char path[PATH_MAX], made[PATH_MAX];
    int fd, n = snprintf(path, sizeof(path), "%s/%d.%llu.dump", ring->directory, (int)getpid(),
                         (unsigned long long)fg_clock_monotonic_ns());

    if (n < 0 || (size_t)n + sizeof(".new") > sizeof(made))
        return;
    snprintf(made, sizeof(made), "%.*s.new", n, path);
    fd = open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return; /* the recording has ended, or there is no room: the program must not be harmed */
    if (write(fd, why, strlen(why)) < 0 || rename(made, path) != 0)
        unlink(made);
    close(fd);
}

/* A handler of a signal may have interrupted the ring's own work: it leaves that to the next reader. */
void fg_instance_snapshot(struct fg_instance *instance, struct fg_task *task, const char *why)
{
    struct fg_ring *ring = &instance->ring;
    bool is_held = !fg_task_is_in_signal(task) && fg_task_hold(task);

    if (ring->directory)
        request_dump(ring, why);
    else if (is_held)
        fg_ring_swap(ring);
    else
        fg_ring_swap_later(ring);
    if (is_held)
        fg_task_release(task);
}

int fg_instance_alloc_snapshot(struct fg_instance *instance)
{
    return instance->ring.directory ? 0 : fg_ring_spare_alloc(&instance->ring);
}

void fg_instance_free_snapshot(struct fg_instance *instance)
{
    fg_ring_spare_part(&instance->ring);
    fg_users_synchronize(); /* a callback may be writing a record in the snapshot */
    fg_ring_spare_free(&instance->ring);
}

int fg_instance_write_snapshot(struct fg_instance *instance, uint64_t number)
{
    struct fg_ring *ring = &instance->ring;
    int error = ring->directory ? -EBUSY : fg_instance_change_begin(instance);

    if (error)
        return error;
    if (number == 0) {
        fg_instance_free_snapshot(instance);
    } else if (number == 1) {
        error = fg_ring_spare_alloc(ring);
        if (!error)
            fg_ring_swap(ring);
    } else {
        fg_ring_spare_clear(ring);
    }
    fg_instance_change_end(instance);
    return error;
}
