/* Asking arches to make functions' hooks match their users. */
#ifndef FG_SYNC_H
#define FG_SYNC_H

#include <stddef.h>

struct fg_func;

/* Makes one function's hooks match its users. Without locks. */
void fg_sync(struct fg_func *func);

/**
 * fg_sync_many() - Make the hooks of many functions match their users.
 * @func_at: returns function number i of @list
 * @list: passed to @func_at
 * @n: how many there are
 *
 * Each arch's functions are synchronized together, between one sync_begin and sync_end of that arch.
 *
 * Context: without locks.
 */
void fg_sync_many(struct fg_func *(*func_at)(const void *list, size_t i), const void *list, size_t n);

#endif
