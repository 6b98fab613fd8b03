/* Calls of hooked functions: each entry has its return, and arguments, results and everything else that
 * the function and its caller have in registers and on the stack stays as it is. On both paths: a user
 * with data takes the slow one, an instance with default settings the fast one. */
#include <errno.h>
#include <string.h>

#include "support/check.h"
#include "support/general.h"
#include "support/native.h"
#include "target/target.h"

static bool has_avx(void)
{
    return __builtin_cpu_supports("avx");
}

static void call_integers(void)
{
    CHECK_EQ(target_add(40, 2), 42);
    CHECK_EQ(target_twelve(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), 650);
    CHECK_EQ(target_sum(9, 1, 2, 3, 4, 5, 6, 7, 8, 9), 45);
}
#define INTEGER_CALLS 3

static void call_floats(void)
{
    _Complex long double complex;

    CHECK(target_sum_doubles(10, 1., 2., 3., 4., 5., 6., 7., 8., 9., 10.) == 55.);
    CHECK(target_long_double(1.0L, 3.0L) == 1.0L / 3.0L);
    complex = target_make_complex(2.0L, 5.0L);
    CHECK(__real__ complex == 2.0L && __imag__ complex == 5.0L);
}
#define FLOAT_CALLS 3

static void call_structs(void)
{
    struct target_pair pair = target_make_pair(1, 2);
    struct target_mixed mixed = target_make_mixed(3, 4.5);
    struct target_large large = target_make_large(7);

    CHECK_EQ(pair.a * 10 + pair.b, 12);
    CHECK(mixed.a == 3 && mixed.b == 4.5);
    for (long i = 0; i < 9; i++)
        CHECK_EQ(large.words[i], 7 + i);
}
#define STRUCT_CALLS 3

/* Their displaced instructions are not nops. */
static void call_moved(void)
{
    CHECK_EQ(target_read_word(), 4711);
    ++*target_word();
    CHECK_EQ(target_read_word(), 4712);
    --*target_word();
    CHECK_EQ(target_branch(0), 10);
    CHECK_EQ(target_branch(1), 20);
    CHECK_EQ(target_leaf(4), 5);
}
#define MOVED_CALLS 5

static void call_registers(void)
{
    CHECK_EQ(target_fill_registers(), 0);
    if (has_avx())
        CHECK_EQ(target_fill_vectors(), 0);
}
#define REGISTER_CALLS (has_avx() ? 2 : 1)

static __attribute__((target("avx"))) void call_vectors(void)
{
    __m256d sum = target_vector(_mm256_set_pd(1, 2, 3, 4), _mm256_set_pd(10, 20, 30, 40));
    double values[4];

    _mm256_storeu_pd(values, sum);
    CHECK(values[0] == 44 && values[1] == 33 && values[2] == 22 && values[3] == 11);
}

static void add_for_misaligned(void)
{
    target_leaf(1);
}
#define MISALIGNED_CALLS 2

static uint64_t call_all(void)
{
    call_integers();
    call_floats();
    call_structs();
    call_moved();
    call_registers();
    target_misaligned(add_for_misaligned);
    if (has_avx())
        call_vectors();
    return INTEGER_CALLS + FLOAT_CALLS + STRUCT_CALLS + MOVED_CALLS + (uint64_t)REGISTER_CALLS +
           MISALIGNED_CALLS + has_avx();
}

static void test_values_on_the_slow_path(void)
{
    struct probe probe;
    uint64_t calls;

    native_probe(&probe, "*:mod:target");
    calls = call_all();
    native_finish(&probe, calls);
}

static void test_values_on_the_fast_path(void)
{
    struct native_records records;
    uint64_t calls = 0;

    native_record("*:mod:target");
    for (int i = 0; i < 1000; i++)
        calls += call_all();
    records = native_recorded();
    CHECK_EQ(records.lost, 0);
    CHECK_EQ(records.entries, calls);
    CHECK_EQ(records.returns, calls);
}

/* The fast path of fprobes, whose handlers are compiled for it. */
static void test_values_with_a_general_fprobe(void)
{
    struct fprobe fp;
    uint64_t calls = 0;

    general_probe(&fp, 8);
    native_probe_place(&fp, "*:mod:target");
    call_all();
    general.entries = general.exits = general.saved = 0;
    for (int i = 0; i < 1000; i++)
        calls += call_all();
    CHECK_EQ(general.entries, calls);
    CHECK_EQ(general.exits, calls);
    CHECK_EQ(general.saved, 0);
    CHECK_EQ(general.wrong, 0);
    CHECK_EQ(fg_fprobe_unregister(&fp), 0);
}

static void test_errno_is_the_programs(void)
{
    struct probe probe;

    native_probe(&probe, "target_*:mod:target");
    errno = 0;
    target_add(1, 2);
    CHECK_EQ(errno, 0);
    target_fail(EDOM);
    CHECK_EQ(errno, EDOM);
    native_finish(&probe, 2);
    errno = 0;
}

/* As deep as a task has entries for, and deeper: the calls for which there are none are not traced, and
 * counted. */
static void test_recursion(void)
{
    struct probe probe;

    native_probe(&probe, "target_recurse:mod:target");
    CHECK_EQ(target_recurse(5000), 5000);
    CHECK_EQ(probe.deepest, 5000);
    CHECK_EQ(fg_overrun_total(), 0);
    native_finish(&probe, 5001);
    native_probe(&probe, "target_recurse:mod:target");
    CHECK_EQ(target_recurse(19999), 19999);
    CHECK_EQ(probe.entries + fg_overrun_total(), 20000);
    CHECK_EQ(probe.entries, 16384);
    CHECK_EQ(target_recurse(10), 10);
    native_finish(&probe, 16384 + 11);
}

static void test_tail_calls_nest(void)
{
    struct probe probe;

    native_probe(&probe, "target_*:mod:target");
    CHECK_EQ(target_tail(10, 1), 21);
    CHECK_EQ(probe.deepest, 1); /* the second call begins before the first one has returned */
    native_finish(&probe, 2);
}

static void test_only_patterns_with_mod_select_native_functions(void)
{
    static const char *const none[] = {"*", "target.*", "target_add", "*:mod:!other", "*:mod:targe"};
    struct probe probe;

    for (size_t i = 0; i < NR_OF(none); i++) {
        native_probe(&probe, none[i]);
        CHECK_EQ(native_hooked(NULL), 0);
        target_add(1, 1);
        native_finish(&probe, 0);
    }
    probe_init(&probe, "user", "*:mod:target", 0); /* its callbacks are not for native functions */
    probe_register(&probe);
    target_add(1, 1);
    native_finish(&probe, 0);
}

int main(void)
{
    struct fg_native_object *object = native_begin();

    call_all(); /* before anything is hooked */
    CHECK_EQ(native_meet(object, "target_add:mod:target"), 1);
    CHECK(native_meet(object, "*:mod:target") > 20);
    test_only_patterns_with_mod_select_native_functions();
    test_values_on_the_slow_path();
    test_values_on_the_fast_path();
    test_values_with_a_general_fprobe();
    test_errno_is_the_programs();
    test_tail_calls_nest();
    test_recursion();
    return 0;
}
