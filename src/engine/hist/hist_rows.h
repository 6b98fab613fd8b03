/* What the files of a histogram (hist.h) know of each other: where in a row its parts are. */
#ifndef FG_HIST_ROWS_H
#define FG_HIST_ROWS_H

#include "engine/hist/hist.h"
#include "engine/hist/hist_cell.h"

/* Where an element's counters are, after its key. */
struct fg_hist_layout {
    uint32_t sums;      /* hitcount is before them */
    uint32_t ended;     /* as hitcount, counted after the sums */
    uint32_t comm;      /* what comes from here on is not read again */
    uint32_t tracked;   /* a word each, in an order in which 0 is least: hist_track.c */
    uint32_t saved;     /* a cell: the value that was tracked then, and what was saved */
    uint32_t variables; /* cells */
    uint32_t saved_words;
    uint32_t end;
};

struct fg_hist {
    struct fg_hist_map *map;
    _Atomic bool is_paused;
    uint32_t needs;
    struct fg_hist_layout at;
    struct fg_hist_plan plan;
};

/* What is tracked of a hit, in an order in which 0 is least. */
uint64_t fg_hist_track_word(const struct fg_hist *hist, uint32_t index, const struct fg_hit *hit);
/* Keeps that. Return: whether it is larger than what was there, or for onchange() another one. */
bool fg_hist_track_keep(const struct fg_hist_track *track, _Atomic uint64_t *at, uint64_t word);

/* What is tracked, as it was: an integer or a double's bits, of the word in a row. */
uint64_t fg_hist_tracked(const struct fg_hist *hist, uint32_t index, uint64_t word);

/* Reads a cell again while another thread changes it, which never ends in a forked child. CHANGES: it did not
 * end within a second. Context: outside of callbacks. */
enum fg_hist_cell_read fg_hist_read_cell(_Atomic uint64_t *cell, uint64_t *words, uint32_t n);

#endif
