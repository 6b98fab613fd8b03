/* Changing the first bytes of functions, while other threads may execute them. */
#ifndef FG_NATIVE_CHANGE_H
#define FG_NATIVE_CHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/native/code.h"
#include "arch/native/refusal.h"
#include "arch/native/stop.h"

#define FG_CHANGE_BYTES 8u

/* One change. One of @from and @to is a single instruction, the other one may be several: no thread is
 * between those of a single one. */
struct fg_code_change {
    uintptr_t address;
    size_t bytes; /* at most FG_CHANGE_BYTES */
    uint8_t from[FG_CHANGE_BYTES], to[FG_CHANGE_BYTES];
    void *arg;           /* the caller's */
    const char *refusal; /* why it was not done */
    bool is_done, from_is_single;
    bool is_foreign; /* not done, as the bytes are neither @from nor @to */
};

/**
 * fg_code_change() - Make changes.
 * @changes: sorted by address when this returns
 * @ranges: memory for as many
 * @n: how many
 * @refusal: filled in if none of them can be made
 *
 * No thread is between instructions of @from: a change for which that cannot be had is not made. Nor is one
 * whose bytes are others than @from, unless they are @to already.
 *
 * Return: false: nothing was changed.
 * Context: one thread at a time. Allocates nothing: the caller may be within the program's allocator.
 */
bool fg_code_change(struct fg_code_change *changes, struct fg_stop_range *ranges, size_t n,
                    const struct fg_code_writer *writer, struct fg_native_refusal *refusal);

#endif
