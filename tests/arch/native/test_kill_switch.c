/* The kill switch takes native hooks off, too: at the next call of a hooked function, wherever the program
 * is, within its allocator for one. The program goes on, its code is as before. A call that returns twice
 * throws it, and somebody else's bytes at the head of a hooked function. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/native/code.h"
#include "arch/native/entry.h"
#include "arch/native/machine.h"
#include "engine/core/root.h"
#include "engine/core/task.h"
#include "support/check.h"
#include "support/native.h"
#include "support/text.h"
#include "target/target.h"

#define NR_THREADS 4

static _Atomic bool ends;
static _Atomic long rounds;
static _Thread_local bool is_within;
static _Atomic long allocations_within;

/* The allocator of this program: what allocates within a call of the target would wait for itself in a real
 * one. Sanitizers have allocators of their own. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);

void *malloc(size_t bytes)
{
    allocations_within += is_within;
    return __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    allocations_within += is_within;
    return __libc_calloc(n, bytes);
}
#endif

static void *make_calls(void *arg)
{
    (void)arg;
    while (!atomic_load(&ends)) {
        CHECK_EQ(target_recurse(5), 5);
        CHECK_EQ(target_branch(1), 20);
        atomic_fetch_add(&rounds, 1);
    }
    return NULL;
}

static void wait_for_rounds(long n)
{
    long until = atomic_load(&rounds) + n;

    while (atomic_load(&rounds) < until)
        sched_yield();
}

static void kill_inside(void *arg)
{
    (void)arg;
    fg_kill("tried");
}

/* One call of the target throws the switch, and another one within it takes the hooks off; the returns of
 * both find none. */
static void call_and_kill(void *arg)
{
    target_call(kill_inside, arg);
    is_within = true;
    CHECK_EQ(target_add(1, 2), 3);
    is_within = false;
    CHECK_EQ(native_hooked(NULL), 0);
}

static void test_hooks_go_at_the_next_call(bool has_threads)
{
    struct text before = text_of((void *)target_add);
    pthread_t threads[NR_THREADS];
    struct probe probe;

    native_probe(&probe, "*:mod:target");
    for (int i = 0; i < NR_THREADS && has_threads; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, make_calls, NULL), 0);
    if (has_threads)
        wait_for_rounds(100);
    CHECK(native_hooked(NULL) > 20);
    target_call(call_and_kill, NULL);
    CHECK(fg_killed() != NULL);
    CHECK_EQ(allocations_within, 0);
    text_check(&before);
    if (has_threads)
        wait_for_rounds(100);
    atomic_store(&ends, true);
    for (int i = 0; i < NR_THREADS && has_threads; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    probe_unregister(&probe);
    probe_done(&probe);
    text_check(&before);
    text_free(&before);
}

/* Nobody calls a hooked function: the next change takes all of them off. */
static void test_hooks_go_with_the_next_change(void)
{
    struct text before = text_of((void *)target_add);
    struct probe one, other;

    native_probe(&one, "target_add:mod:target");
    native_probe(&other, "target_leaf:mod:target");
    CHECK_EQ(native_hooked(NULL), 2);
    fg_kill("tried");
    probe_unregister(&one);
    CHECK_EQ(native_hooked(NULL), 0);
    text_check(&before);
    probe_unregister(&other);
    probe_done(&one);
    probe_done(&other);
    text_free(&before);
}

/* Its parent's threads run while it calls. */
static void test_a_child_that_shares_memory_leaves_the_hooks(void)
{
    struct probe probe;
    pid_t child;
    int status;

    native_probe(&probe, "*:mod:target");
    fg_kill("tried");
    child = vfork();
    if (child == 0)
        _exit(target_leaf(6) == 7 ? 0 : 1); /* NOLINT(clang-analyzer-unix.Vfork) */
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK(native_hooked(NULL) > 20);
    CHECK_EQ(target_leaf(1), 2);
    CHECK_EQ(native_hooked(NULL), 0);
    probe_unregister(&probe);
    probe_done(&probe);
}

/* As a stack would do of which the program has kept a copy: goes to where the first of two calls has returned
 * to, for a second time. Both are made by the same instruction, so their return address is the same. */
