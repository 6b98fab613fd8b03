/* Texts and raw data that the program puts into a trace. */
#ifndef FG_INSTANCE_MARK_H
#define FG_INSTANCE_MARK_H

#include <stddef.h>
#include <stdint.h>

/**
 * fg_instance_mark() - Put a text into the trace, as from the calling thread.
 * @func: the id of the function that puts it; 0: none
 *
 * A long text becomes several records.
 *
 * Return: 0; -EINVAL: no such instance; -ENOSPC: no room, counted as lost; -ENOMEM.
 * Context: any thread, also in a callback.
 */
int fg_instance_mark(int handle, uint32_t func, const char *text, size_t bytes);

/**
 * fg_instance_mark_at() - Put a text into the trace at a time of the past.
 * @time: ticks; the calling thread has put nothing into the instance since then
 *
 * Return and context: as fg_instance_mark().
 */
int fg_instance_mark_at(int handle, uint64_t time, const char *text, size_t bytes);

/**
 * fg_instance_mark_raw() - Put an id of 4 bytes and data into the trace: one record.
 *
 * Return: as fg_instance_mark(); -EMSGSIZE: less than FG_MARK_ID_BYTES, or more than FG_MARK_MAX_BYTES.
 * Context: as fg_instance_mark().
 */
int fg_instance_mark_raw(int handle, const void *data, size_t bytes);

#endif
