/* Hooks that come and go while threads call the functions: no call is lost to the program, each traced
 * entry has its return, and the code is as before afterwards. Where threads cannot be stopped, nothing
 * changes. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "support/check.h"
#include "support/native.h"
#include "support/text.h"
#include "target/target.h"

#define NR_THREADS 8

static void test_code_is_as_before(void)
{
    struct text before = text_of((void *)target_add), now;
    struct probe probe;

    for (int i = 0; i < 10; i++) {
        native_probe(&probe, "*:mod:target");
        CHECK(memcmp((void *)before.object.begin, before.bytes, before.object.end - before.object.begin) !=
              0);
        now = text_of((void *)target_add);
        text_free(&now);
        CHECK(native_hooked(NULL) > 20);
        native_finish(&probe, 0);
        CHECK_EQ(native_hooked(NULL), 0);
        text_check(&before);
    }
    text_free(&before);
}

/* ---- threads */

static _Atomic bool ends;
static _Atomic long rounds;

static void call_back(void *arg)
{
    ++*(long *)arg;
}

static void *make_calls(void *arg)
{
    long sum = 0, n = 0;

    (void)arg;
    for (; !atomic_load_explicit(&ends, memory_order_relaxed); n++) {
        sum += target_add(n, 1) - n;
        CHECK_EQ(target_recurse(5), 5);
        CHECK_EQ(target_leaf(n), n + 1);
        CHECK_EQ(target_branch(n), n ? 20 : 10);
        CHECK_EQ(target_read_word(), 4711);
        CHECK_EQ(target_tail(n, 1), 2 * n + 1);
        CHECK(target_long_double(n, 1.0L) == (long double)n);
        target_call(call_back, &sum);
        atomic_fetch_add_explicit(&rounds, 1, memory_order_relaxed);
    }
    CHECK_EQ(sum, 2 * n);
    return NULL;
}

static void begin_threads(pthread_t threads[NR_THREADS])
{
    atomic_store(&ends, false);
    for (int i = 0; i < NR_THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, make_calls, NULL), 0);
}

