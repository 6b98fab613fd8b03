/* Places: hooks at instructions within functions. A thread that comes by finds each register, the flags and
 * the red zone as they were; events find all of them; afterwards the code is as before. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/core/regs.h"
#include "engine/core/root.h"
#include "support/check.h"
#include "support/native.h"
#include "support/planned.h"
#include "support/text.h"
#include "target/target.h"

#define PLACE "target_place+14:mod:target"

static _Atomic long hits;
static struct {
    uint64_t di, bx, flags, sp, ip, return_address;
    bool has_argument, has_result;
} seen;

static uint64_t word(const struct ftrace_regs *regs, enum fg_word word, uint32_t n)
{
    uint64_t out = 0;

    CHECK(fg_regs_word(regs, word, n, &out));
    return out;
}

static int on_hit(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip, struct ftrace_regs *regs,
                  void *entry_data)
{
    uint64_t unused;

    (void)fp, (void)func, (void)entry_data;
    seen.di = word(regs, FG_WORD_REGISTER, 4);
    seen.bx = word(regs, FG_WORD_REGISTER, 16);
    seen.flags = word(regs, FG_WORD_REGISTER, 23);
    seen.sp = word(regs, FG_WORD_SP, 0);
    seen.ip = word(regs, FG_WORD_IP, 0);
    seen.return_address = ret_ip;
    seen.has_argument = fg_regs_word(regs, FG_WORD_ARGUMENT, 0, &unused) ||
                        fg_regs_word(regs, FG_WORD_ARGUMENT_AT, 7, &unused);
    seen.has_result = fg_regs_word(regs, FG_WORD_RESULT, 0, &unused);
    atomic_fetch_add(&hits, 1);
    return 1;
}

static struct fprobe fp = {.entry_handler = on_hit};

static void check_results(void)
{
    for (long n = 0; n < 12; n++)
        CHECK_EQ(target_place(n), n > 5 ? 2 * n + 3 : 4 * n + 3);
}

static void test_the_function_is_as_without(void)
{
    struct text before = text_of((void *)target_place);

    native_probe_place(&fp, PLACE);
    CHECK_EQ(native_hooked(NULL), 1);
    hits = 0;
    check_results();
    CHECK_EQ(hits, 12);
    CHECK_EQ(fg_fprobe_unregister(&fp), 0);
    CHECK_EQ(native_hooked(NULL), 0);
    text_check(&before);
    check_results();
    CHECK_EQ(hits, 12);
    text_free(&before);
}

static void test_words_of_the_place(void)
{
    enum { CARRY = 1, ZERO = 64 };

    native_probe_place(&fp, PLACE);
    target_place(5);
    CHECK_EQ(seen.di, 5);
    CHECK_EQ(seen.flags & (CARRY | ZERO), ZERO);
    CHECK_EQ(seen.ip, (uintptr_t)target_place + 14);
    CHECK(seen.sp - (uintptr_t)__builtin_frame_address(0) + 4096 < 8192);
    CHECK(*(uint64_t *)(uintptr_t)seen.sp - (uintptr_t)test_words_of_the_place < 4096);
    CHECK_EQ(seen.return_address, 0);
    CHECK(!seen.has_argument && !seen.has_result);
    target_place(4);
    CHECK_EQ(seen.flags & (CARRY | ZERO), CARRY);
    CHECK_EQ(fg_fprobe_unregister(&fp), 0);
}

/* Where the bytes are in a function. */
static uint32_t offset_of(const void *function, const void *bytes, size_t n)
{
    const uint8_t *at = memmem(function, 512, bytes, n);

    CHECK(at != NULL);
    return (uint32_t)(at - (const uint8_t *)function);
}

static void check_register_place(const char *function, uint32_t offset, uint8_t bytes, uint8_t instructions,
                                 long (*fill)(void))
{
    char pattern[64];

    native_place(function, offset, bytes, instructions);
    snprintf(pattern, sizeof(pattern), "%s+%u:mod:target", function, offset);
    native_probe_place(&fp, pattern);
    hits = 0;
    CHECK_EQ(fill(), 0);
    CHECK_EQ(hits, 1);
    CHECK_EQ(fg_fprobe_unregister(&fp), 0);
}

