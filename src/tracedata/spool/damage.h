/* Chunks whose payload is not as it was written. Who makes a new file of them leaves them out, and says in
 * their place how many records are lost: so the new file can be read. */
#ifndef FG_DAMAGE_H
#define FG_DAMAGE_H

#include "tracedata/base/text.h"
#include "tracedata/spool/index.h"

/* Reads a chunk's payload as it lies in the file. Return: 0; -EBADMSG: it is not as it was written; or
 * another negative errno. */
int fg_damage_read(int fd, const struct fg_spool_place *place, struct fg_text *stored);

/* Makes of a damaged DATA chunk one without records, whose payload is a struct fg_rows_header of zeros. What
 * it had counts as lost at its place in the task. */
void fg_damage_lose_records(struct fg_spool_chunk *chunk);

/**
 * fg_damage_take_out() - Take damaged chunks out of an index.
 * @lost: set to those of records, which the caller frees; the others count as gaps of the index
 * @nr_lost: set to how many these are
 *
 * Return: 0 or a negative errno.
 */
int fg_damage_take_out(int fd, struct fg_spool_index *index, struct fg_spool_chunk **lost, size_t *nr_lost);

#endif
