/* The counting user. */
#include "support/probe.h"

#include <string.h>

#include "engine/graph/data.h"
#include "engine/users/users.h"
#include "support/check.h"

/* Word `i` of an entry's data. It is unique to the entry, so the return can recognize its own entry's
 * data. */
static uint64_t data_word(const struct fgraph_ops *ops, const struct fg_func *func, uint64_t start, size_t i)
{
    return (start << 8) ^ ((uint64_t)func->id << 40) ^ (fg_user_of_const(ops)->generation << 20) ^ i;
}

static struct probe *probe_of(struct fgraph_ops *ops)
{
    return ops->private_data;
}

static void callback_begins(struct probe *probe)
{
    if (!atomic_load(&probe->is_registered))
        atomic_fetch_add(&probe->called_after, 1);
    atomic_fetch_add(&probe->running, 1);
}

static void callback_ends(struct probe *probe)
{
    atomic_fetch_sub(&probe->running, 1);
}

static int entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    struct probe *probe = probe_of(ops);
    bool refuse = atomic_load(&probe->refuse);

    (void)regs;
    callback_begins(probe);
    atomic_fetch_add(&probe->entries, 1);
    atomic_store(&probe->depth, trace->depth);
    if (trace->depth > atomic_load(&probe->deepest))
        atomic_store(&probe->deepest, trace->depth);
    if (probe->data_words) {
        uint64_t *data = fgraph_reserve_data(trace, ops, probe->data_words * sizeof(uint64_t));

        for (size_t i = 0; data && i < probe->data_words; i++)
            data[i] = data_word(ops, trace->func, trace->start, i);
    }
    if (probe->on_entry)
        probe->on_entry(probe, trace);
    callback_ends(probe);
    return !refuse;
}

static bool data_is_right(const struct probe *probe, const struct ftrace_graph_ret *trace)
{
    size_t bytes = 0;
    const uint64_t *data = fgraph_retrieve_data(trace, &probe->ops, &bytes);

    if (!probe->data_words)
        return data == NULL;
    if (!data || bytes != probe->data_words * sizeof(uint64_t))
        return false;
    for (size_t i = 0; i < probe->data_words; i++) {
        if (data[i] != data_word(&probe->ops, trace->func, trace->start, i))
            return false;
    }
    return true;
}

static void returned(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    struct probe *probe = probe_of(ops);

    (void)regs;
    callback_begins(probe);
    atomic_fetch_add(&probe->ends[trace->end], 1);
    atomic_store(&probe->depth, trace->depth);
    if (!data_is_right(probe, trace))
        atomic_fetch_add(&probe->bad, 1);
    if (probe->on_return)
        probe->on_return(probe, trace);
    callback_ends(probe);
}

static void suspended(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    struct probe *probe = probe_of(ops);

    (void)regs;
    atomic_fetch_add(&probe->suspends, 1);
    if (!data_is_right(probe, trace))
        atomic_fetch_add(&probe->bad, 1);
}

static void resumed(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    struct probe *probe = probe_of(ops);

    (void)regs;
    atomic_store(&probe->depth, trace->depth);
    atomic_fetch_add(&probe->resumes, 1);
}

static void add(struct fg_patterns *set, const char *pattern)
{
    const char *reason;
    size_t column;

    if (pattern)
        CHECK_EQ(fg_patterns_add(set, pattern, &reason, &column), 0);
}

void probe_init(struct probe *probe, const char *name, const char *pattern, size_t data_words)
{
    memset(probe, 0, sizeof(*probe));
    probe->data_words = data_words;
    probe->ops = (struct fgraph_ops){.entryfunc = entry,
                                     .retfunc = returned,
                                     .suspendfunc = suspended,
                                     .resumefunc = resumed,
                                     .name = name,
                                     .private_data = probe};
    add(&fg_user_of(&probe->ops)->filter.sets[FGRAPH_FILTER], pattern);
}

void probe_register(struct probe *probe)
{
    atomic_store(&probe->is_registered, true);
    CHECK_EQ(fgraph_register(&probe->ops), 0);
}

void probe_unregister(struct probe *probe)
{
    CHECK_EQ(fgraph_unregister(&probe->ops), 0);
    atomic_store(&probe->is_registered, false);
}

void probe_set_filter(struct probe *probe, const char *include, const char *notrace)
{
    struct fg_filter filter = {0};

    add(&filter.sets[FGRAPH_FILTER], include);
    add(&filter.sets[FGRAPH_NOTRACE], notrace);
    CHECK_EQ(fg_user_set_filter(&probe->ops, &filter), 0);
}

void probe_edit_filter(struct probe *probe, enum fgraph_filter_set set, const char *pattern)
{
    struct fg_pattern_error error;

    CHECK_EQ(fgraph_edit_filter(&probe->ops, set, &pattern, pattern ? 1 : 0, true, &error), 0);
}

void probe_done(struct probe *probe)
{
    fg_filter_clear(&fg_user_of(&probe->ops)->filter);
}

uint64_t probe_ends(const struct probe *probe)
{
    return probe->ends[FG_END_RETURN] + probe->ends[FG_END_RAISE] + probe->ends[FG_END_CLOSE];
}

void probe_finish(struct probe *probe)
{
    CHECK_EQ(probe->bad, 0);
    CHECK_EQ(probe_ends(probe), probe->entries);
    probe_unregister(probe);
    probe_done(probe);
}
