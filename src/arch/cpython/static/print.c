/* See print.h. */
#include "arch/cpython/static/print.h"

#include "arch/cpython/static/static_event.h"
#include "engine/tracer/instance_mark.h"

static void hit(int handle, uint32_t func, const char *text, size_t bytes)
{
    struct fg_static_site site = fg_static_site_here();
    const struct fg_fetched values[] = {
        {.kind = FG_FETCHED_FUNCTION, .word = func},
        {.kind = FG_FETCHED_TEXT, .text = text, .n = (uint32_t)bytes},
    };

    site.only = handle;
    fg_static_hit(FG_STATIC_PRINT, &site, values);
}

int fg_static_print(int handle, uint32_t func, const char *text, size_t bytes)
{
    int error = fg_instance_mark(handle, func, text, bytes);

    if (fg_static_is_enabled(FG_STATIC_PRINT))
        hit(handle, func, text, bytes);
    return error;
}
