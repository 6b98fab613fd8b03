/* Threads of a child are sent into the stub: they go on as if nothing had been, and a new thread runs the
 * text.
 *
 * The child stands for a process with an interpreter: its functions are here, at the same addresses. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "inject/enter.h"
#include "inject/process.h"
#include "inject/stub.h"
#include "support/child_process.h"
#include "support/own_code.h"

#define TEXT "the text"
#define CAVE_BYTES 4096

/* What the child tells, and the memory where the stub is put. */
static struct shared {
    _Atomic int nr_runs, nr_ensured, nr_released, nr_queued, wrong;
    _Atomic int ready, stop, most_runs;
    int (*queued)(void *);
    void *argument;
    _Atomic pid_t tid; /* of the new thread, */
    uint64_t *frame;   /* and where its return address was */
} * shared;
static char *cave;
static int pipe_ends[2];

#define NOT_INSTRUMENTED __attribute__((no_sanitize("address", "undefined")))

static int return_true(void)
{
    return 1;
}

static int return_false(void)
{
    return 0;
}

static int ensure(void)
{
    shared->nr_ensured++;
    return 42;
}

static void release(int state)
{
    shared->wrong |= state != 42;
    shared->nr_released++;
}

static int run_string(const char *text)
{
    shared->wrong |= strcmp(text, TEXT) != 0;
    shared->tid = (pid_t)syscall(SYS_gettid);
    shared->frame = __builtin_frame_address(0);
    shared->nr_runs++;
    return 0;
}

static int add_pending_call(int (*function)(void *), void *argument)
{
    shared->queued = function;
    shared->argument = argument;
    shared->nr_queued++;
    __asm__ volatile("pcmpeqd %%xmm0, %%xmm0\n pcmpeqd %%xmm1, %%xmm1" : : : "xmm0", "xmm1");
    return 0;
}

static void on_signal(int number)
{
    (void)number;
}

/* ---- children */

/* Counts in general and vector registers, and compares. */
__attribute__((noinline)) NOT_INSTRUMENTED static void child_counts(void)
{
    shared->ready = 1;
    while (!shared->stop) {
        uint64_t count = 0, same = 1;

        __asm__ volatile(
            "movq $1, %%rax\n movq %%rax, %%xmm1\n pxor %%xmm0, %%xmm0\n xorl %%ecx, %%ecx\n"
            "movq $0x1122334455667788, %%r8\n movq %%r8, -8(%%rsp)\n"
            "1: paddq %%xmm1, %%xmm0\n incq %%rcx\n cmpq $100000, %%rcx\n jne 1b\n"
            "movq %%xmm0, %0\n xorl %%edx, %%edx\n cmpq %%r8, -8(%%rsp)\n sete %%dl\n movq %%rdx, %1\n"
            : "=&r"(count), "=&r"(same)
            :
            : "rax", "rcx", "rdx", "r8", "xmm0", "xmm1", "memory", "cc");
        shared->wrong |= count != 100000 || !same;
        if (shared->nr_queued && shared->queued) {
            shared->wrong |= shared->queued(shared->argument);
            shared->queued = NULL;
        }
    }
}

/* Waits in read(): for a byte, or for a signal. */
static void child_reads(void)
{
    char byte = 0;
    ssize_t got;

    shared->ready = 1;
    got = read(pipe_ends[0], &byte, 1);
    shared->wrong |= !(got == 1 && byte == 'x') && !(got < 0 && errno == EINTR && shared->stop);
    shared->stop = 2;
}

/* Words on the stack of the thread that has ended: the next thread may have them on its own. */
NOT_INSTRUMENTED static bool is_stub_on_stack(void)
{
    for (const uint64_t *word = shared->frame - 256; word < shared->frame + 2; word++) {
        if (*word > (uintptr_t)cave && *word < (uintptr_t)cave + CAVE_BYTES)
            return true;
    }
    return false;
}

static void child_looks_at_the_stack(void)
{
    child_reads();
    while (syscall(SYS_tgkill, getpid(), shared->tid, 0) == 0)
        usleep(1000);
    shared->wrong |= is_stub_on_stack();
}

static void child_sleeps(void)
{
    struct timespec left = {.tv_nsec = 200000000};

    shared->ready = 1;
    shared->wrong |= nanosleep(&left, NULL) != 0;
}

static pid_t start(void (*program)(void))
{
    struct sigaction action = {.sa_handler = on_signal};
    pid_t child;

    memset(shared, 0, sizeof(*shared));
    memset(cave, 0, CAVE_BYTES);
    child = fork();
    assert(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sigaction(SIGUSR1, &action, NULL);
        program();
        while (shared->nr_released < shared->most_runs)
            usleep(1000);
        _exit(shared->wrong ? 1 : 0);
    }
    while (!shared->ready)
        usleep(1000);
    return child;
}

