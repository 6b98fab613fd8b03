/* A growing array: a pointer, a count that its owner keeps, and a capacity that fg_array_reserve keeps.
 *
 *     struct { struct thing *items; size_t n, capacity; } things = {0};
 *
 *     if (fg_array_reserve(&things.items, &things.capacity, things.n + 1) != 0)
 *         return -ENOMEM;
 *     things.items[things.n++] = thing;
 */
#ifndef FG_ARRAY_H
#define FG_ARRAY_H

#include <stddef.h>

/**
 * fg_array_grow() - The slow path of fg_array_reserve().
 * @items: address of the pointer to the elements, as a pointer to void
 * @capacity: how many elements have room; set on success
 * @count: how many elements need room; more than *@capacity
 * @element_bytes: the size of one element
 *
 * Return: 0; -ENOMEM: memory is short, or the size overflows, and nothing has changed.
 */
int fg_array_grow(void *items, size_t *capacity, size_t count, size_t element_bytes);
/* As fg_array_grow(); zeroes the elements from the old capacity on. */
int fg_array_grow_zeroed(void *items, size_t *capacity, size_t count, size_t element_bytes);

/**
 * fg_array_reserve() - Make room for @count elements.
 * @items: address of the pointer to the elements (NULL in an empty array); they may move
 * @capacity: address of a size_t (0 in an empty array)
 * @count: how many elements need room
 *
 * The capacity at least doubles, so that appending one element takes constant time on average. The owner
 * frees the elements with free().
 *
 * Return: 0; -ENOMEM: nothing has changed.
 */
#define fg_array_reserve(items, capacity, count)                                                             \
    ((count) <= *(capacity) ? 0 : fg_array_grow((items), (capacity), (count), sizeof(**(items))))

/* As fg_array_reserve(); elements that were never written are zero. */
#define fg_array_reserve_zeroed(items, capacity, count)                                                      \
    ((count) <= *(capacity) ? 0 : fg_array_grow_zeroed((items), (capacity), (count), sizeof(**(items))))

#endif
