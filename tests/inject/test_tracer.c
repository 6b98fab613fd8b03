/* A thread that cannot be stopped now is not stopped later either. */
#define _GNU_SOURCE /* CLONE_VFORK */
#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/enter.h"

static int gate[2], news[2];

/* Waits in the kernel, in a state in which nobody can stop it, until its child has read a byte. The child has
 * memory of its own; and no sanitizer makes a fork() of the call. */
static void wait_for_vfork(void)
{
    char byte = 'x';
    long child = syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);

    if (child == 0) {
        (void)!write(news[1], "v", 1);
        (void)!read(gate[0], &byte, 1);
        _exit(0);
    }
    (void)!write(news[1], "g", 1);
}

static pid_t start(void)
{
    pid_t child;
    char byte;

    assert(pipe(gate) == 0 && pipe(news) == 0);
    child = fork();
    assert(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        wait_for_vfork();
        _exit(7);
    }
    assert(read(news[0], &byte, 1) == 1 && byte == 'v');
    return child;
}

static void test_a_thread_that_could_not_be_stopped_goes_on_when_the_kernel_lets_it(void)
{
    pid_t child = start();
    uint64_t pc;
    int status;

    assert(fg_pc(child, &pc) == -ETIMEDOUT);
    assert(write(gate[1], "x", 1) == 1);
    /* It ends; or it is seen in the stop that nobody waits for. */
    assert(waitpid(child, &status, __WALL) == child);
    assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

int main(void)
{
    test_a_thread_that_could_not_be_stopped_goes_on_when_the_kernel_lets_it();
    return 0;
}
