/* See kernel_scan.h. */
#include "tracedata/read/kernel_scan.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/array.h"
#include "tracedata/read/cursor.h"
#include "tracedata/read/merge.h"

void fg_kernel_scan_free(struct fg_kernel_scan *scan)
{
    free(scan->tasks);
    free(scan->addresses);
    fg_hash_clear(&scan->task_table);
    fg_hash_clear(&scan->address_table);
    *scan = (struct fg_kernel_scan){0};
}

/* Counts an event of a task. */
static int count_task(struct fg_kernel_scan *scan, const struct fg_event *event, size_t *latest)
{
    struct fg_scan_task *task = *latest < scan->nr_tasks ? &scan->tasks[*latest] : NULL;
    uint64_t hash, found;

    if (!task || task->lane != event->lane || task->tid != event->tid) {
        hash = fg_hash_uint64((uint64_t)event->lane << 32 | (uint32_t)event->tid);
        found = fg_hash_find(&scan->task_table, hash);
        if (!found && scan->nr_tasks == FG_SCAN_TASKS_MAX)
            return 0;
        if (!found) {
            if (fg_array_reserve(&scan->tasks, &scan->tasks_capacity, scan->nr_tasks + 1) < 0 ||
                fg_hash_add(&scan->task_table, hash, scan->nr_tasks + 1) < 0)
                return -ENOMEM;
            scan->tasks[scan->nr_tasks++] =
                (struct fg_scan_task){.lane = event->lane, .tid = event->tid, .first_ns = event->time_ns};
            found = scan->nr_tasks;
        }
        *latest = found - 1;
        task = &scan->tasks[*latest];
    }
    if (event->time_ns < task->first_ns)
        task->first_ns = event->time_ns;
    if (event->time_ns > task->last_ns)
        task->last_ns = event->time_ns;
    task->events++;
    return 0;
}

static int take_address(struct fg_kernel_scan *scan, uint64_t address)
{
    uint64_t hash = fg_hash_uint64(address);

    if (fg_hash_find(&scan->address_table, hash) || scan->nr_addresses == FG_SCAN_ADDRESSES_MAX)
        return 0;
    if (fg_array_reserve(&scan->addresses, &scan->addresses_capacity, scan->nr_addresses + 1) < 0 ||
        fg_hash_add(&scan->address_table, hash, 1) < 0)
        return -ENOMEM;
    scan->addresses[scan->nr_addresses++] = address;
    return 0;
}

/* The cursor has checked that the record is long enough. */
static int take_addresses(struct fg_kernel_scan *scan, const struct fg_kernel *kernel,
                          const struct fg_event *event)
{
    static const uint8_t fields[] = {FG_KERNEL_FIELD_FUNC, FG_KERNEL_FIELD_RETADDR, FG_KERNEL_FIELD_IP,
                                     FG_KERNEL_FIELD_PARENT_IP};
    const struct fg_kernel_event *described = fg_kernel_event(kernel, event->type - FG_EVENT_KERNEL);
    int error = 0;

    if (!described || described->role == FG_KERNEL_OTHER)
        return 0;
    for (size_t i = 0; i < sizeof(fields) && !error; i++)
        if (described->places[fields[i]].bytes)
            error = take_address(scan, fg_kernel_number(event->data, described->places[fields[i]]));
    return error;
}

static int scan_lane(struct fg_kernel_scan *scan, struct fg_cursor *cursor, char reason[FG_REASON_BYTES])
{
    size_t latest = SIZE_MAX;
    int error = 0;

    while (!cursor->at_end && !error) {
        const struct fg_event *event = &cursor->head;

        scan->events++;
        scan->lost += event->lost == FG_LOST_UNKNOWN ? 1 : event->lost;
        error = count_task(scan, event, &latest);
        if (!error)
            error = take_addresses(scan, cursor->file->kernel, event);
        if (!error)
            error = fg_cursor_advance(cursor, reason);
    }
    return error;
}

int fg_kernel_scan(const struct fg_trace_file *file, uint32_t *lane, struct fg_kernel_scan *scan)
{
    char reason[FG_REASON_BYTES];
    struct fg_cursor cursor;
    int error;

    if (*lane >= file->nr_lanes)
        return 0;
    error = fg_cursor_open(&cursor, file, NULL, (*lane)++, 0, fg_merge_window_bytes(file), reason);
    if (!error)
        error = scan_lane(scan, &cursor, reason);
    fg_cursor_close(&cursor);
    if (error && error != -EINVAL)
        return error;
    return *lane < file->nr_lanes;
}
