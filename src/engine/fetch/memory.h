/* Reading memory of this process at addresses that nobody vouches for. The kernel copies it, so a bad address
 * is an answer, and no handler of a signal is needed. Safe in any thread, and in a handler of a signal. */
#ifndef FG_FETCH_MEMORY_H
#define FG_FETCH_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* At most so many bytes are read at once. */
#define FG_MEMORY_MAX 1024u

/* Copies @bytes from @address. Returns how many could be read, from the first on. Changes errno. */
size_t fg_fetch_memory(void *to, uintptr_t address, size_t bytes);

/* As fg_fetch_memory() of one word, without a system call if it lies in the page of the byte below the stack
 * pointer @sp: there the hook has saved registers, or the return address was. */
bool fg_fetch_stack_word(uint64_t *to, uintptr_t address, uintptr_t sp);

#endif
