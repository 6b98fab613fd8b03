/* Memory that callbacks read without a lock: once it is published no more it is freed when none of them can hold it. Private
 * to the engine. */
#ifndef FG_RETIRED_H
#define FG_RETIRED_H

#include <stdint.h>

/* At the head of such memory. */
struct fg_retired {
    struct fg_retired *next;
    uint64_t at; /* the count of what was unpublished so far */
};

/* Two queues, the latest first: a user that leaves has to be taken out of lists of users that are not freed yet. */
enum fg_retired_kind { FG_RETIRED_USER_LIST, FG_RETIRED_OTHER, FG_NR_RETIRED_KINDS };

/* It is published no more. Engine's lock held. */
void fg_retire(enum fg_retired_kind kind, struct fg_retired *memory);
/* Engine's lock held. */
struct fg_retired *fg_retired_latest(enum fg_retired_kind kind);
/* Something that is no memory is published no more: its number. Engine's lock held. */
uint64_t fg_retired_count_one(void);

/* Waits until no callback runs that began before (but for those that wait here themselves, and the caller's): what was
 * unpublished up to the number it returns is known to none any more. Without locks. */
uint64_t fg_retired_wait(void);
/* Frees what has such a number. Without locks. */
void fg_retired_free(uint64_t safe);

#endif
