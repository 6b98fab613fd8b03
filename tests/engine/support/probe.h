/* A user for tests: counts what it is told, and checks at each return that its own entry's data comes
 * back. */
#ifndef FG_PROBE_H
#define FG_PROBE_H

#include <stdatomic.h>

#include "engine/core/public.h"
#include "engine/graph/users.h"

struct probe {
    struct fgraph_ops ops;
    size_t data_words;   /* reserved at each entry */
    _Atomic bool refuse; /* its entry function does not want the return */
    /* Called in its entry or return function, after the counting. */
    void (*on_entry)(struct probe *probe, struct ftrace_graph_ent *trace);
    void (*on_return)(struct probe *probe, struct ftrace_graph_ret *trace);
    void *arg;
    _Atomic uint64_t entries, ends[3], suspends, resumes;
    _Atomic uint64_t bad;          /* returns with wrong data */
    _Atomic uint32_t depth;        /* as told last */
    _Atomic uint32_t running;      /* callbacks that run now */
    _Atomic bool is_registered;    /* from before its registration to after it was unregistered */
    _Atomic uint64_t called_after; /* callbacks when it was not */
};

/* A probe with a filter of one pattern (NULL: all functions). */
void probe_init(struct probe *probe, const char *name, const char *pattern, size_t data_words);
void probe_register(struct probe *probe);
void probe_unregister(struct probe *probe);
void probe_set_filter(struct probe *probe, const char *include, const char *notrace);
/* One pattern, or none, in one of its sets. */
void probe_edit_filter(struct probe *probe, enum fgraph_filter_set set, const char *pattern);
/* Frees its filter. */
void probe_done(struct probe *probe);
/* All of its entries have ended, and nothing was wrong: it leaves, and is done. */
void probe_finish(struct probe *probe);
uint64_t probe_ends(const struct probe *probe);

#endif
