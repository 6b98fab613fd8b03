/* See array.h. */
#include "engine/base/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 8u

int fg_array_grow(void *items, size_t *capacity, size_t count, size_t element_bytes)
{
    size_t doubled = *capacity > SIZE_MAX / 2 ? SIZE_MAX : *capacity * 2;
    size_t larger = count > doubled ? count : doubled;
    void *old, *grown;

    if (larger < FIRST_CAPACITY)
        larger = FIRST_CAPACITY;
    if (larger > PTRDIFF_MAX / element_bytes)
        return -ENOMEM;
    memcpy(&old, items, sizeof(old)); /* the owner's pointer is not a void *, so its bytes are copied */
    grown = realloc(old, larger * element_bytes);
    if (!grown)
        return -ENOMEM;
    memcpy(items, &grown, sizeof(grown));
    *capacity = larger;
    return 0;
}

int fg_array_grow_zeroed(void *items, size_t *capacity, size_t count, size_t element_bytes)
{
    size_t before = *capacity;
    int error = fg_array_grow(items, capacity, count, element_bytes);
    char *grown;

    if (error)
        return error;
    memcpy(&grown, items, sizeof(grown));
    memset(grown + before * element_bytes, 0, (*capacity - before) * element_bytes);
    return 0;
}
