/* See tracer.h. */
#include "engine/tracer/tracer.h"

#include <errno.h>
#include <string.h>

/* How many come from FG_TRACERS. */
enum {
#define X(name) +1
    NR_BUILT_IN = FG_TRACERS(X)
#undef X
};

static struct {
    const struct fg_tracer *all[FG_MAX_TRACERS];
    unsigned n;
} tracers = {
    .all =
        {
#define X(name) &fg_tracer_##name,
            FG_TRACERS(X)
#undef X
        },
    .n = NR_BUILT_IN,
};

const struct fg_tracer *fg_tracer_at(unsigned number)
{
    return number < tracers.n ? tracers.all[number] : NULL;
}

const struct fg_tracer *fg_tracer_find(const char *name)
{
    for (unsigned i = 0; i < tracers.n; i++) {
        if (strcmp(tracers.all[i]->name, name) == 0)
            return tracers.all[i];
    }
    return NULL;
}

int fg_tracer_add(const struct fg_tracer *tracer)
{
    if (fg_tracer_find(tracer->name))
        return -EEXIST;
    if (tracers.n == FG_MAX_TRACERS)
        return -ENOSPC;
    tracers.all[tracers.n++] = tracer;
    return 0;
}
