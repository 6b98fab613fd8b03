/* What a trampoline knows of its function. It lies in the trampoline's page and never changes. */
#ifndef FG_NATIVE_SITE_H
#define FG_NATIVE_SITE_H

#include <stdint.h>

struct fg_func;

struct fg_native_site {
    struct fg_func *func;
    uintptr_t address; /* the first displaced byte */
    uint8_t displaced; /* how many */
    uint8_t unused[7];
};

_Static_assert(sizeof(struct fg_native_site) == 24, "machines lay it out in trampolines");

#endif