static void end_threads(pthread_t threads[NR_THREADS])
{
    atomic_store(&ends, true);
    for (int i = 0; i < NR_THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

/* Until the threads have made some calls more. */
static void wait_for_rounds(long n)
{
    long until = atomic_load(&rounds) + n;

    while (atomic_load(&rounds) < until)
        sched_yield();
}

/* Each user comes and goes in the middle of calls, so some returns have no user left. */
static void test_hooks_change_under_calls(int times)
{
    struct text before = text_of((void *)target_add);
    pthread_t threads[NR_THREADS];
    uint32_t refused, all_refused = 0;

    begin_threads(threads);
    for (int i = 0; i < times; i++) {
        struct probe probe;

        native_probe(&probe, "*:mod:target");
        native_hooked(&refused);
        all_refused += refused;
        if (i % 8 == 0)
            wait_for_rounds(20);
        probe_unregister(&probe);
        CHECK_EQ(probe.bad, 0);
        CHECK_EQ(probe.called_after, 0);
        CHECK(probe_ends(&probe) <= probe.entries);
        CHECK_EQ(probe.ends[FG_END_RAISE], 0);
        probe_done(&probe);
        CHECK_EQ(native_hooked(NULL), 0);
    }
    end_threads(threads);
    CHECK_EQ(all_refused, 0);
    CHECK(!fg_killed());
    text_check(&before);
    text_free(&before);
}

static void test_all_returns_arrive(void)
{
    pthread_t threads[NR_THREADS];
    struct probe probe;

    native_probe(&probe, "*:mod:target");
    begin_threads(threads);
    wait_for_rounds(2000);
    end_threads(threads);
    CHECK_EQ(probe_ends(&probe), probe.entries);
    native_finish(&probe, (uint64_t)probe.entries);
}

static void test_recordings_come_and_go(int times)
{
    pthread_t threads[NR_THREADS];

    begin_threads(threads);
    for (int i = 0; i < times; i++) {
        struct native_records records;

        native_record("*:mod:target");
        wait_for_rounds(100);
        records = native_recorded();
        CHECK(records.entries > 0);
        CHECK(records.returns + records.closes <= records.entries);
    }
    end_threads(threads);
    CHECK(!fg_killed());
}

/* ---- threads that block signals */

static _Atomic int is_blocking;
static _Atomic bool must_block;

static void stay(void)
{
    is_blocking = 1;
    while (is_blocking)
        usleep(1000);
}

static void *block_signals(void *arg)
{
    sigset_t all;

    (void)arg;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    stay();
    return NULL;
}

/* Also those that the C library keeps out of masks. */
static void block_all(void)
{
    uint64_t all = UINT64_MAX;

    CHECK_EQ(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, sizeof(all)), 0);
    stay();
}

static void *block_now(void *arg)
{
    (void)arg;
    pthread_setname_np(pthread_self(), "blo\xffker");
    block_all();
    return NULL;
}

/* Does so once it is told to. */
static void *block_later(void *arg)
{
    (void)arg;
    while (!must_block)
        usleep(1000);
    block_all();
    return NULL;
}

static pthread_t begin_thread(void *(*run)(void *))
{
    pthread_t thread;

    CHECK_EQ(pthread_create(&thread, NULL, run, NULL), 0);
    return thread;
}

static void wait_until_it_blocks(void)
{
    while (!is_blocking)
        sched_yield();
}

static void end_thread(pthread_t thread)
{
    is_blocking = 0;
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void test_a_thread_that_blocks_all_signals_is_stopped(void)
{
    struct text before = text_of((void *)target_add);
    pthread_t thread = begin_thread(block_signals);
    struct probe probe;
    uint32_t refused;

    wait_until_it_blocks();
    native_probe(&probe, "*:mod:target");
    CHECK(native_hooked(&refused) > 20);
    CHECK_EQ(refused, 0);
    native_finish(&probe, 0);
    text_check(&before);
    end_thread(thread);
    text_free(&before);
}

static void test_nothing_changes_if_a_thread_cannot_be_stopped(void)
{
    struct text before = text_of((void *)target_add);
    pthread_t thread = begin_thread(block_now);
    struct probe probe;
    uint32_t refused;

    wait_until_it_blocks();
    native_probe(&probe, "*:mod:target");
    CHECK_EQ(native_hooked(&refused), 0);
    CHECK(refused > 20);
    CHECK(native_refusal() && strstr(native_refusal(), " (blo?ker) cannot be stopped: it blocks signal 33"));
    text_check(&before);
    target_add(1, 1);
    end_thread(thread);
    native_finish(&probe, 0);
    thread = begin_thread(block_later);
    native_probe(&probe, "*:mod:target"); /* and now it works */
    CHECK(native_hooked(&refused) > 20);
    CHECK_EQ(refused, 0);
    must_block = true;
    wait_until_it_blocks();
    native_finish(&probe, 0); /* its hooks stay, and trace nothing */
    CHECK(native_hooked(NULL) > 20);
    target_add(1, 1);
    end_thread(thread);
    native_probe(&probe, "target_add:mod:target"); /* a later change takes them off, too */
    CHECK_EQ(native_hooked(NULL), 1);
    native_finish(&probe, 0);
    text_check(&before);
    text_free(&before);
}

/* ---- a thread that is late */

static int tries_seen;

/* Takes the signal of a try itself, as if it had no processor to run the handler. */
static void miss_a_try(void)
{
    uint64_t stop_signal = 1ull << 32;

    while (syscall(SYS_rt_sigtimedwait, &stop_signal, NULL, NULL, sizeof(stop_signal)) < 0)
        continue;
    tries_seen++;
}

static void *come_late(void *arg)
{
    uint64_t stop_signal = 1ull << 32;

    (void)arg;
    CHECK_EQ(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &stop_signal, NULL, sizeof(stop_signal)), 0);
    is_blocking = 1;
    for (int i = 0; i < 3; i++)
        miss_a_try();
    CHECK_EQ(syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &stop_signal, NULL, sizeof(stop_signal)), 0);
    stay();
    return NULL;
}

/* All others run between two tries. */
static void test_a_late_thread_is_waited_for_in_several_tries(void)
{
    pthread_t thread = begin_thread(come_late);
    struct probe probe;
    uint32_t refused;

    wait_until_it_blocks();
    native_probe(&probe, "*:mod:target");
    CHECK(native_hooked(&refused) > 20);
    CHECK_EQ(refused, 0);
    CHECK_EQ(tries_seen, 3);
    end_thread(thread);
    native_finish(&probe, 0);
}

/* The C library changes the user of each thread by the same signal. */
static void test_the_c_library_has_its_signals(int times)
{
    pthread_t threads[NR_THREADS];

    begin_threads(threads);
    for (int i = 0; i < times; i++) {
        struct probe probe;

        native_probe(&probe, "*:mod:target");
        CHECK_EQ(setresuid((uid_t)-1, geteuid(), (uid_t)-1), 0);
        CHECK(native_hooked(NULL) > 20);
        probe_unregister(&probe);
        CHECK_EQ(setresuid((uid_t)-1, geteuid(), (uid_t)-1), 0);
        CHECK_EQ(native_hooked(NULL), 0);
        probe_done(&probe);
    }
    end_threads(threads);
}

