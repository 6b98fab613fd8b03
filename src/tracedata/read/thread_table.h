/* Numbers of the threads of a kernel's trace, by buffer and thread id. Lanes are CPUs there, and a thread
 * goes from one to another in the middle of a call: its calls nest by this number (fg_event.thread). Each
 * lane's idle task is a thread of its own, as all of them have the id 0. */
#ifndef FG_THREAD_TABLE_H
#define FG_THREAD_TABLE_H

#include "engine/base/hash_table.h"
#include "tracedata/base/trace_event.h"

/* All zeros: an empty one. */
struct fg_thread_table {
    struct fg_hash_table numbers; /* buffer and thread id -> number plus 1 */
    uint32_t n;
};

void fg_thread_table_free(struct fg_thread_table *table);

/* Sets event->thread, from its thread id, buffer and lane. Return: 0 or -ENOMEM. */
int fg_thread_table_find(struct fg_thread_table *table, struct fg_event *event);

#endif
