/* Which chunks a `.fg` file has: from its directory if it is complete, else by a walk from chunk to chunk. */
#ifndef FG_INDEX_H
#define FG_INDEX_H

#include <stdbool.h>
#include <stddef.h>

#include "tracedata/spool/chunk.h"

struct fg_spool_index {
    struct fg_spool_place *places; /* of all sound chunks, in the file's order, without the directory */
    size_t nr_places, capacity;
    uint64_t nr_gaps;     /* places where the file is damaged */
    uint64_t damaged_at;  /* the first of them; 0: there is none */
    uint64_t end;         /* of the last sound chunk before the directory */
    bool is_complete;     /* the file has its footer, or as many bytes as its header says */
    uint64_t whole_bytes; /* as the header says; 0: the file was never complete */
};

/* Return: 0; -EINVAL: the file is no spool; or another negative errno. The index must be freed in any
 * case. */
int fg_spool_index_read(int fd, struct fg_spool_index *index);
/* Takes in the chunks that were appended to the file since, and the footer. Return: 0 or a negative errno. */
int fg_spool_index_follow(int fd, struct fg_spool_index *index);
void fg_spool_index_free(struct fg_spool_index *index);

#endif
