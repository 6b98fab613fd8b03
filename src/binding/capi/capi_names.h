/* The C API: finding functions by whole name. */
#ifndef FG_CAPI_NAMES_H
#define FG_CAPI_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/core/function.h"

struct fg_name {
    const char *text;
    bool is_found;
};

/* The functions that have one of the names; one with ":mod:" is a pattern for native ones. They are kept
 * alive until fg_named_clear(). */
struct fg_named {
    struct fg_name *names; /* sorted */
    size_t nr_names;
    struct fg_func **funcs;
    size_t n, capacity;
    bool has_failed;
};

/* Return: 0, -ENOENT: no function has one of the names; -EOPNOTSUPP, -ENOMEM, or -EIO. In any case call
 * fg_named_clear(). An exception may be left set. */
int fg_named_find(struct fg_named *named, const char *const names[], size_t n);
void fg_named_clear(struct fg_named *named);

#endif