static void *change_user(void *arg)
{
    (void)arg;
    while (!atomic_load_explicit(&ends, memory_order_relaxed))
        CHECK_EQ(setresuid((uid_t)-1, geteuid(), (uid_t)-1), 0);
    return NULL;
}

/* Both at once: neither waits for the other, and neither takes the other's signals. */
static void test_users_of_the_signal_do_not_meet(int times)
{
    pthread_t threads[NR_THREADS], changing;

    begin_threads(threads);
    changing = begin_thread(change_user);
    for (int i = 0; i < times; i++) {
        struct probe probe;
        uint32_t refused;

        native_probe(&probe, "*:mod:target");
        native_hooked(&refused);
        CHECK_EQ(refused, 0);
        probe_unregister(&probe);
        CHECK_EQ(native_hooked(NULL), 0);
        probe_done(&probe);
    }
    end_threads(threads);
    CHECK_EQ(pthread_join(changing, NULL), 0);
}

/* ---- threads between first instructions */

#define JUMP_BYTES 5

/* Calls the function with the trap flag: a signal after each instruction. */
static void call_stepping(void)
{
    unsigned long result;

    __asm__ volatile("subq $256, %%rsp\n" /* the red zone */
                     "movl $7, %%edi\n"
                     "pushfq\n"
                     "orq $0x100, (%%rsp)\n"
                     "popfq\n"
                     "call target_leaf@plt\n"
                     "pushfq\n"
                     "andq $~0x100, (%%rsp)\n"
                     "popfq\n"
                     "addq $256, %%rsp\n"
                     : "=a"(result)
                     :
                     : "rdi", "rsi", "rcx", "rdx", "r8", "r9", "r10", "r11", "cc", "memory");
    CHECK_EQ(result, 8);
}

/* After its first instruction, a push of one byte. */
static void stay_between(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    if ((uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] == (uintptr_t)target_leaf + 1)
        stay();
}

static void *step(void *arg)
{
    (void)arg;
    call_stepping();
    return NULL;
}

static void count_refused(const struct fg_native_state *state, void *arg)
{
    if (!state->refusal)
        return;
    CHECK_TEXT(state->name, "target_leaf");
    CHECK_TEXT(state->refusal, "a thread stays within its first instructions");
    ++*(int *)arg;
}

static void test_a_handler_that_returns_between_first_instructions_keeps_its_function(void)
{
    struct sigaction action = {.sa_sigaction = stay_between, .sa_flags = SA_SIGINFO};
    struct probe probe;
    pthread_t thread;
    uint32_t refused;
    int found = 0;

    CHECK_EQ(sigaction(SIGTRAP, &action, NULL), 0);
    thread = begin_thread(step);
    wait_until_it_blocks();
    native_probe(&probe, "*:mod:target");
    CHECK(native_hooked(&refused) > 20);
    CHECK_EQ(refused, 1);
    fg_native_for_each(count_refused, &found);
    CHECK_EQ(found, 1);
    end_thread(thread);
    native_finish(&probe, 0);
}

/* What a handler has left on a stack, and addresses that a program computes. */
static void *keep_addresses(void *arg)
{
    volatile uintptr_t words[4 * JUMP_BYTES];

    (void)arg;
    for (size_t i = 0; i < NR_OF(words); i++)
        words[i] = (uintptr_t)target_leaf + i;
    stay();
    return (void *)words[0];
}

static void test_addresses_on_a_stack_keep_no_function(void)
{
    pthread_t thread = begin_thread(keep_addresses);
    struct probe probe;
    uint32_t refused;

    wait_until_it_blocks();
    native_probe(&probe, "*:mod:target");
    native_hooked(&refused);
    CHECK_EQ(refused, 0);
    native_finish(&probe, 0);
    end_thread(thread);
}

int main(void)
{
    struct fg_native_object *object = native_begin();

    native_meet(object, "*:mod:target");
    test_code_is_as_before();
    if (!NATIVE_STOPS)
        return 0;
    test_all_returns_arrive();
    test_hooks_change_under_calls(40);
    test_recordings_come_and_go(5);
    test_a_thread_that_blocks_all_signals_is_stopped();
    test_a_late_thread_is_waited_for_in_several_tries();
    test_nothing_changes_if_a_thread_cannot_be_stopped();
    test_a_handler_that_returns_between_first_instructions_keeps_its_function();
    test_addresses_on_a_stack_keep_no_function();
    test_the_c_library_has_its_signals(10);
    test_users_of_the_signal_do_not_meet(10);
    return 0;
}
