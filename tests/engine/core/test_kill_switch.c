/* The kill switch: a broken invariant warns once and stops all tracing for good; the program continues. */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/probe/fprobe.h"
#include "engine/probe/kprobe.h"
#include "support/check.h"
#include "support/probe.h"
#include "support/session.h"
#include "support/sim_arch.h"

static struct fg_func *f;
static struct probe probe;
static int warnings;

static void count_warning(const char *message)
{
    CHECK(strstr(message, "leads nowhere") != NULL);
    warnings++;
}

static void *call_and_end(void *arg)
{
    (void)arg;
    for (int i = 0; i < 10; i++)
        sim_call_return(f);
    return NULL;
}

/* Runs `run` and captures what it writes to standard error. */
static void read_stderr(void (*run)(void), char *text, size_t room)
{
    int old = dup(STDERR_FILENO), ends[2];
    ssize_t bytes;

    CHECK_EQ(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    run();
    dup2(old, STDERR_FILENO);
    close(ends[1]);
    bytes = read(ends[0], text, room - 1);
    text[bytes > 0 ? bytes : 0] = 0;
    close(ends[0]);
    close(old);
}

static uintptr_t in_progress[4];
static uint64_t broken_word;

static void corrupt_and_return(void)
{
    for (size_t i = 0; i < NR_OF(in_progress); i++)
        in_progress[i] = sim_call(f);
    fg_task_current()->top[-1] = broken_word;
    sim_return(in_progress[3]); /* one frame is broken: no return is reported */
    for (int i = 2; i >= 0; i--)
        sim_return(in_progress[i]);
    fg_kill("a second warning");
}

/* Fails without the checks in newest_sound_frame (a crash), without the exchange in fg_kill (endless
 * warnings), and without the 0 in the root's descriptor (calls were still traced). */
static void test_one_warning_and_all_tracing_stops(void)
{
    char text[512];
    uint64_t entries, ends;

    read_stderr(corrupt_and_return, text, sizeof(text));
    CHECK(strstr(text, "tracing is off for good, the program goes on") != NULL);
    CHECK(strchr(text, '\n') == text + strlen(text) - 1);
    CHECK(strstr(text, "second") == NULL);
    CHECK_EQ(warnings, 1);
    CHECK(fg_killed() && strstr(fg_killed(), "leads nowhere"));
    entries = probe.entries;
    ends = probe_ends(&probe);
    call_and_end(NULL);
    sim_in_thread(call_and_end, NULL);
    CHECK_EQ(probe.entries, entries);
    CHECK_EQ(probe_ends(&probe), ends);
    CHECK_EQ(fg_overrun_total(), 0);
}

/* Each succeeded before, and never did anything. */
static void test_nothing_can_be_registered_or_started(struct session *session)
{
    struct fprobe fp = {0};
    struct fg_kprobe kp = {.is_enabled = true};
    struct probe late;
    int handle;

    probe_init(&late, "late", NULL, 0);
    CHECK_EQ(fgraph_register(&late.ops), -ENODEV);
    CHECK_EQ(fgraph_is_registered(&late.ops), false);
    probe_done(&late);
    CHECK_EQ(fg_fprobe_register_ips(&fp, NULL, &f, NULL, 1), -ENODEV);
    CHECK_EQ(fg_kprobe_register(&kp, f), -ENODEV);
    CHECK_EQ(session_try_trace(session, &(struct session_trace){.mode = FG_RING_DROP}, &handle), -ENODEV);
}

static void *hold_a_subbuffer(void *arg)
{
    pthread_barrier_t *barrier = arg;

    call_and_end(NULL);
    pthread_barrier_wait(barrier);
    pthread_barrier_wait(barrier);
    call_and_end(NULL);
    return NULL;
}

static int run_with_a_broken_word(void)
{
    struct session session;
    pthread_barrier_t barrier;
    pthread_t thread;
    int handle;

    sim_begin();
    f = sim_function("m", "f");
    session_begin(&session);
    handle = session_trace(&session, &(struct session_trace){.mode = FG_RING_DROP});
    probe_init(&probe, "probe", NULL, 1);
    probe_register(&probe);
    fg_on_kill(count_warning);
    pthread_barrier_init(&barrier, NULL, 2);
    sim_spawn(&thread, hold_a_subbuffer, &barrier);
    pthread_barrier_wait(&barrier);
    test_one_warning_and_all_tracing_stops();
    test_nothing_can_be_registered_or_started(&session);
    pthread_barrier_wait(&barrier);
    sim_join(thread);
    /* Fails if a task's end looks up users by generation. The kill switch has emptied the generations,
     * so the file was closed through the cursor of a thread that no longer existed. */
    CHECK_EQ(fg_instance_stop(handle), 0);
    session_read(&session);
    CHECK(session.tally.records >= 20);
    CHECK(strstr(session.tally.killed, "leads nowhere") != NULL);
    probe_unregister(&probe);
    session_end(&session);
    return 0;
}

int main(void)
{
    /* Broken descriptors: no type; a frame without room for itself; an offset that leads below the
     * stack. Each runs in its own process, because the kill switch cannot be reset. */
    static const uint64_t words[] = {0, 1 | 2 << 2, 1 | 0xfff << 2};

    for (size_t i = 0; i < NR_OF(words); i++) {
        pid_t child = fork();
        int status;

        CHECK(child >= 0);
        broken_word = words[i];
        if (!child)
            _exit(run_with_a_broken_word());
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, 0);
    }
    return 0;
}
