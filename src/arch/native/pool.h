/* Trampolines of one object: pages of them, within reach of its text. */
#ifndef FG_NATIVE_POOL_H
#define FG_NATIVE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/native/code.h"
#include "arch/native/machine.h"
#include "arch/native/refusal.h"

/* A page of trampolines is executable and never writable. Those that are made are written together, and
 * never change: they stay for good, as nobody can say when the last thread has left one. A handler of a
 * signal may have interrupted it there. */
struct fg_pool {
    uintptr_t begin;    /* of the reserved addresses; 0: none */
    size_t bytes, used; /* used: pages that are full */
    uint8_t *image;     /* the next page */
    size_t nr_made;     /* trampolines of that page, the machine's own one included */
    size_t nr_written;  /* of these */
};

/* Reserves addresses for @n trampolines, of functions or of places. */
bool fg_pool_reserve(struct fg_pool *pool, uintptr_t text_begin, uintptr_t text_end, size_t n,
                     bool are_places, struct fg_native_refusal *refusal);

/* Makes a trampoline: image and address are filled in here. Returns its address; 0: there is no room,
 * or something is out of reach. It can be used once fg_pool_write() has returned. */
uintptr_t fg_pool_make(struct fg_pool *pool, const struct fg_code_writer *writer,
                       struct fg_trampoline *trampoline);
/* Writes what was made since the last time. False: it cannot be written. */
bool fg_pool_write(struct fg_pool *pool, const struct fg_code_writer *writer);

#endif
