/* A traced call allocates nothing and makes no system call, once its function and its thread are known: at
 * its entry and return, with callbacks that reserve data, and when a thread takes its next sub-buffer.
 *
 * Broken by hand: fg_enter() called malloc(1); fg_ring_commit_to() called sched_yield().
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/tracer/instance_start.h"
#include "support/check.h"
#include "support/probe.h"
#include "support/sim_arch.h"

#define NR_CALLS 100000

static struct fg_func *f, *g;

/* ---- counting allocations: the sanitizers have hooks for that, glibc has its functions under other names */

static _Atomic uint64_t nr_allocations;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true
int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void *memory, size_t bytes),
                                              void (*free_hook)(const volatile void *memory));

static void count_malloc(const volatile void *memory, size_t bytes)
{
    (void)memory, (void)bytes;
    nr_allocations++;
}

static void ignore_free(const volatile void *memory)
{
    (void)memory;
}

static void count_allocations(void)
{
    CHECK(__sanitizer_install_malloc_and_free_hooks(count_malloc, ignore_free) != 0);
}
#else
#define IS_SANITIZED false
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);

void *malloc(size_t bytes)
{
    nr_allocations++;
    return __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    nr_allocations++;
    return __libc_calloc(n, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    nr_allocations++;
    return __libc_realloc(memory, bytes);
}

static void count_allocations(void)
{
}
#endif

/* ---- */

static void make_calls(void)
{
    for (int i = 0; i < NR_CALLS; i++) {
        uintptr_t outer = sim_call(f);

        sim_call_return(g);
        sim_return(outer);
    }
}

/* From here on the process is killed for any system call but its end and the clock's, where that is none of
 * the processor's. */
static void forbid_system_calls(void)
{
    struct sock_filter allow_few[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = NR_OF(allow_few), .filter = allow_few};

    CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/* Makes calls that are traced, and the same again: the second time they allocate nothing. Then once more,
 * without system calls. A sanitizer makes some of its own. */
static void check_calls(void)
{
    uint64_t before;

    make_calls();
    before = nr_allocations;
    make_calls();
    CHECK_EQ(nr_allocations, before);
    if (IS_SANITIZED)
        return;
    forbid_system_calls();
    make_calls();
}

static void calls_of_users_with_data(void)
{
    static struct probe users[2];

    for (size_t i = 0; i < NR_OF(users); i++) {
        probe_init(&users[i], "hot", NULL, 1 + i);
        probe_register(&users[i]);
    }
    check_calls();
    CHECK_EQ(probe_ends(&users[0]), users[0].entries);
}

/* The calls fill the buffer many times over, so the thread also takes sub-buffers that it overwrites. With a
 * recorder, it would then look from time to time whether that lives. */
static void trace_calls(const struct fg_tracer *tracer)
{
    struct fg_instance_config config = {
        .tracer = tracer,
        .ring = {.instance = "hot", .buffer_bytes = FG_RING_MIN_KB * 1024u, .mode = FG_RING_OVERWRITE}};
    int handle;

    CHECK_EQ(fg_instance_start(&config, &handle), 0);
    check_calls();
}

static void calls_of_the_function_graph_tracer(void)
{
    trace_calls(&fg_tracer_function_graph);
}

static void calls_of_the_function_tracer(void)
{
    trace_calls(&fg_tracer_function);
}

/* Each in a process of its own, which the first system call that is forbidden ends. */
static void test(void (*calls)(void))
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        sim_begin();
        f = sim_function("m", "f");
        g = sim_function("m", "g");
        calls();
        syscall(SYS_exit_group, 0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

int main(void)
{
    count_allocations();
    test(calls_of_users_with_data);
    test(calls_of_the_function_graph_tracer);
    test(calls_of_the_function_tracer);
    return 0;
}
