/* Memory that callbacks read without a lock. It is retired when it is unpublished, and freed when no
 * callback can hold it any longer. Private to the engine. */
#ifndef FG_RETIRED_H
#define FG_RETIRED_H

#include <stdint.h>

/* The head of retired memory. */
struct fg_retired {
    struct fg_retired *next;
    uint64_t at; /* its number: the count of things unpublished so far */
};

/* Two queues, the latest memory first. Lists of users have their own queue: when a user leaves, the stub
 * replaces the user in retired lists too. */
enum fg_retired_kind { FG_RETIRED_USER_LIST, FG_RETIRED_OTHER, FG_NR_RETIRED_KINDS };

/* Retires memory that was just unpublished. Engine's lock held. */
void fg_retire(enum fg_retired_kind kind, struct fg_retired *memory);
/* Returns the latest memory of a queue; NULL: the queue is empty. Engine's lock held. */
struct fg_retired *fg_retired_latest(enum fg_retired_kind kind);
/* Returns a number for something else that was just unpublished, such as a user's slot.
 * Engine's lock held. */
uint64_t fg_retired_count_one(void);

/**
 * fg_retired_wait() - Wait until each callback that runs now has ended.
 *
 * Does not wait for the caller's own callback, nor for callbacks that wait here themselves.
 *
 * Return: a number: no callback can hold anything that was unpublished up to it.
 * Context: without locks.
 */
uint64_t fg_retired_wait(void);
/* Frees what was retired up to the number that fg_retired_wait() returned. Without locks. */
void fg_retired_free(uint64_t safe);

#endif
