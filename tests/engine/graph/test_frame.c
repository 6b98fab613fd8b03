/* The shadow stack contains, word by word, the example drawn in frame.h. */
#include "engine/graph/call.h"
#include "engine/graph/data.h"
#include "engine/graph/frame.h"
#include "engine/users/users.h"
#include "support/check.h"
#include "support/sim_arch.h"

static struct fg_func *outer, *inner;

static void reserve(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, size_t bytes)
{
    uint8_t *data = fgraph_reserve_data(trace, ops, bytes);

    CHECK(data != NULL);
    for (size_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)(ops->name[0] + i);
}

static int a_enters(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)regs;
    reserve(trace, ops, trace->func == outer ? 12 : 8);
    return trace->func == outer;
}

static int b_enters(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)trace, (void)ops, (void)regs;
    return 1;
}

static int c_enters(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)regs;
    reserve(trace, ops, 8);
    return 1;
}

static struct fgraph_ops a = {.entryfunc = a_enters, .name = "A"};
static struct fgraph_ops b = {.entryfunc = b_enters, .name = "B"};
static struct fgraph_ops c = {.entryfunc = c_enters, .name = "C"};

static void check_frame(const uint64_t *frame, const struct fg_func *func, uintptr_t fp, uint64_t bitmap)
{
    CHECK(frame[0] == (uintptr_t)func);
    CHECK_EQ(frame[1], fp);
    CHECK(frame[2] && frame[2] == frame[3]);
    CHECK_EQ(frame[4], bitmap);
    CHECK_EQ(frame[5], 0x600015);
}

int main(void)
{
    struct fg_filter filter = {.c_calls = false};
    struct fg_pattern_error error;
    const char *const only_inner[] = {"m.inner"};
    const struct fg_task *task;
    const uint64_t *stack;
    uintptr_t outer_call, inner_call;

    sim_begin();
    outer = sim_function("m", "outer");
    inner = sim_function("m", "inner");
    CHECK_EQ(fg_filter_add(&filter, FGRAPH_FILTER, only_inner, 1, &error), 0);
    CHECK_EQ(fg_user_set_filter(&c, &filter), 0);
    CHECK_EQ(fgraph_register(&a), 0);
    CHECK_EQ(fgraph_register(&b), 0);
    CHECK_EQ(fgraph_register(&c), 0);
    outer_call = sim_call(outer);
    inner_call = sim_call(inner);
    task = fg_task_current();
    stack = task->stack;
    CHECK_EQ(task->top - stack, 17);
    check_frame(stack, outer, outer_call, 0x3);
    CHECK(memcmp(stack + 6, "ABCDEFGHIJKL\0\0\0\0", 16) == 0);
    CHECK_EQ(stack[8], 0x4008000022);
    check_frame(stack + 9, inner, inner_call, 0x6);
    CHECK(memcmp(stack + 15, "CDEFGHIJ", 8) == 0);
    CHECK_EQ(stack[16], 0x408001e);
    CHECK(fg_newest_frame(task, task->top) == stack + 9);
    CHECK(fg_newest_frame(task, (uint64_t *)stack + 9) == stack);
    return 0;
}
