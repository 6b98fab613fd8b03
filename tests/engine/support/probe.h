/* A user for tests: counts its callbacks, and checks at each return that its own entry's data comes
 * back. */
#ifndef FG_PROBE_H
#define FG_PROBE_H

#include <stdatomic.h>

#include "engine/core/public.h"
#include "engine/users/users.h"

struct probe {
    struct fgraph_ops ops;
    size_t data_words;   /* reserved at each entry */
    _Atomic bool refuse; /* the entry function declines the return */
    /* Called at the end of the entry and return functions, after the counting. */
    void (*on_entry)(struct probe *probe, struct ftrace_graph_ent *trace);
    void (*on_return)(struct probe *probe, struct ftrace_graph_ret *trace);
    void *arg;
    _Atomic uint64_t entries, ends[3], suspends, resumes;
    _Atomic uint64_t bad;          /* returns with wrong data */
    _Atomic uint32_t depth;        /* of the latest callback */
    _Atomic uint32_t deepest;      /* of all entries */
    _Atomic uint32_t running;      /* callbacks running now */
    _Atomic bool is_registered;    /* set before it is registered, cleared after it is unregistered */
    _Atomic uint64_t called_after; /* callbacks while it was not registered */
};

/* Initializes a probe whose filter is one pattern (NULL: all functions). */
void probe_init(struct probe *probe, const char *name, const char *pattern, size_t data_words);
void probe_register(struct probe *probe);
void probe_unregister(struct probe *probe);
void probe_set_filter(struct probe *probe, const char *include, const char *notrace);
/* Sets one of the filter's sets to one pattern, or clears it. */
void probe_edit_filter(struct probe *probe, enum fgraph_filter_set set, const char *pattern);
/* Frees the filter. */
void probe_done(struct probe *probe);
/* Checks that all entries have returned and that no error was seen; then unregisters the probe and
 * frees its filter. */
void probe_finish(struct probe *probe);
uint64_t probe_ends(const struct probe *probe);

#endif
