/* Kernels that lack what hooks need, as gVisor lacks membarrier(): nothing is hooked that cannot be hooked
 * safely, the reason is known, and the program goes on. A seccomp filter stands for such a kernel. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/general.h"
#include "support/native.h"
#include "support/text.h"
#include "target/target.h"

#define PATTERN "target_*:mod:target"

/* From here on a system call fails, if its third argument is @third, or with any for -1. */
static void forbid(uint32_t number, uint32_t third, uint32_t error)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, third, 0, third == UINT32_MAX ? 0 : 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = NR_OF(filter), .filter = filter};

    CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static void begin(void)
{
    CHECK(native_meet(native_begin(), PATTERN) > 10);
}

/* Nothing is hooked, for this reason, and the functions run as ever. */
static void check_refused(const char *reason)
{
    struct text before = text_of((void *)target_add);
    struct probe probe;
    uint32_t refused;

    native_probe(&probe, PATTERN);
    CHECK_EQ(native_hooked(&refused), 0);
    CHECK(refused > 10);
    CHECK_TEXT(native_refusal(), reason);
    CHECK_EQ(target_add(1, 2), 3);
    native_finish(&probe, 0);
    text_check(&before);
    text_free(&before);
    CHECK(!fg_killed());
}

/* ---- no membarrier */

static pthread_barrier_t barrier;

static void *wait_for_end(void *arg)
{
    pthread_barrier_wait(&barrier);
    return arg;
}

static pthread_t begin_thread(void)
{
    pthread_t thread;

    CHECK_EQ(pthread_barrier_init(&barrier, NULL, 2), 0);
    CHECK_EQ(pthread_create(&thread, NULL, wait_for_end, NULL), 0);
    return thread;
}

static void end_thread(pthread_t thread)
{
    pthread_barrier_wait(&barrier);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

/* A thread alone has no other that might execute old instructions. Its guard has a fence of its own, so each
 * call takes the slow path. */
static void check_hooked_alone(void)
{
    struct fprobe fp;

    general_probe(&fp, 8);
    native_probe_place(&fp, PATTERN);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(target_recurse(4), 4);
    CHECK_EQ(general.entries, 15);
    CHECK_EQ(general.exits, 15);
    CHECK_EQ(general.saved, 30);
    CHECK_EQ(fg_fprobe_unregister(&fp), 0);
    CHECK_EQ(native_hooked(NULL), 0);
}

/* Hooks that cannot be taken off stay, and trace nothing. */
static void check_hooks_that_stay(void)
{
    struct text before = text_of((void *)target_add);
    struct probe probe;
    pthread_t thread;
    uint32_t hooked;

    native_probe(&probe, PATTERN);
    hooked = native_hooked(NULL);
    CHECK(hooked > 10);
    thread = begin_thread();
    CHECK_EQ(target_add(1, 2), 3);
    native_finish(&probe, 1);
    CHECK_EQ(native_hooked(NULL), hooked);
    CHECK_EQ(target_add(1, 2), 3);
    end_thread(thread);
    native_probe(&probe, PATTERN);
    native_finish(&probe, 0);
    CHECK_EQ(native_hooked(NULL), 0);
    text_check(&before);
    text_free(&before);
}

static void without_membarrier(void)
{
    pthread_t thread;

    forbid(SYS_membarrier, UINT32_MAX, ENOSYS);
    begin();
    thread = begin_thread();
    check_refused("this kernel has no membarrier that serializes processors");
    end_thread(thread);
    check_hooked_alone();
    check_hooks_that_stay();
}

/* ---- no /proc/self/mem to write */

static void without_open_memory(void)
{
    begin();
    forbid(SYS_openat, O_RDWR | O_CLOEXEC, EACCES);
    check_refused("/proc/self/mem cannot be written");
}

static void without_written_memory(void)
{
    begin();
    forbid(SYS_pwrite64, UINT32_MAX, EIO);
    check_refused("its trampoline cannot be written");
}

/* A filter stays, so each kernel has a process of its own. */
static void run_on(void (*kernel)(void))
{
    pid_t child = fork();
    int status;

    CHECK(child >= 0);
    if (child == 0) {
        kernel();
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

int main(void)
{
    if (!NATIVE_STOPS)
        return 0;
    run_on(without_membarrier);
    run_on(without_open_memory);
    run_on(without_written_memory);
    return 0;
}
