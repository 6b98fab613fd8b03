/* Promise: a guarded mapping whose file is truncated reads zeros. Any other SIGBUS goes where it went without
 * guards, and the last guard leaves the program's handling of signals as it was. */
#undef NDEBUG
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/reader/bus_guard.h"
#include "support/check.h"

enum { PAGE = 4096, PAGES = 4, NR_THREADS = 4, ROUNDS = 300 };

struct file {
    int fd;
    volatile uint8_t *memory;
};

static struct file file_begin(void)
{
    struct file file = {.fd = memfd_create("guarded", MFD_CLOEXEC)};

    CHECK(file.fd >= 0 && ftruncate(file.fd, PAGES * PAGE) == 0);
    file.memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
    CHECK(file.memory != MAP_FAILED);
    for (int i = 0; i < PAGES; i++)
        file.memory[i * PAGE] = 7;
    return file;
}

static void file_end(const struct file *file)
{
    munmap((void *)file->memory, PAGES * PAGE);
    close(file->fd);
}

static struct fg_bus_guard *guard_of(const struct file *file)
{
    struct fg_bus_guard *guard = fg_bus_guard_begin((void *)file->memory, PAGES * PAGE);

    CHECK(guard != NULL && !fg_bus_guard_is_hit(guard));
    return guard;
}

static void set_handler(void (*handler)(int))
{
    CHECK(signal(SIGBUS, handler) != SIG_ERR);
}

static void (*handler_now(void))(int)
{
    struct sigaction action;

    CHECK_EQ(sigaction(SIGBUS, NULL, &action), 0);
    return action.sa_handler;
}

static void test_a_truncated_file_reads_zeros(void)
{
    struct file file = file_begin();
    struct fg_bus_guard *guard = guard_of(&file);

    CHECK_EQ(file.memory[0], 7);
    CHECK_EQ(ftruncate(file.fd, PAGE), 0);
    CHECK_EQ(file.memory[0], 7);
    CHECK(!fg_bus_guard_is_hit(guard));
    errno = EXDEV;
    CHECK_EQ(file.memory[2 * PAGE], 0);
    CHECK_EQ(errno, EXDEV);
    CHECK(fg_bus_guard_is_hit(guard));
    CHECK_EQ(file.memory[0], 0); /* all of it, so that no half of the file is believed */
    file.memory[3 * PAGE] = 9;
    CHECK_EQ(file.memory[3 * PAGE], 9);
    fg_bus_guard_end(guard);
    file_end(&file);
}

/* ---- a SIGBUS of anything else */

static volatile sig_atomic_t nr_foreign;
static volatile uint8_t *foreign_page;

static void repair_foreign(void)
{
    nr_foreign++;
    CHECK(mmap((void *)foreign_page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
               -1, 0) != MAP_FAILED);
}

static void on_foreign(int number)
{
    CHECK_EQ(number, SIGBUS);
    repair_foreign();
}

static void on_foreign_info(int number, siginfo_t *info, void *context)
{
    CHECK(number == SIGBUS && context != NULL);
    CHECK(info->si_addr == (void *)foreign_page);
    repair_foreign();
}

static void touch_foreign(void)
{
    struct file file = file_begin();

    foreign_page = file.memory + PAGE;
    CHECK_EQ(ftruncate(file.fd, PAGE), 0);
    CHECK_EQ(*foreign_page, 0);
    file_end(&file);
}

static void test_another_bus_error_goes_to_the_former_handler(void)
{
    struct sigaction with_info = {.sa_sigaction = on_foreign_info, .sa_flags = SA_SIGINFO}, before;
    struct file file = file_begin();
    struct fg_bus_guard *guard;

    CHECK_EQ(sigaction(SIGBUS, &with_info, &before), 0);
    for (int i = 1; i <= 2; i++) {
        guard = guard_of(&file);
        touch_foreign();
        CHECK_EQ(nr_foreign, i);
        CHECK(!fg_bus_guard_is_hit(guard));
        fg_bus_guard_end(guard);
        set_handler(on_foreign);
    }
    CHECK_EQ(sigaction(SIGBUS, &before, NULL), 0);
    file_end(&file);
}

