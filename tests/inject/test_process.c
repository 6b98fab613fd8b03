/* Memory of another process: what cannot be read is left out, and the main thread's stack may grow. */
#define _GNU_SOURCE
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/process.h"

enum { PAGE = 4096, MANY_PAGES = 20 };

/* Return: the first address of the main thread's stack. */
static uint64_t stack_low(void)
{
    unsigned long low = 0;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");

    assert(maps != NULL);
    while (fgets(line, sizeof(line), maps) != NULL && strstr(line, "[stack]") == NULL)
        ;
    assert(sscanf(line, "%lx-", &low) == 1);
    fclose(maps);
    return low;
}

static void bytes_up_to_the_end_of_a_mapping_are_read(void)
{
    char into[2 * PAGE];
    char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert(pages != MAP_FAILED && munmap(pages + PAGE, PAGE) == 0);
    memset(pages, 'x', PAGE);
    assert(fg_task_read(getpid(), (uint64_t)(uintptr_t)pages + 1, into, sizeof(into)) == PAGE - 1);
    assert(into[0] == 'x' && into[PAGE - 2] == 'x');
    assert(fg_task_read(getpid(), (uint64_t)(uintptr_t)pages + PAGE, into, sizeof(into)) < 0);
    munmap(pages, PAGE);
}

/* The child does what was foretold: it touches its stack there. */
static void a_stack_grows_down_to_its_limit_and_no_further(void)
{
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0), low = stack_low();
    uint64_t further = low - (uint64_t)MANY_PAGES * PAGE;
    struct rlimit limit;
    int status, go[2];
    pid_t child;
    char byte;

    assert(getrlimit(RLIMIT_STACK, &limit) == 0);
    if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur < 1 << 20)
        return;
    assert(pipe(go) == 0);
    child = fork();
    assert(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (read(go[0], &byte, 1) == 1)
            *(volatile char *)(uintptr_t)further = 1;
        _exit(0);
    }
    assert(fg_stack_can_grow(child, here, further));
    assert(!fg_stack_can_grow(child, here, low - limit.rlim_cur));
    assert(!fg_stack_can_grow(child, low - 1, further)); /* it is not on this stack */
    assert(write(go[1], "x", 1) == 1);
    assert(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void a_stack_does_not_grow_up_to_another_mapping(void)
{
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0), low = stack_low();
    void *near = (void *)(uintptr_t)(low - (uint64_t)MANY_PAGES * 2 * PAGE);

    if (mmap(near, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
        return; /* the kernel leaves a gap there, too */
    assert(!fg_stack_can_grow(getpid(), here, low - (uint64_t)MANY_PAGES * PAGE));
    munmap(near, PAGE);
}

int main(void)
{
    bytes_up_to_the_end_of_a_mapping_are_read();
    a_stack_grows_down_to_its_limit_and_no_further();
    a_stack_does_not_grow_up_to_another_mapping();
    return 0;
}