extern uintptr_t returned_to;
uintptr_t returned_to;
void return_again(void (*function)(void *arg), void *arg);
__asm__(".text\n"
        "return_again:\n"
        "addq $8, %rsp\n"
        "jmp *returned_to(%rip)\n");

static void find_return(void *arg)
{
    const struct fg_native_entry *entry = fg_task_self->native.newest;

    (void)arg;
    returned_to = (uintptr_t)fg_machine_first_return + (uintptr_t)entry - (uintptr_t)fg_native_entries;
}

static void test_a_call_that_returns_twice(void)
{
    void (*const volatile functions[])(void (*)(void *), void *) = {target_call, return_again};
    struct text before = text_of((void *)target_add);
    struct probe probe;
    volatile int calls = 0;

    native_probe(&probe, "*:mod:target");
    for (volatile int i = 0; i < 2; i++) {
        functions[i](find_return, NULL);
        calls++;
    }
    CHECK_EQ(calls, 2);
    CHECK(strstr(fg_killed(), "a second time") != NULL);
    CHECK_EQ(target_add(1, 2), 3);
    CHECK_EQ(native_hooked(NULL), 0);
    text_check(&before);
    probe_unregister(&probe);
    probe_done(&probe);
    text_free(&before);
}

static void write_byte(uintptr_t address, uint8_t byte)
{
    struct fg_code_writer writer;

    CHECK_EQ(fg_code_open(&writer), 0);
    CHECK(fg_code_write(&writer, address, &byte, 1));
    fg_code_close(&writer);
}

/* A debugger's breakpoint, for one. The others' code is as before, and that byte is the other tool's. */
static void test_a_byte_that_somebody_else_changed(void)
{
    struct text before = text_of((void *)target_add);
    const uint8_t *head = (const uint8_t *)target_add;
    struct probe probe, other;
    uint8_t jump[5];

    native_probe(&probe, "target_add:mod:target");
    native_probe(&other, "target_[!a]*:mod:target");
    CHECK(native_hooked(NULL) > 20);
    memcpy(jump, head, sizeof(jump));
    write_byte((uintptr_t)head, 0xcc);
    probe_unregister(&probe);
    CHECK(strstr(fg_killed(), "target_add [target]") != NULL);
    CHECK_EQ(native_hooked(NULL), 0);
    CHECK_EQ(head[0], 0xcc);
    CHECK_EQ(memcmp(head + 1, jump + 1, sizeof(jump) - 1), 0);
    CHECK_EQ(target_leaf(1), 2);
    /* The other tool takes its byte away: the function still works. */
    write_byte((uintptr_t)head, jump[0]);
    CHECK_EQ(target_add(1, 2), 3);
    probe_unregister(&other);
    probe_done(&other);
    probe_done(&probe);
    text_free(&before);
}

/* Many more hooks than memory is set aside for: they go in parts, with one call. */
static void test_any_number_of_hooks_goes(void)
{
    struct text before = text_of((void *)target_add);
    struct probe probe;

    native_probe(&probe, "*:mod:target");
    CHECK(native_hooked(NULL) > TARGET_MANY);
    target_call(call_and_kill, NULL);
    text_check(&before);
    probe_unregister(&probe);
    probe_done(&probe);
    text_free(&before);
}

/* The switch is thrown once in a process. */
static void in_child(void (*test)(void))
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        test();
        exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

static void test_alone(void)
{
    test_hooks_go_at_the_next_call(false);
}

static void test_with_threads(void)
{
    test_hooks_go_at_the_next_call(true);
}

int main(void)
{
    struct fg_native_object *object = native_begin_with_many();

    native_meet(object, "*:mod:target");
    if (!NATIVE_STOPS)
        return 0;
    in_child(test_alone);
    in_child(test_with_threads);
    in_child(test_any_number_of_hooks_goes);
    in_child(test_hooks_go_with_the_next_change);
    in_child(test_a_child_that_shares_memory_leaves_the_hooks);
    in_child(test_a_call_that_returns_twice);
    in_child(test_a_byte_that_somebody_else_changed);
    return 0;
}
