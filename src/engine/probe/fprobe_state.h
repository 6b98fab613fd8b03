/* The engine's half of an fprobe. */
#ifndef FG_FPROBE_STATE_H
#define FG_FPROBE_STATE_H

#include <stdbool.h>

#include "engine/core/pattern.h"
#include "engine/core/public.h"

/* The functions that an fprobe is attached to, by name: known ones and those met later. C functions only
 * by their whole names. Native functions only of an fprobe with FTRACE_OPS_FL_NATIVE, by patterns with
 * ":mod:", which select Python functions of such a module, too, unless `is_native`. */
struct fg_fprobe_filter {
    struct fg_patterns filter, notfilter;
    bool is_native;
};

struct fg_live;

/* Lies in the words `engine` of struct fprobe. */
struct __attribute__((may_alias)) fg_fprobe {
    _Atomic uint64_t word; /* of its registration (fprobe_live.h); 0: it is not registered */
    _Atomic uint64_t nmissed;
    struct fg_live *live;
    const void *scope;   /* it sees the functions of this scope (domain.h) */
    struct fprobe *next; /* of its scope, in order of registration */
    struct fg_fprobe_filter filter;
    bool has_cookies; /* its data begin with the function's cookie */
};

_Static_assert(sizeof(struct fg_fprobe) <= FPROBE_ENGINE_WORDS * sizeof(uint64_t),
               "struct fprobe has too few words for the engine's half");

static inline struct fg_fprobe *fg_fprobe_of(struct fprobe *fp)
{
    return (struct fg_fprobe *)fp->engine;
}

static inline const struct fg_fprobe *fg_fprobe_of_const(const struct fprobe *fp)
{
    return (const struct fg_fprobe *)fp->engine;
}

#endif
