/* Marks of calls: two bits for each event of a call, by its thread and its number there. The number counts
 * the thread's entries and exits from 0 on, in the order of the trace. A stretch of a call has that of the
 * event with which it is met: its entry, or its exit if the entry is not in the trace. */
#ifndef FG_CALL_MARKS_H
#define FG_CALL_MARKS_H

#include <stddef.h>
#include <stdint.h>

enum fg_call_mark {
    FG_CALL_SHOWN = 1,  /* it is shown */
    FG_CALL_CHOSEN = 2, /* it meets the condition */
};

struct fg_thread_marks {
    uint8_t *bits; /* four events a byte */
    size_t bytes, capacity;
};

/* All zeros: no call is marked. */
struct fg_call_marks {
    struct fg_thread_marks *threads; /* by fg_event.thread */
    size_t nr_threads, capacity;
};

void fg_call_marks_free(struct fg_call_marks *marks);

/* Return: 0 or -ENOMEM. */
int fg_call_marks_add(struct fg_call_marks *marks, uint32_t thread, uint64_t number, uint8_t mark);

static inline uint8_t fg_call_marks_at(const struct fg_call_marks *marks, uint32_t thread, uint64_t number)
{
    const struct fg_thread_marks *of = thread < marks->nr_threads ? &marks->threads[thread] : NULL;

    return of && number / 4 < of->bytes ? of->bits[number / 4] >> (number % 4 * 2) & 3 : 0;
}

#endif
