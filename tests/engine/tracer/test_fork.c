/* Fork: a child records into its own file, whatever the parent's other threads were doing, and leaves
 * the parent's file alone. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/tracer/instance_fork.h"
#include "engine/users/users.h"
#include "support/check.h"
#include "support/probe.h"
#include "support/session.h"
#include "support/sim_arch.h"

enum { NR_FUNCS = 500, NR_FORKS = 300 };

static struct fg_func *funcs[NR_FUNCS];
static struct session session;

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1 /* as GCC defines it */
#endif
#endif

/* The allocators of AddressSanitizer and ThreadSanitizer do not survive a fork while other threads use
 * them. */
#if defined(FG_TSAN) || defined(__SANITIZE_ADDRESS__)
static const bool survives_fork = false;
#else
static const bool survives_fork = true;
#endif

static _Atomic bool over;

/* Here children of a multithreaded process start threads. ThreadSanitizer forbids that by default. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "die_after_fork=0";
}

static void wait_for(pid_t child)
{
    int status;

    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
}

static void *three_calls(void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < 3; i++)
        sim_call_return(funcs[i]);
    return NULL;
}

/* Fails without the cursors' memset in child(): the child wrote to the parent's sub-buffer. */
static void test_a_child_has_its_own_file(void)
{
    int handle;
    uintptr_t call;
    pid_t child;

    session_begin(&session);
    handle = session_trace(&session, &(struct session_trace){.mode = FG_RING_DROP, .follow_fork = true});
    call = sim_call(funcs[0]);
    child = fork();
    if (!child) {
        three_calls(NULL);
        sim_in_thread(three_calls, NULL);
        sim_return(call); /* entered in the parent */
        _exit(fg_instance_stop(handle));
    }
    wait_for(child);
    sim_return(call);
    CHECK_EQ(fg_instance_stop(handle), 0);
    session_read(&session);
    CHECK_EQ(session.tally.records, 2);
    CHECK_EQ(session.tally.nr_tasks, 1);
    memset(&session.tally, 0, sizeof(session.tally));
    session_read_of(&session, child);
    CHECK_EQ(session.tally.records, 13);
    CHECK_EQ(session.tally.nr_tasks, 2);
    CHECK_EQ(session.tally.nr_processes, 1);
    CHECK_EQ(session.tally.nr_functions, NR_FUNCS);
    CHECK(session.tally.finished);
    session_end(&session);
}

/* Fails if every child is followed, whatever the instance's options say. */
static void test_a_child_that_is_not_followed_records_nothing(void)
{
    int handle;
    pid_t child;

    session_begin(&session);
    handle = session_trace(&session, &(struct session_trace){.mode = FG_RING_DROP});
    sim_call_return(funcs[0]);
    child = fork();
    if (!child) {
        three_calls(NULL);
        _exit(fg_instance_stop(handle));
    }
    wait_for(child);
    CHECK(access(session_ring(&session, child), F_OK) != 0);
    CHECK_EQ(fg_instance_stop(handle), 0);
    session_read(&session);
    CHECK_EQ(session.tally.records, 2);
    session_end(&session);
}

/* A process of the session that never had a ring: it forks before its first call, as a daemon does. */
static void fork_and_call(bool calls_itself)
{
    pid_t child;

    if (calls_itself)
        three_calls(NULL);
    child = fork();
    if (!child) {
        three_calls(NULL);
        three_calls(NULL);
        _exit(0);
    }
    wait_for(child);
}

/* Fails if the table is in the parent's ring: the second parent has none. Fails also if a process adds itself
 * for each of its instances, or if one that made a ring or left a note is in it. */
static void test_forked_process_that_cannot_be_traced_is_told(void)
{
    struct session_trace trace = {.mode = FG_RING_DROP, .follow_fork = true};
    struct fg_session_page page;
    pid_t children[3];
    int handles[2];

    session_begin(&session);
    session_page_make(&session);
    for (int i = 0; i < 2; i++)
        handles[i] = session_trace(&session, &trace);
    three_calls(NULL);
    fork_and_call(true); /* both can be traced */
    session_hide(&session, true);
    for (int i = 0; i < 3; i++) {
        children[i] = fork();
        if (!children[i]) {
            if (i < 2)
                three_calls(NULL);
            else
                fork_and_call(false);
            _exit(0);
        }
        wait_for(children[i]);
    }
    session_hide(&session, false);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(fg_instance_stop(handles[i]), 0);
    page = session_page(&session);
    CHECK_EQ(fg_missing_end(&page), 3);
    CHECK_EQ(page.more, 0);
    CHECK_EQ(page.missing[0].pid, children[0]);
    CHECK_EQ(page.missing[1].pid, children[1]);
    CHECK(page.missing[2].pid && page.missing[2].pid != (uint32_t)children[2]);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(page.missing[i].error, ENOENT);
    session_read(&session);
    CHECK_EQ(session.tally.records, 12);
    session_end(&session);
}

