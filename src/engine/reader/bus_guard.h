/* Mappings of files that another process may truncate.
 *
 * A ring's owner may shrink its file at any instant, or punch a hole into it in a file system without room.
 * The reader's next access to its mapping then raises SIGBUS, which would end the recorder of all other
 * processes. Under a guard, the handler replaces such a mapping by zeros and notes it. The access is
 * repeated, and its thread goes on.
 *
 * For readers only: a traced process keeps its own handling of signals. */
#ifndef FG_BUS_GUARD_H
#define FG_BUS_GUARD_H

#include <stdbool.h>
#include <stddef.h>

struct fg_bus_guard;

/**
 * fg_bus_guard_begin() - Guard a shared mapping.
 * @mapping: begins at a page
 * @bytes: its length
 *
 * The first guard of the process installs the handler. A SIGBUS of anything else goes on to the handler that
 * was there before.
 *
 * Return: the guard, or NULL: no memory.
 */
struct fg_bus_guard *fg_bus_guard_begin(void *mapping, size_t bytes);

/* Whether the mapping has been replaced by zeros. */
bool fg_bus_guard_is_hit(const struct fg_bus_guard *guard);

/* Ends a guard, before its mapping is unmapped; NULL: does nothing. The last one restores the former handler,
 * unless the program has set another one meanwhile. */
void fg_bus_guard_end(struct fg_bus_guard *guard);

#endif