static void test_no_register_changes(void)
{
    static const uint8_t compare[] = {0x48, 0x81, 0xf9, 0x02, 0x01, 0, 0};           /* cmp $0x102, %rcx */
    static const uint8_t lower[] = {0x48, 0x83, 0xec, 0x20, 0x48, 0x83, 0xec, 0x20}; /* sub $32, %rsp */

    check_register_place("target_check_registers",
                         offset_of((void *)target_check_registers, compare, sizeof(compare)), 7, 1,
                         target_fill_registers);
    CHECK_EQ(seen.bx, 0x10a);
    if (__builtin_cpu_supports("avx"))
        check_register_place("target_check_vectors",
                             offset_of((void *)target_check_vectors, lower, sizeof(lower)), 8, 2,
                             target_fill_vectors);
}

static void test_patterns_of_functions_select_no_place(void)
{
    struct fprobe all = {.entry_handler = on_hit};
    struct probe user;

    native_probe_place(&all, "*:mod:target");
    native_probe(&user, "target_place*:mod:target");
    hits = 0;
    target_place(1);
    CHECK_EQ(hits, 0);
    CHECK_EQ(user.entries, 0);
    CHECK_EQ(fg_fprobe_unregister(&all), 0);
    native_finish(&user, 0);
}

/* Why the plan of a place is not taken. */
static void check_refused_plan(uint32_t offset, uint8_t displaced, const char *why)
{
    struct planned planned = planned_make_place("target_place", offset, displaced, 2);
    char *path = planned_write(&planned);
    struct fg_native_refusal refusal = {""};

    CHECK(fg_native_open(path, "target", &refusal) == NULL);
    CHECK_TEXT(refusal.text, why);
    unlink(path);
    free(path);
    free(planned.bytes);
}

/* A thread may still be in the trampoline of a place that is off, and go on in the middle of another one.
 * target_place+10 was known before target_place+14 was hooked. */
static void test_bytes_of_a_place_are_its_own(void)
{
    struct fprobe other = {.entry_handler = on_hit};
    uint32_t refused;

    native_probe_place(&other, "target_place+10:mod:target");
    CHECK_EQ(native_hooked(&refused), 0);
    CHECK_EQ(refused, 1);
    check_results();
    CHECK_EQ(fg_fprobe_unregister(&other), 0);
    check_refused_plan(18, 6, "another place has displaced some of its bytes");
}

static void test_places_beside_each_other(void)
{
    struct fprobe other = {.entry_handler = on_hit};

    native_place("target_place", 5, 5, 1);
    native_probe_place(&other, "target_place+5:mod:target");
    native_probe_place(&fp, PLACE);
    CHECK_EQ(native_hooked(NULL), 2);
    hits = 0;
    check_results();
    CHECK_EQ(hits, 24);
    CHECK_EQ(fg_fprobe_unregister(&other), 0);
    CHECK_EQ(fg_fprobe_unregister(&fp), 0);
}

/* ---- threads */

static _Atomic bool ends;
static _Atomic long rounds;

static void *make_calls(void *arg)
{
    (void)arg;
    while (!atomic_load(&ends)) {
        check_results();
        atomic_fetch_add(&rounds, 1);
    }
    return NULL;
}

static void test_it_comes_and_goes_while_threads_pass(void)
{
    struct text before = text_of((void *)target_place);
    pthread_t threads[4];

    atomic_store(&ends, false);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, make_calls, NULL), 0);
    for (int i = 0; i < 50; i++) {
        long until = atomic_load(&hits) + 1;

        native_probe_place(&fp, PLACE);
        CHECK_EQ(native_hooked(NULL), 1);
        while (atomic_load(&hits) < until)
            sched_yield();
        CHECK_EQ(fg_fprobe_unregister(&fp), 0);
    }
    atomic_store(&ends, true);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK_EQ(native_hooked(NULL), 0);
    text_check(&before);
    text_free(&before);
}

/* ---- the kill switch */

static void test_the_kill_switch_takes_it_off(void)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        struct text before = text_of((void *)target_place);

        close(2);
        native_probe_place(&fp, PLACE);
        target_place(1);
        hits = 0;
        fg_kill("a test");
        check_results();
        CHECK_EQ(hits, 0);
        CHECK_EQ(native_hooked(NULL), 0);
        text_check(&before);
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

int main(void)
{
    CHECK(native_meet(native_begin(), "*:mod:target") > 20);
    native_place("target_place", 14, 8, 2);
    native_place("target_place", 10, 8, 2);
    test_the_function_is_as_without();
    test_words_of_the_place();
    test_no_register_changes();
    test_patterns_of_functions_select_no_place();
    test_bytes_of_a_place_are_its_own();
    test_places_beside_each_other();
    test_the_kill_switch_takes_it_off();
    if (NATIVE_STOPS)
        test_it_comes_and_goes_while_threads_pass();
    return 0;
}
