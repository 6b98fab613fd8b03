/* Cursors by the time of their events: a binary heap, whose top is the earliest. Of events at the same time
 * that of the cursor with the lower number comes first. */
#ifndef FG_CURSOR_HEAP_H
#define FG_CURSOR_HEAP_H

#include "tracedata/read/cursor.h"

struct fg_cursor_heap {
    struct fg_cursor **cursors; /* those that are not at their ends; heap[0] is the earliest */
    uint32_t n;
};

static inline bool fg_cursor_is_earlier(const struct fg_cursor *a, const struct fg_cursor *b)
{
    return a->head.time_ns != b->head.time_ns ? a->head.time_ns < b->head.time_ns : a->number < b->number;
}

/* Puts a cursor whose event has become later where it belongs. */
static inline void fg_cursor_heap_sift_down(const struct fg_cursor_heap *heap, uint32_t index)
{
    struct fg_cursor **cursors = heap->cursors, *moving = cursors[index];

    for (;;) {
        uint32_t child = 2 * index + 1;

        if (child >= heap->n)
            break;
        if (child + 1 < heap->n && fg_cursor_is_earlier(cursors[child + 1], cursors[child]))
            child++;
        if (!fg_cursor_is_earlier(cursors[child], moving))
            break;
        cursors[index] = cursors[child];
        index = child;
    }
    cursors[index] = moving;
}

/* The same for one whose event has become earlier. */
static inline void fg_cursor_heap_sift_up(const struct fg_cursor_heap *heap, uint32_t index)
{
    struct fg_cursor **cursors = heap->cursors, *moving = cursors[index];

    while (index && fg_cursor_is_earlier(moving, cursors[(index - 1) / 2])) {
        cursors[index] = cursors[(index - 1) / 2];
        index = (index - 1) / 2;
    }
    cursors[index] = moving;
}

/* Puts all cursors in order. */
static inline void fg_cursor_heap_make(const struct fg_cursor_heap *heap)
{
    for (uint32_t i = heap->n / 2; i-- > 0;)
        fg_cursor_heap_sift_down(heap, i);
}

/* Puts the heap in order after its top has moved on. */
static inline void fg_cursor_heap_settle(struct fg_cursor_heap *heap)
{
    if (heap->cursors[0]->at_end)
        heap->cursors[0] = heap->cursors[--heap->n];
    if (heap->n > 1)
        fg_cursor_heap_sift_down(heap, 0);
}

#endif
