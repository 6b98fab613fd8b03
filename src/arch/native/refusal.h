/* Why something was refused: one line for a person. */
#ifndef FG_NATIVE_REFUSAL_H
#define FG_NATIVE_REFUSAL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

struct fg_native_refusal {
    char text[256];
};

/* Returns false, for the caller to do the same. */
static inline __attribute__((format(printf, 2, 3))) bool fg_native_refuse(struct fg_native_refusal *refusal,
                                                                          const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(refusal->text, sizeof(refusal->text), format, args);
    va_end(args);
    return false;
}

#endif