static void end(pid_t child)
{
    int status;

    shared->stop = 1;
    assert(waitpid(child, &status, 0) == child);
    assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- the attacher */

static bool is_other;

static bool is_same(void *data)
{
    return !*(bool *)data;
}

static struct fg_entry entry_of(void)
{
    static char content[CAVE_BYTES];
    static struct fg_range loop;
    uint64_t here = (uint64_t)(uintptr_t)child_counts;
    struct fg_entry entry = {
        .functions = {(uintptr_t)pthread_create, (uintptr_t)pthread_detach, (uintptr_t)add_pending_call,
                      (uintptr_t)return_true, (uintptr_t)return_false, (uintptr_t)ensure, (uintptr_t)release,
                      (uintptr_t)run_string},
        .cave = {(uintptr_t)cave, (uintptr_t)cave + CAVE_BYTES},
        .content = content,
        .text = TEXT,
        .may_spawn = true,
        .may_queue = true,
        .is_same = is_same,
        .data = &is_other,
    };

    /* The whole program stands for the interpreter, the counting child for its loop. */
    entry.places.code = own_code();
    entry.places.python = (struct fg_range){here & ~UINT64_C(0xfffff), (here | 0xfffff) + 1};
    loop = (struct fg_range){here, here + 4096};
    entry.places.loop = (struct fg_ranges){&loop, 1};
    return entry;
}

/* For a child that waits in a system call: before it is there, and on its way back, calls can be queued. */
static struct fg_entry entry_of_waiting(void)
{
    struct fg_entry entry = entry_of();

    entry.may_queue = false;
    return entry;
}

/* Return: where the thread was when it was sent into the stub. */
static enum fg_place enter_soon(pid_t child, const struct fg_entry *entry)
{
    enum fg_place place;
    int i, result;

    for (i = 0; i < 10000; i++) {
        result = fg_enter(child_process(child), child, entry, &place);
        if (result == 1)
            return place;
        assert(result == 0 || result == -EBUSY);
        usleep(1000);
    }
    abort();
}

static void wait_for_runs(int runs)
{
    shared->most_runs = runs;
    while (shared->nr_released < runs)
        usleep(1000);
    assert(shared->nr_runs == runs && shared->nr_ensured == runs);
}

static void test_a_thread_that_counts_queues_a_call_and_loses_no_register(void)
{
    struct fg_entry entry = entry_of();
    pid_t child = start(child_counts);

    assert(enter_soon(child, &entry) == FG_PLACE_QUEUES);
    wait_for_runs(1);
    assert(shared->nr_queued == 1);
    end(child);
}

static void test_a_thread_that_waits_spawns_and_its_call_is_made_again(void)
{
    struct fg_entry entry = entry_of_waiting();
    pid_t child = start(child_reads);

    assert(enter_soon(child, &entry) == FG_PLACE_WAITS);
    wait_for_runs(1);
    assert(!shared->stop);
    assert(write(pipe_ends[1], "x", 1) == 1);
    end(child);
}

/* Else whoever asks whether the next thread on that stack is in the stub would hear that it is. */
static void test_the_new_thread_leaves_no_address_of_the_stub(void)
{
    struct fg_entry entry = entry_of_waiting();
    pid_t child = start(child_looks_at_the_stack);

    assert(enter_soon(child, &entry) == FG_PLACE_WAITS);
    wait_for_runs(1);
    assert(write(pipe_ends[1], "x", 1) == 1);
    end(child);
}

static void test_a_sleep_goes_on_for_the_time_that_was_left(void)
{
    struct fg_entry entry = entry_of_waiting();
    pid_t child = start(child_sleeps);

    assert(enter_soon(child, &entry) == FG_PLACE_WAITS);
    wait_for_runs(1);
    end(child);
}

/* A signal comes while the thread is on its way through the stub. read() must end with EINTR, as it does
 * without us: the program would not look at the signal before the next byte. */
static void test_a_signal_meanwhile_ends_the_call(void)
{
    struct fg_entry entry = entry_of_waiting();
    struct fg_thread thread;
    struct fg_stub stub = {.call = FG_STUB_SPAWN, .functions = entry.functions};
    pid_t child = start(child_reads);

    stub.xsave_bytes = fg_stub_xsave_bytes(getpid());
    for (;;) {
        assert(fg_thread_stop(&thread, child_process(child), child) == 0);
        if (fg_place_of(&thread, &entry.places, 4096) == FG_PLACE_WAITS)
            break;
        fg_thread_go(&thread);
        usleep(1000);
    }
    stub.signal_mask = thread.signal_mask;
    fg_place_resume(&thread, &stub.resume_rip, &stub.resume_rax, &stub.eintr_rip);
    fg_stub_write(cave, &stub, TEXT);
    shared->most_runs = 1;
    shared->stop = 1; /* EINTR is right from now on */
    assert(fg_thread_redirect(&thread, entry.cave.low + fg_stub_entry_offset()) == 0);
    assert(kill(child, SIGUSR1) == 0);
    fg_thread_go(&thread);
    while (shared->stop != 2)
        usleep(1000);
    wait_for_runs(1);
    end(child);
}

static void test_a_cave_with_something_else_in_it_is_left_alone(void)
{
    struct fg_entry entry = entry_of_waiting();
    enum fg_place place = FG_PLACE_CODE;
    pid_t child = start(child_reads);
    int result = 0;

    cave[7] = 1;
    while (place != FG_PLACE_TAKEN) {
        result = fg_enter(child_process(child), child, &entry, &place);
        assert(result == 0);
    }
    entry.cave.high = entry.cave.low + 100;
    assert(fg_enter(child_process(child), child, &entry, &place) == -ENOSPC);
    assert(write(pipe_ends[1], "x", 1) == 1);
    end(child);
    assert(shared->nr_runs == 0 && cave[7] == 1);
}

static void test_what_a_thread_may_not_do_it_does_not(void)
{
    struct fg_entry entry = entry_of_waiting();
    enum fg_place place = FG_PLACE_CODE;
    pid_t child = start(child_reads);

    entry.may_spawn = false;
    while (place != FG_PLACE_WAITS)
        assert(fg_enter(child_process(child), child, &entry, &place) == 0);
    entry.may_spawn = true;
    entry.places.python = (struct fg_range){UINT64_MAX - 1, UINT64_MAX};
    /* After the stop before, it may not have entered read() again. */
    while (place != FG_PLACE_FOREIGN)
        assert(fg_enter(child_process(child), child, &entry, &place) == 0);
    assert(write(pipe_ends[1], "x", 1) == 1);
    end(child);
    assert(fg_enter(child_process(child), child, &entry, &place) == -ESRCH || shared->nr_runs == 0);
}

/* As one that has executed a setuid program since it was looked at. */
static void test_a_process_that_is_not_the_same_any_longer_gets_nothing(void)
{
    struct fg_entry entry = entry_of_waiting();
    enum fg_place place;
    pid_t child = start(child_reads);
    int result;

    is_other = true;
    while ((result = fg_enter(child_process(child), child, &entry, &place)) == -EBUSY)
        usleep(1000);
    is_other = false;
    assert(result == -ESTALE);
    assert(write(pipe_ends[1], "x", 1) == 1);
    end(child);
    assert(shared->nr_runs == 0 && cave[0] == 0);
}

/* A number from the process's memory may be that of any thread. */
static void test_a_thread_of_another_process_is_none_of_this_one(void)
{
    struct fg_entry entry = entry_of_waiting();
    enum fg_place place;
    pid_t other = start(child_reads), child = start(child_reads);
    uint64_t pc;

    assert(fg_pc(child_process(child), other, &pc) == -ESRCH);
    assert(fg_is_inside(child_process(child), other, entry.cave, 0) == -ESRCH);
    assert(fg_enter(child_process(child), other, &entry, &place) == -ESRCH);
    assert(write(pipe_ends[1], "xx", 2) == 2);
    end(child);
    end(other);
    assert(shared->nr_runs == 0);
}

/* What the attacher sees of the processor may be an emulator's: 832 bytes are valgrind's. The stub must have
 * room for all that XSAVE writes in the target. */
static void test_room_for_the_state_of_the_target_s_processor(void)
{
    enum { WITHOUT_AMX = 2696, WITH_AMX = 11008, EMULATED = 832 };

    assert(fg_stub_state_bytes(EMULATED, 0) >= WITHOUT_AMX + 64);
    assert(fg_stub_state_bytes(EMULATED, WITH_AMX + 1000) >= WITH_AMX + 64);
    assert(fg_stub_state_bytes(WITH_AMX, 0) >= WITH_AMX + 64);
    assert(fg_stub_xsave_bytes(getpid()) >= fg_signal_frame_bytes(getpid()) + 64);
    assert(fg_signal_frame_bytes(getpid()) == getauxval(AT_MINSIGSTKSZ));
}

int main(void)
{
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cave = mmap(NULL, CAVE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert(shared != MAP_FAILED && cave != MAP_FAILED && pipe(pipe_ends) == 0);
    if (fg_stub_xsave_bytes(getpid()) == 0) {
        puts("skipped: this processor has no XSAVE");
        return 0;
    }
    test_room_for_the_state_of_the_target_s_processor();
    test_a_thread_that_counts_queues_a_call_and_loses_no_register();
    test_a_thread_that_waits_spawns_and_its_call_is_made_again();
    test_the_new_thread_leaves_no_address_of_the_stub();
    test_a_sleep_goes_on_for_the_time_that_was_left();
    test_a_signal_meanwhile_ends_the_call();
    test_a_cave_with_something_else_in_it_is_left_alone();
    test_what_a_thread_may_not_do_it_does_not();
    test_a_process_that_is_not_the_same_any_longer_gets_nothing();
    test_a_thread_of_another_process_is_none_of_this_one();
    return 0;
}
