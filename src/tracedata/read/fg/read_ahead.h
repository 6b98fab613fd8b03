/* Reads pieces before they are needed, in a thread of its own: to read, check, decompress and unpack one
 * takes half as long as what a reader does with its events.
 *
 * A reader wants the pieces that it will come to. The thread reads them in that order, each into a slot, and
 * the reader takes them out. What no slot has, or not yet, the reader reads by itself: with more lanes than
 * slots most of them do. A piece that was wanted and is not taken for long gives its slot away.
 *
 * One thread wants and takes. Nothing is read ahead on a machine with one processor, where it cannot help,
 * nor without memory or a thread for it. Nor where it is not safe: in the child of a fork, and with a codec
 * that is not for all threads. */
#ifndef FG_READ_AHEAD_H
#define FG_READ_AHEAD_H

#include <stdbool.h>

#include "tracedata/spool/chunk_reader.h"
#include "tracedata/spool/contents.h"

struct fg_read_ahead;

/* Reads from @fd, which stays the caller's. NULL: there is no reading ahead. */
struct fg_read_ahead *fg_read_ahead_new(int fd);
/* NULL is let through. */
void fg_read_ahead_free(struct fg_read_ahead *ahead);

/* @piece, which stays where it is, will be needed. Return: false: there is no slot for it. */
bool fg_read_ahead_want(struct fg_read_ahead *ahead, const struct fg_piece *piece);

/* Takes a piece's records into reader->records, as fg_chunk_read_records() reads them.
 * Return: false: they are not there; else *result is what that function returned. */
bool fg_read_ahead_take(struct fg_read_ahead *ahead, const struct fg_piece *piece,
                        struct fg_chunk_reader *reader, struct fg_spool_chunk *chunk, int *result);

#endif
