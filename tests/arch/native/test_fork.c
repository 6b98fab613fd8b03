/* fork(), vfork(), posix_spawn() and threads that end, in the middle of hooked calls. */
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/native/entry.h"
#include "support/check.h"
#include "support/native.h"
#include "target/target.h"

static struct probe probe;

static void check_child(pid_t pid, int expected)
{
    int status;

    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), expected);
}

static void fork_inside(void *arg)
{
    *(pid_t *)arg = fork();
}

/* The child returns from the calls, and makes some of its own. Hooks change in both, each in its own. */
static void test_a_forked_child_returns(void)
{
    pid_t pid = -1;

    native_probe(&probe, "*:mod:target");
    target_call(fork_inside, &pid);
    CHECK(pid >= 0);
    CHECK_EQ(target_recurse(20), 20);
    if (!pid) {
        CHECK_EQ(probe.entries, 22);
        native_finish(&probe, 22);
        CHECK_EQ(native_hooked(NULL), 0);
        CHECK_EQ(target_add(1, 1), 2);
        native_probe(&probe, "target_add:mod:target");
        CHECK_EQ(target_add(1, 1), 2);
        native_finish(&probe, 1);
        _exit(9);
    }
    check_child(pid, 9);
    CHECK_EQ(target_recurse(20), 20);
    native_finish(&probe, 22 + 21);
}

static void vfork_inside(void *arg)
{
    pid_t pid = vfork();

    if (!pid) {
        /* NOLINTNEXTLINE(clang-analyzer-unix.Vfork) */
        target_recurse(3);
        /* NOLINTNEXTLINE(clang-analyzer-unix.Vfork) */
        _exit((int)target_add(3, 4));
    }
    *(pid_t *)arg = pid;
}

static void test_a_child_shares_the_memory(void)
{
    pid_t pid = -1;

    native_probe(&probe, "*:mod:target");
    for (int i = 0; i < 50; i++) {
        target_call(vfork_inside, &pid);
        check_child(pid, 7);
    }
    native_finish(&probe, 50 * 6); /* the parent sees what the child did in its memory */
}

static void spawn_inside(void *arg)
{
    char *const command[] = {"true", NULL};

    CHECK_EQ(posix_spawnp(arg, "true", NULL, NULL, command, environ), 0);
}

static void test_posix_spawn(void)
{
    pid_t pid;

    native_probe(&probe, "*:mod:target");
    target_call(spawn_inside, &pid);
    check_child(pid, 0);
    native_finish(&probe, 1);
}

static void *call_deeply(void *arg)
{
    CHECK_EQ(target_recurse((long)arg), (long)arg);
    return NULL;
}

/* Threads come and go: none keeps entries. */
static void test_entries_are_given_back(void)
{
    native_probe(&probe, "*:mod:target");
    for (int i = 0; i < 200; i++) {
        pthread_t thread;

        CHECK_EQ(pthread_create(&thread, NULL, call_deeply, (void *)200), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
    }
    CHECK_EQ(fg_native_entries_lost(), 0);
    CHECK_EQ(fg_overrun_total(), 0);
    native_finish(&probe, 200 * 201);
}

int main(void)
{
    struct fg_native_object *object = native_begin();

    native_meet(object, "*:mod:target");
    if (!NATIVE_STOPS)
        return 0;
    test_a_forked_child_returns();
    test_a_child_shares_the_memory();
    test_posix_spawn();
    test_entries_are_given_back();
    return 0;
}
