/* Parked frames: the shadow-stack frames of suspended generators and coroutines, found by frame pointer. */
#ifndef FG_PARKED_H
#define FG_PARKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fg_parked {
    struct fg_parked *next;
    uintptr_t fp;
    uint32_t size_words;
    uint32_t capacity_words;
    uint64_t words[]; /* the frame as it lay on the stack */
};

/* Stores a copy of a frame. False: memory is short. */
bool fg_parked_put(uintptr_t fp, const uint64_t *words, size_t size_words);
/* Takes the latest frame of call @fp out of the table. The caller frees it with fg_parked_free(). NULL:
 * there is none. */
struct fg_parked *fg_parked_take(uintptr_t fp);
void fg_parked_free(struct fg_parked *parked);
size_t fg_parked_count(void);
/* Takes any frame for which @matches holds; NULL: there is none. */
struct fg_parked *fg_parked_take_if(bool (*matches)(const struct fg_parked *parked, void *arg), void *arg);
/* Takes all frames for which @matches holds, linked by `next`. */
struct fg_parked *fg_parked_take_all(bool (*matches)(const struct fg_parked *parked, void *arg), void *arg);
/* True if @matches holds for any frame. Takes none. */
bool fg_parked_any(bool (*matches)(const struct fg_parked *parked, void *arg), void *arg);
/* Called around fork, so that the child finds no frame half moved. */
void fg_parked_lock_all(void);
void fg_parked_unlock_all(void);

#endif
