/* Callbacks for tests that pass their addresses: built without Python.h, only with funcgraph.h. */
#include <stddef.h>

#include <funcgraph.h>

struct counts {
    uint64_t entries, ends[3], hits;
    uint32_t deepest;
    uint64_t ticks;
};

struct counts counts;

/* For compilers (numba) that can do little more than call a C function. */
void hit(void);
void hit(void)
{
    counts.hits++;
}

int on_entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs);
int on_entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)regs;
    counts.entries += ops->name[0] == 'n'; /* "native": the callback got its own user */
    if (trace->depth > counts.deepest)
        counts.deepest = trace->depth;
    return 1;
}

void on_return(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs);
void on_return(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)ops, (void)regs;
    counts.ends[trace->end]++;
    counts.ticks += trace->rettime - trace->calltime;
}
