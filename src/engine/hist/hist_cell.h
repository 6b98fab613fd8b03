/* A cell: a few words of a row that are written, taken and read as one, without a lock.
 *
 * Its first word is its state: how often it has changed, and below that whether it is empty, set, or being
 * changed. A thread that finds it being changed waits for a moment, then goes on without it: it may be in a
 * handler of a signal which interrupted that change. */
#ifndef FG_HIST_CELL_H
#define FG_HIST_CELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* False: another thread has been changing it for too long, or the one that this handler of a signal
 * interrupted changes it. */
bool fg_hist_cell_put(_Atomic uint64_t *cell, const uint64_t *words, uint32_t n);

/* Empties it. False: it was empty, or is being changed. */
bool fg_hist_cell_take(_Atomic uint64_t *cell, uint64_t *words, uint32_t n);

enum fg_hist_cell_read { FG_HIST_CELL_EMPTY, FG_HIST_CELL_SET, FG_HIST_CELL_CHANGES };

/* CHANGES: it did so meanwhile, and may be read again. */
enum fg_hist_cell_read fg_hist_cell_read(_Atomic uint64_t *cell, uint64_t *words, uint32_t n);

#endif