/* Fails if a process that the recorder hears of through its note is told twice. */
static void test_a_process_that_leaves_a_note_is_not_in_the_table(void)
{
    struct rlimit none = {0, RLIM_INFINITY};
    struct fg_session_page page;
    char note[128];
    pid_t child;
    int handle;

    session_begin(&session);
    session_page_make(&session);
    handle = session_trace(&session, &(struct session_trace){.mode = FG_RING_DROP, .follow_fork = true});
    child = fork();
    if (!child) {
        signal(SIGXFSZ, SIG_IGN);
        CHECK_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
        three_calls(NULL);
        _exit(0);
    }
    wait_for(child);
    CHECK_EQ(fg_instance_stop(handle), 0);
    snprintf(note, sizeof(note), "%s/%d.note", session.directory, (int)child);
    CHECK_EQ(access(note, F_OK), 0);
    page = session_page(&session);
    CHECK_EQ(fg_missing_end(&page), 0);
    session_end(&session);
}

/* Fails if the process waits for somebody to read the FIFO. */
static void test_a_process_whose_note_would_be_a_fifo_is_in_the_table(void)
{
    struct rlimit none = {0, RLIM_INFINITY};
    struct fg_session_page page;
    pid_t child;
    int handle;

    session_begin(&session);
    session_page_make(&session);
    handle = session_trace(&session, &(struct session_trace){.mode = FG_RING_DROP, .follow_fork = true});
    child = fork();
    if (!child) {
        char note[128];

        snprintf(note, sizeof(note), "%s/%d.note", session.directory, (int)getpid());
        CHECK_EQ(mkfifo(note, 0600), 0);
        signal(SIGXFSZ, SIG_IGN);
        CHECK_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
        three_calls(NULL);
        _exit(0);
    }
    wait_for(child);
    CHECK_EQ(fg_instance_stop(handle), 0);
    page = session_page(&session);
    CHECK_EQ(fg_missing_end(&page), 1);
    CHECK_EQ(page.missing[0].pid, child);
    CHECK_EQ(page.missing[0].error, EFBIG);
    session_end(&session);
}

/* Only a file of a page's size is mapped: all else could kill the process that reads it, or is not the
 * session's. */
static void test_what_is_no_page_is_not_mapped(void)
{
    char path[128], other[128];
    struct fg_session_page *page;

    session_begin(&session);
    snprintf(path, sizeof(path), "%s/%s", session.directory, FG_SESSION_PAGE);
    snprintf(other, sizeof(other), "%s/other", session.directory);
    CHECK(fg_session_page_map(session.directory) == NULL);
    CHECK_EQ(mkfifo(path, 0600), 0);
    CHECK(fg_session_page_map(session.directory) == NULL);
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(mkdir(path, 0700), 0);
    CHECK(fg_session_page_map(session.directory) == NULL);
    CHECK_EQ(rmdir(path), 0);
    session_page_make(&session);
    page = fg_session_page_map(session.directory);
    CHECK(page != NULL);
    fg_session_page_unmap(page);
    CHECK_EQ(rename(path, other), 0);
    CHECK_EQ(symlink(other, path), 0);
    CHECK(fg_session_page_map(session.directory) == NULL);
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(truncate(other, sizeof(*page) - 1), 0);
    CHECK_EQ(rename(other, path), 0);
    CHECK(fg_session_page_map(session.directory) == NULL);
    session_end(&session);
}

/* Fails if an entry beyond the table's end is written, or if such a process is not counted. */
static void test_missing_processes_beyond_the_table_are_counted(void)
{
    struct fg_session_page page = {0};

    for (uint32_t i = 0; i < FG_MISSING_PROCESSES; i++)
        page.missing[i].pid = 1 + i;
    fg_missing_add(&page, fg_missing_end(&page), EMFILE);
    CHECK_EQ(page.more, 1);
    page.missing[FG_MISSING_PROCESSES - 1].pid = 0;
    for (int i = 0; i < 2; i++)
        fg_missing_add(&page, FG_MISSING_PROCESSES - 1, EMFILE);
    CHECK_EQ(page.more, 1);
    CHECK_EQ(page.missing[FG_MISSING_PROCESSES - 1].pid, getpid());
    CHECK_EQ(page.missing[FG_MISSING_PROCESSES - 1].error, EMFILE);
}

