/* A child is judged at each instruction of malloc() and of dlsym(): it is in the allocator, or in the loader,
 * from their first instruction to their last, and nowhere else. */
#define _GNU_SOURCE /* dladdr1() */
#include <assert.h>
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/place.h"
#include "support/child_process.h"
#include "support/own_code.h"

enum { MAX_STEPS = 20000 };

static void *(*volatile allocate)(size_t) = malloc;
static void (*volatile release)(void *) = free;
static void *(*volatile find)(void *, const char *) = dlsym;
static volatile int ready, go;

__attribute__((noinline)) static void child_allocates(void)
{
    release(allocate(100000)); /* not from a list of free blocks */
}

__attribute__((noinline)) static void child_looks_up(void)
{
    (void)find(RTLD_DEFAULT, "qsort");
}

static struct fg_range range_of(void *function)
{
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    uint64_t start = (uint64_t)(uintptr_t)function;

    assert(dladdr1(function, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol != NULL);
    return (struct fg_range){start, start + symbol->st_size};
}

static struct fg_range loader_of(const struct fg_code *code)
{
    void *in_loader = dlsym(RTLD_DEFAULT, "__tls_get_addr");
    const struct fg_segment *segment = fg_code_segment(code, (uint64_t)(uintptr_t)in_loader);

    assert(segment != NULL);
    return (struct fg_range){segment->low, segment->high};
}

static pid_t start(void (*program)(void))
{
    pid_t child = fork();

    assert(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        program(); /* binds what it calls */
        ready = 1;
        while (!go)
            ;
        program();
        _exit(0);
    }
    return child;
}

static void step(struct fg_thread *thread)
{
    int status;

    assert(ptrace(PTRACE_SINGLESTEP, thread->tid, NULL, NULL) == 0);
    assert(waitpid(thread->tid, &status, __WALL) == thread->tid && WIFSTOPPED(status));
    assert(ptrace(PTRACE_GETREGS, thread->tid, NULL, &thread->regs) == 0);
}

/* Stop a child that is about to run @program for the second time. */
static struct fg_thread stop_before(pid_t child)
{
    struct fg_thread thread;
    int one = 1, is_ready;

    for (;;) {
        assert(fg_thread_stop(&thread, child_process(child), child) == 0);
        assert(fg_thread_read(&thread, (uint64_t)(uintptr_t)&ready, &is_ready, sizeof(is_ready)) ==
               sizeof(is_ready));
        if (is_ready)
            break;
        fg_thread_go(&thread);
        usleep(1000);
    }
    assert(fg_thread_write(&thread, (uint64_t)(uintptr_t)&go, &one, sizeof(one)) == 0);
    return thread;
}

static void end(struct fg_thread *thread)
{
    int status;

    fg_thread_go(thread);
    assert(waitpid(thread->tid, &status, 0) == thread->tid);
    assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Step from @function's first instruction until it has returned. */
static void judge_each_step(void (*program)(void), void *function, const struct fg_places *places,
                            enum fg_place inside)
{
    struct fg_thread thread = stop_before(start(program));
    uint64_t stack;
    int i, nr_inside = 0;

    for (i = 0; i < MAX_STEPS && thread.regs.rip != (uint64_t)(uintptr_t)function; i++) {
        assert(fg_place_of(&thread, places, 4096) != inside);
        step(&thread);
    }
    assert(i < MAX_STEPS);
    stack = thread.regs.rsp;
    for (i = 0; i < MAX_STEPS && thread.regs.rsp <= stack; i++) {
        enum fg_place place = fg_place_of(&thread, places, 4096);

        /* A system call that has just returned is none that waits. */
        assert(place == inside || place == FG_PLACE_KERNEL);
        nr_inside += place == inside;
        step(&thread);
    }
    assert(nr_inside > 10 && fg_place_of(&thread, places, 4096) != inside);
    end(&thread);
}

static void test_each_instruction_of_malloc_is_in_the_allocator(void)
{
    struct fg_range allocator = range_of((void *)(uintptr_t)malloc);
    struct fg_places places = {.code = own_code(), .allocator = {&allocator, 1}};

    judge_each_step(child_allocates, (void *)(uintptr_t)malloc, &places, FG_PLACE_ALLOCATOR);
}

static void test_each_instruction_of_dlsym_is_in_the_loader(void)
{
    struct fg_places places = {.code = own_code()};
    struct fg_range loader[] = {loader_of(&places.code), range_of((void *)(uintptr_t)dlsym)};

    places.loader = (struct fg_ranges){loader, 2};
    judge_each_step(child_looks_up, (void *)(uintptr_t)dlsym, &places, FG_PLACE_LOADER);
}

int main(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    puts("skipped: a sanitizer stands before both");
    return 0;
#endif
    test_each_instruction_of_malloc_is_in_the_allocator();
    test_each_instruction_of_dlsym_is_in_the_loader();
    return 0;
}
