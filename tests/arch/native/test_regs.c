/* What users see of a native call in ftrace_regs: the words of its arguments at the entry, those of its
 * result at the return, and the addresses; nothing of what the hook has not saved. */
#include <string.h>

#include "engine/core/regs.h"
#include "support/check.h"
#include "support/native.h"
#include "target/target.h"

/* What the latest entry and return had. */
static struct {
    uint64_t arguments[12], sp, ip, return_address, rdi;
    double reals[8];
    bool has_result;
} entry;
static struct {
    uint64_t results[2], sp, ip, return_address;
    double reals[2];
    bool has_argument;
} ret;

static uint64_t word(const struct ftrace_regs *regs, enum fg_word word, uint32_t n)
{
    uint64_t out = 0;

    CHECK(fg_regs_word(regs, word, n, &out));
    return out;
}

static double real(const struct ftrace_regs *regs, enum fg_word kind, uint32_t n)
{
    uint64_t bits = word(regs, kind, n);
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Words of a frame that has fewer arguments may be anything of the compiler's. */
__attribute__((no_sanitize("address"))) static uint64_t argument(const struct ftrace_regs *regs, uint32_t n)
{
    uint64_t out;

    if (fg_regs_word(regs, FG_WORD_ARGUMENT, n, &out))
        return out;
    return *(const uint64_t *)(uintptr_t)word(regs, FG_WORD_ARGUMENT_AT, n);
}

static int on_entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    uint64_t unused;

    (void)trace, (void)ops;
    for (uint32_t i = 0; i < 12; i++)
        entry.arguments[i] = argument(regs, i);
    for (uint32_t i = 0; i < 8; i++)
        entry.reals[i] = real(regs, FG_WORD_REAL_ARGUMENT, i);
    entry.sp = word(regs, FG_WORD_SP, 0);
    entry.ip = word(regs, FG_WORD_IP, 0);
    entry.rdi = word(regs, FG_WORD_REGISTER, 4);
    entry.return_address = fg_regs_return_address(regs);
    entry.has_result =
        fg_regs_word(regs, FG_WORD_RESULT, 0, &unused) || fg_regs_word(regs, FG_WORD_REAL_RESULT, 0, &unused);
    CHECK(!fg_regs_word(regs, FG_WORD_REGISTER, 1000, &unused));
    CHECK(!fg_regs_word(regs, FG_WORD_REAL_ARGUMENT, 8, &unused));
    CHECK(fg_regs_has_values(regs));
    return 1;
}

static void on_return(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    uint64_t unused;

    (void)trace, (void)ops;
    for (uint32_t i = 0; i < 2; i++) {
        ret.results[i] = word(regs, FG_WORD_RESULT, i);
        ret.reals[i] = real(regs, FG_WORD_REAL_RESULT, i);
    }
    ret.sp = word(regs, FG_WORD_SP, 0);
    ret.ip = word(regs, FG_WORD_IP, 0);
    ret.return_address = fg_regs_return_address(regs);
    ret.has_argument = fg_regs_word(regs, FG_WORD_ARGUMENT, 0, &unused) ||
                       fg_regs_word(regs, FG_WORD_ARGUMENT_AT, 9, &unused);
}

/* Each call has the same place on the stack: none is inlined. */
static void test_arguments(void)
{
    target_twelve(1, -2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1L << 62);
    for (uint32_t i = 0; i < 11; i++)
        CHECK_EQ(entry.arguments[i], i == 1 ? (uint64_t)-2 : i + 1);
    CHECK_EQ(entry.arguments[11], 1ull << 62);
    CHECK_EQ(entry.rdi, 1);
    CHECK_EQ(entry.ip, (uintptr_t)target_twelve);
    CHECK(!entry.has_result);
}

static void test_results(void)
{
    struct target_pair pair = target_make_pair(11, -12);
    struct target_mixed mixed;

    CHECK_EQ(pair.a, 11);
    CHECK_EQ(ret.results[0], 11);
    CHECK_EQ(ret.results[1], (uint64_t)-12);
    CHECK_EQ(ret.ip, (uintptr_t)target_make_pair);
    CHECK(!ret.has_argument);
    mixed = target_make_mixed(3, 4.5);
    CHECK_EQ(mixed.a, 3);
    CHECK_EQ(ret.results[0], 3);
    CHECK(ret.reals[0] == 4.5);
}

static void test_reals(void)
{
    CHECK(target_sum_doubles(8, 1., 2., 3., 4., 5., 6., 7., 8.) == 36.);
    for (uint32_t i = 0; i < 8; i++)
        CHECK(entry.reals[i] == i + 1.);
    CHECK_EQ(entry.arguments[0], 8);
    CHECK(ret.reals[0] == 36.);
}

/* The return finds the stack as the call does, without the return address. */
static void test_addresses(void)
{
    target_add(1, 2);
    CHECK_EQ(ret.return_address, entry.return_address);
    CHECK(entry.return_address - (uintptr_t)test_addresses < 4096);
    CHECK_EQ(ret.sp, entry.sp + 8);
}

/* A call that an exception or longjmp() ends has no registers: not those of another one. */
static void on_lost_return(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    uint64_t unused;

    (void)ops;
    if (trace->end == FG_END_RETURN)
        return;
    ret.has_argument = fg_regs_word(regs, FG_WORD_RESULT, 0, &unused) ||
                       fg_regs_word(regs, FG_WORD_SP, 0, &unused) || fg_regs_return_address(regs);
}

static void test_no_registers_of_a_lost_return(void)
{
    jmp_buf buffer;

    ret.has_argument = true;
    if (!setjmp(buffer))
        target_longjmp(&buffer);
    target_add(1, 2);
    CHECK(!ret.has_argument);
}

int main(void)
{
    struct fg_native_object *object = native_begin();
    struct probe probe;

    CHECK(native_meet(object, "*:mod:target") > 10);
    probe_init(&probe, "regs", "*:mod:target", 0);
    fg_user_of(&probe.ops)->sees_native = true;
    probe.ops.entryfunc = on_entry;
    probe.ops.retfunc = on_return;
    probe_register(&probe);
    test_arguments();
    test_results();
    test_reals();
    test_addresses();
    probe.ops.retfunc = on_lost_return;
    test_no_registers_of_a_lost_return();
    probe_unregister(&probe);
    probe_done(&probe);
    return 0;
}