static void *call_all_the_time(void *arg)
{
    (void)arg;
    while (!atomic_load(&over)) {
        uintptr_t generator = sim_call(funcs[3]);

        three_calls(NULL);
        sim_suspend(generator);
        sim_resume(generator);
        sim_return(generator);
    }
    return NULL;
}

static void *come_and_go(void *arg)
{
    struct probe probe;

    (void)arg;
    while (!atomic_load(&over)) {
        probe_init(&probe, "probe", "m.f*", 2);
        probe_register(&probe);
        probe_unregister(&probe);
        probe_done(&probe);
        sim_in_thread(three_calls, NULL);
    }
    return NULL;
}

static void *sessions_come_and_go(void *arg)
{
    (void)arg;
    while (!atomic_load(&over)) {
        int handle =
            session_trace(&session, &(struct session_trace){.mode = FG_RING_OVERWRITE, .follow_fork = true});

        usleep(100);
        CHECK_EQ(fg_instance_stop(handle), 0);
    }
    return NULL;
}

static void be_a_child(int handle)
{
    struct probe probe;

    alarm(20); /* kills a child that hangs on an inherited lock */
    three_calls(NULL);
    probe_init(&probe, "probe", NULL, 1);
    probe_register(&probe);
    sim_in_thread(three_calls, NULL);
    probe_unregister(&probe);
    if (probe_ends(&probe) != 3 || probe.bad)
        _exit(1);
    _exit(fg_instance_stop(handle) != 0);
}

/* Fails without the engine's or the rings' lock around fork. Fails if an instance that is being stopped
 * leaves the list before its ring is closed: the child inherited the ring's held lock, and its next
 * thread hung at its end. */
static void test_fork_while_other_threads_are_in_the_engine(void)
{
    void *(*const work[])(void *) = {call_all_the_time, call_all_the_time, come_and_go, sessions_come_and_go};
    pthread_t threads[NR_OF(work)];
    pid_t children[NR_FORKS];
    int handle;

    session_begin(&session);
    session_recorder_begins(&session);
    handle = session_trace(&session, &(struct session_trace){.mode = FG_RING_OVERWRITE, .follow_fork = true});
    atomic_store(&over, false);
    for (size_t i = 0; i < NR_OF(work); i++)
        sim_spawn(&threads[i], work[i], NULL);
    for (int i = 0; i < NR_FORKS; i++) {
        sim_call_return(funcs[0]);
        children[i] = fork();
        CHECK(children[i] >= 0);
        if (!children[i])
            be_a_child(handle);
        wait_for(children[i]);
    }
    atomic_store(&over, true);
    for (size_t i = 0; i < NR_OF(work); i++)
        sim_join(threads[i]);
    CHECK_EQ(fg_instance_stop(handle), 0);
    for (int i = 0; i < NR_FORKS; i++) {
        char path[128];

        memset(&session.tally, 0, sizeof(session.tally));
        snprintf(path, sizeof(path), "%s/%d.0%s", session.directory, (int)children[i], FG_RING_SUFFIX);
        CHECK_EQ(session_open_ring(path, &session.reader), 0);
        session_finish(&session);
        CHECK(session.tally.records <= 12);
    }
    session_end(&session);
}

static pid_t forked;

static void fork_now(struct probe *probe, struct ftrace_graph_ent *trace)
{
    (void)trace;
    probe->on_entry = NULL;
    forked = fork();
}

/* Fails if the child does not keep the guard of fg_task_self: leaving the callback made the guard wrap
 * around. */
static void test_fork_in_a_callback(void)
{
    struct probe probe;

    probe_init(&probe, "forks", NULL, 2);
    probe.on_entry = fork_now;
    probe_register(&probe);
    sim_call_return(funcs[0]);
    sim_call_return(funcs[1]);
    if (!forked)
        _exit(probe_ends(&probe) != 2 || probe.bad || fgraph_unregister(&probe.ops) != 0);
    wait_for(forked);
    CHECK_EQ(probe_ends(&probe), 2);
    probe_unregister(&probe);
}

int main(void)
{
    sim_begin();
    fg_instances_install_fork_handlers();
    sim_functions(funcs, NR_FUNCS);
    test_a_child_has_its_own_file();
    test_a_child_that_is_not_followed_records_nothing();
    test_forked_process_that_cannot_be_traced_is_told();
    test_a_process_that_leaves_a_note_is_not_in_the_table();
    test_a_process_whose_note_would_be_a_fifo_is_in_the_table();
    test_what_is_no_page_is_not_mapped();
    test_missing_processes_beyond_the_table_are_counted();
    if (survives_fork)
        test_fork_while_other_threads_are_in_the_engine();
    test_fork_in_a_callback();
    return 0;
}
