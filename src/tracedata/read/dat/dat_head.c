/* See dat_head.h. */
#include "tracedata/read/dat/dat_head.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void fg_dat_head_free(struct fg_dat_head *head)
{
    fg_text_free(&head->names);
}

void fg_dat_deviates(struct fg_dat_head *head, const char *format, ...)
{
    va_list arguments;

    if (head->deviation[0])
        return;
    va_start(arguments, format);
    vsnprintf(head->deviation, sizeof(head->deviation), format, arguments);
    va_end(arguments);
}

bool fg_dat_clock_has_units(const char *clock)
{
    static const char *const names[] = {"local", "global", "uptime",   "perf",
                                        "mono",  "boot",   "mono_raw", "tai"};
    const char *begin = strchr(clock, '['), *end = begin ? strchr(begin, ']') : NULL;

    if (!end)
        return true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i]) == (size_t)(end - begin - 1) &&
            strncmp(names[i], begin + 1, strlen(names[i])) == 0)
            return true;
    return false;
}