/* Runs a function in a child whose former action is SIG_DFL or SIG_IGN; returns how the child ended. */
static int status_of(void (*action)(int), void (*act)(void))
{
    pid_t child = fork();
    int status;

    CHECK(child >= 0);
    if (child == 0) {
        struct file file = file_begin();

        set_handler(action);
        guard_of(&file);
        act();
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    return status;
}

static void touch_beyond_the_end(void)
{
    struct file file = file_begin();

    CHECK_EQ(ftruncate(file.fd, 0), 0);
    file.memory[0] = 1;
}

static void send_to_itself(void)
{
    raise(SIGBUS);
}

static void test_without_a_former_handler_the_process_dies_of_it(void)
{
    int status = status_of(SIG_DFL, touch_beyond_the_end);

    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    status = status_of(SIG_IGN, touch_beyond_the_end); /* as the kernel has it without guards */
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    status = status_of(SIG_DFL, send_to_itself);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    status = status_of(SIG_IGN, send_to_itself);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- whose handler is installed */

static void test_the_last_guard_leaves_the_handler_as_it_was(void)
{
    void (*before)(int) = handler_now();
    struct file one = file_begin(), other = file_begin();
    struct fg_bus_guard *first, *second;

    set_handler(on_foreign);
    first = guard_of(&one);
    second = guard_of(&other);
    CHECK(handler_now() != on_foreign);
    fg_bus_guard_end(first);
    CHECK(handler_now() != on_foreign);
    fg_bus_guard_end(second);
    CHECK(handler_now() == on_foreign);

    first = guard_of(&one);
    set_handler(SIG_IGN); /* the program's, meanwhile */
    fg_bus_guard_end(first);
    CHECK(handler_now() == SIG_IGN);
    set_handler(before);
    file_end(&one);
    file_end(&other);
}

/* ---- threads */

static void *guard_and_truncate(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct file file = file_begin();
        struct fg_bus_guard *guard = guard_of(&file);

        CHECK_EQ(ftruncate(file.fd, 0), 0);
        CHECK_EQ(file.memory[(i % PAGES) * PAGE], 0);
        CHECK(fg_bus_guard_is_hit(guard));
        fg_bus_guard_end(guard);
        file_end(&file);
    }
    return unused;
}

static void test_threads_have_their_own_guards(void)
{
    pthread_t threads[NR_THREADS];
    struct file file = file_begin();
    struct fg_bus_guard *guard = guard_of(&file);

    for (int i = 0; i < NR_THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, guard_and_truncate, NULL), 0);
    for (int i = 0; i < NR_THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK(!fg_bus_guard_is_hit(guard));
    CHECK_EQ(file.memory[PAGE], 7);
    fg_bus_guard_end(guard);
    file_end(&file);
}

/* More guards than one block of them has. */
static void test_there_may_be_any_number_of_guards(void)
{
    enum { MANY = 200 };
    struct file file = file_begin();
    struct fg_bus_guard *guards[MANY];

    for (int i = 0; i < MANY; i++)
        guards[i] = i == MANY - 1 ? guard_of(&file) : fg_bus_guard_begin((void *)(uintptr_t)(1 + i), 1);
    CHECK_EQ(ftruncate(file.fd, 0), 0);
    CHECK_EQ(file.memory[0], 0);
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(fg_bus_guard_is_hit(guards[i]), i == MANY - 1);
        fg_bus_guard_end(guards[i]);
    }
    file_end(&file);
}

int main(void)
{
    test_a_truncated_file_reads_zeros();
    test_another_bus_error_goes_to_the_former_handler();
    test_without_a_former_handler_the_process_dies_of_it();
    test_threads_have_their_own_guards();
    test_there_may_be_any_number_of_guards();
    /* The last one: a handler that stays keeps ours from being set. */
    test_the_last_guard_leaves_the_handler_as_it_was();
    return 0;
}
