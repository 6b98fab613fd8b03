/* Memory that callbacks read without a lock. Once unpublished it is retired, and freed when no callback
 * can hold it. Private to the engine. */
#ifndef FG_RETIRED_H
#define FG_RETIRED_H

#include <stdint.h>

/* At the head of such memory. */
struct fg_retired {
    struct fg_retired *next;
    uint64_t at; /* its number: how much was unpublished so far */
};

/* Two queues, the latest first. Lists of users have their own: the stub replaces a user that leaves in
 * retired lists too. */
enum fg_retired_kind { FG_RETIRED_USER_LIST, FG_RETIRED_OTHER, FG_NR_RETIRED_KINDS };

/* Retires memory that was just unpublished. Engine's lock held. */
void fg_retire(enum fg_retired_kind kind, struct fg_retired *memory);
/* Engine's lock held. */
struct fg_retired *fg_retired_latest(enum fg_retired_kind kind);
/* Returns a number for something else that was just unpublished, such as a user's slot. Engine's lock
 * held. */
uint64_t fg_retired_count_one(void);

/* Waits until each callback that runs now has ended, except those that wait in here themselves and the
 * caller's own. No callback can hold what was unpublished up to the number that it returns. Without
 * locks. */
uint64_t fg_retired_wait(void);
/* Frees what was retired up to that number. Without locks. */
void fg_retired_free(uint64_t safe);

#endif
