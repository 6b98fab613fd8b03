/* See stop.h. */
#define _GNU_SOURCE
#include "arch/native/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "arch/native/patience.h"
#include "arch/native/system.h"

/* The kernel's number: the C library has no name for it. */
#define STOP_SIGNAL 33
#define MAX_THREADS 4096u
#define MOST_RUN_NS 20000000u /* of a thread that is late, until it counts as blocking the signal */
#define SHORTEST_PAUSE_NS 20000L
#define LONGEST_PAUSE_NS 1000000L
#define STACK_BYTES 65536u /* how much of a stack is looked at for interrupted code */
#define NAME_BYTES 16u     /* of a thread, as the kernel keeps it, with its end */
#define SA_RESTORER_FLAG 0x04000000UL

struct parked {
    _Atomic(int) tid; /* 0: being filled in */
    const void *context;
};

/* The kernel's struct sigaction. */
struct kernel_action {
    void (*handler)(int number, siginfo_t *info, void *context);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

static struct {
    struct kernel_action former; /* what the C library does at the signal */
    _Atomic(uint32_t) now;       /* the number of the stop, 0 between two of them; a futex */
    uint32_t latest;
    /* The number of the latest stop, and below it how many threads have arrived. In one word: a thread
     * that is late does not count in the next stop. */
    _Atomic(uint64_t) arrived;
    struct parked threads[MAX_THREADS];
    /* Threads in the handler. The next stop begins when all have left: one that is late may not have written
     * its place yet, which is another thread's in the next stop. */
    _Atomic(unsigned) inside;
    /* One that found no stop: it came too late, and does not block the signal. */
    _Atomic(int) latecomer;
    int tasks; /* /proc/self/task */
} stop = {.tasks = -1};

/* ---- in the stopped threads */

static int own_tid(void)
{
    return (int)FG_SYSCALL(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

/* Returns how many have arrived before; MAX_THREADS: this stop is over, or full. */
static unsigned arrive(uint32_t number)
{
    uint64_t arrived = atomic_load(&stop.arrived);

    do {
        if (arrived >> 32 != number || (uint32_t)arrived >= MAX_THREADS)
            return MAX_THREADS;
    } while (!atomic_compare_exchange_weak(&stop.arrived, &arrived, arrived + 1));
    return (uint32_t)arrived;
}

/* A signal that comes late finds no stop, or the next one. */
static void park(const void *context)
{
    uint32_t now = atomic_load(&stop.now);
    unsigned at = now ? arrive(now) : MAX_THREADS;

    if (at == MAX_THREADS) {
        atomic_store(&stop.latecomer, own_tid());
        return;
    }
    stop.threads[at].context = context;
    /* release: who reads the number reads the context */
    atomic_store_explicit(&stop.threads[at].tid, own_tid(), memory_order_release);
    while (atomic_load(&stop.now) == now)
        FG_SYSCALL(SYS_futex, &stop.now, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0);
}

static bool is_handler(void (*handler)(int number, siginfo_t *info, void *context))
{
    return (uintptr_t)handler != (uintptr_t)SIG_DFL && (uintptr_t)handler != (uintptr_t)SIG_IGN;
}

/* Our signals carry the address of `stop`. Others are the C library's. */
static void handle(int number, siginfo_t *info, void *context)
{
    if (info->si_code == SI_QUEUE && info->si_value.sival_ptr == &stop) {
        atomic_fetch_add(&stop.inside, 1);
        park(context);
        atomic_fetch_sub(&stop.inside, 1);
    } else if (is_handler(stop.former.handler)) {
        stop.former.handler(number, info, context);
    }
}

static unsigned count_arrived(void)
{
    return (uint32_t)atomic_load(&stop.arrived);
}

/* ---- which threads there are */

struct entry {
    uint64_t inode, offset;
    unsigned short bytes;
    unsigned char type;
    char name[];
};

static int number_of(const char *text)
{
    int number = 0;

    for (; *text >= '0' && *text <= '9'; text++)
        number = number * 10 + *text - '0';
    return *text ? 0 : number;
}

/* Calls @visit for each thread until it returns false. Returns what the last call returned. */
static bool for_each_thread(bool (*visit)(int tid, void *arg), void *arg)
{
    char buffer[2048] __attribute__((aligned(8)));
    bool goes_on = true;
    long n;

    FG_SYSCALL(SYS_lseek, stop.tasks, 0, SEEK_SET, 0, 0, 0);
    while (goes_on && (n = FG_SYSCALL(SYS_getdents64, stop.tasks, buffer, sizeof(buffer), 0, 0, 0)) > 0) {
        for (long at = 0; at < n && goes_on;) {
            const struct entry *entry = (const struct entry *)(buffer + at);
            int tid = number_of(entry->name);

            at += entry->bytes;
            if (tid)
                goes_on = visit(tid, arg);
        }
    }
    return goes_on;
}

static bool open_tasks(struct fg_native_refusal *refusal)
{
    stop.tasks =
        (int)FG_SYSCALL(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, 0, 0);
    return stop.tasks >= 0 || fg_native_refuse(refusal, "/proc/self/task cannot be read");
}

static void close_tasks(void)
{
    FG_SYSCALL(SYS_close, stop.tasks, 0, 0, 0, 0, 0);
    stop.tasks = -1;
}

static bool is_self(int tid, void *arg)
{
    return tid == *(const int *)arg;
}

bool fg_stop_is_alone(void)
{
    struct fg_native_refusal unused;
    int self = own_tid();
    bool is_alone;

    if (!open_tasks(&unused))
        return false;
    is_alone = for_each_thread(is_self, &self);
    close_tasks();
    return is_alone;
}

/* ---- stopping them */

static void pause_for(long ns)
{
    struct timespec time = {0, ns};

    FG_SYSCALL(SYS_nanosleep, &time, NULL, 0, 0, 0, 0);
}

static long now_ns(void)
{
    struct timespec time;

    FG_SYSCALL(SYS_clock_gettime, CLOCK_MONOTONIC, &time, 0, 0, 0, 0);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static long exchange_action(const struct kernel_action *action, struct kernel_action *old)
{
    return FG_SYSCALL(SYS_rt_sigaction, STOP_SIGNAL, action, old, sizeof(action->mask), 0, 0);
}

/* The C library sets its own action when a program gets its second thread: perhaps after ours. */
static bool handle_signal(struct fg_native_refusal *refusal)
{
    struct kernel_action action = {
        .handler = handle,
        .flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK | SA_RESTORER_FLAG,
        .restorer = fg_machine_end_handler,
        .mask = UINT64_MAX,
    };
    struct kernel_action now;

    if (exchange_action(NULL, &now) == 0 && now.handler == handle)
        return true;
    stop.former = now; /* before a signal can find our handler */
    atomic_signal_fence(memory_order_seq_cst);
    return exchange_action(&action, NULL) == 0 ||
           fg_native_refuse(refusal, "this kernel does not let signal %d be handled", STOP_SIGNAL);
}

static long send(int pid, int tid)
{
    siginfo_t info;

    for (size_t i = 0; i < sizeof(info); i++)
        ((volatile char *)&info)[i] = 0; /* not by memset(), a function of the C library */
    info.si_signo = STOP_SIGNAL;
    info.si_code = SI_QUEUE;
    info.si_value.sival_ptr = &stop;
    return FG_SYSCALL(SYS_rt_tgsigqueueinfo, pid, tid, STOP_SIGNAL, &info, 0, 0);
}

static bool has_arrived(int tid)
{
    unsigned n = count_arrived();

    for (unsigned i = 0; i < n; i++) {
        if (atomic_load_explicit(&stop.threads[i].tid, memory_order_acquire) == tid)
            return true;
    }
    return false;
}

/* The threads that got the signal. */
struct round {
    int self, pid;
    int sent[MAX_THREADS];
    unsigned n;
    int missing; /* one that has not arrived; 0: all have */
    int watched; /* the one that was late, and how long it had run then */
    uint64_t run_ns;
};

static bool was_sent(const struct round *round, int tid)
{
    for (unsigned i = 0; i < round->n; i++) {
        if (round->sent[i] == tid)
            return true;
    }
    return false;
}

static bool look_at(int tid, void *arg)
{
    struct round *round = arg;

    if (tid == round->self || has_arrived(tid))
        return true;
    if (!was_sent(round, tid) && round->n < MAX_THREADS) {
        long error = send(round->pid, tid);

        if (error == -ESRCH)
            return true; /* a thread that has just ended */
        if (error == 0)
            round->sent[round->n++] = tid;
    }
    round->missing = tid;
    return true;
}

/* Reads a file of a thread's folder; returns how many bytes. */
static size_t read_file(int tid, const char *name, char *text, size_t bytes)
{
    char path[32], digits[12];
    size_t n = 0, at = 0;
    long got, fd;

    do {
        digits[n++] = (char)('0' + tid % 10);
    } while ((tid /= 10) > 0);
    while (n > 0)
        path[at++] = digits[--n];
    for (path[at++] = '/'; *name; name++)
        path[at++] = *name;
    path[at] = 0;
    fd = FG_SYSCALL(SYS_openat, stop.tasks, path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    if (fd < 0)
        return 0;
    got = FG_SYSCALL(SYS_read, fd, text, bytes, 0, 0, 0);
    FG_SYSCALL(SYS_close, fd, 0, 0, 0, 0, 0);
    return got > 0 ? (size_t)got : 0;
}

/* The state of a thread, as ps(1) has it; 0: there is none. */
static char state_of(int tid)
{
    char text[512];
    size_t n = read_file(tid, "stat", text, sizeof(text));

    while (n > 0 && text[n - 1] != ')')
        n--;
    return n > 0 ? text[n + 1] : 0;
}

/* How long a thread has run, in ns. */
static uint64_t run_time_of(int tid)
{
    char text[64];
    size_t n = read_file(tid, "schedstat", text, sizeof(text));
    uint64_t ns = 0;

    for (size_t at = 0; at < n && text[at] >= '0' && text[at] <= '9'; at++)
        ns = ns * 10 + (uint64_t)(text[at] - '0');
    return ns;
}

/* A process whose main thread has ended keeps it in the list. */
static bool has_ended(int pid, int tid)
{
    return tid == pid && state_of(tid) == 'Z';
}

/* True if the thread waits for a processor: it may be about to end, or to unblock its signals, and others
 * keep it from that. One that blocks the signal and runs is soon told from it. */
static bool is_starved(struct round *round, int tid)
{
    uint64_t ns = run_time_of(tid);

    if (round->watched != tid || atomic_exchange(&stop.latecomer, 0) == tid) {
        round->watched = tid;
        round->run_ns = ns;
    }
    return state_of(tid) == 'R' && ns - round->run_ns < MOST_RUN_NS;
}

static bool refuse_thread(struct fg_native_refusal *refusal, int tid)
{
    char name[NAME_BYTES + 1];
    size_t n = read_file(tid, "comm", name, NAME_BYTES);

    while (n > 0 && name[n - 1] == '\n')
        n--;
    for (size_t i = 0; i < n; i++) {
        if (name[i] < ' ' || name[i] > '~') /* a name may have any bytes */
            name[i] = '?';
    }
    return fg_native_refuse(refusal,
                            "thread %d (%.*s) cannot be stopped: it blocks signal %d or waits in the kernel",
                            tid, (int)n, name, STOP_SIGNAL);
}

static struct round the_round; /* too large for the stack of a thread */

/* Returns a thread that has not stopped within this time; 0: all have. */
static int stop_all(struct round *round, long patience_ns)
{
    long begin = now_ns(), pause = SHORTEST_PAUSE_NS;

    round->n = 0;
    for (;;) {
        round->missing = 0;
        for_each_thread(look_at, round);
        if (!round->missing || has_ended(round->pid, round->missing))
            return 0;
        if (round->n == MAX_THREADS || now_ns() - begin > patience_ns)
            return round->missing;
        pause_for(pause);
        pause = pause < LONGEST_PAUSE_NS ? 2 * pause : pause;
    }
}

/* Threads of the stop before leave the handler when they get a processor. */
static bool wait_for_late_ones(struct fg_native_refusal *refusal)
{
    long until = now_ns() + FG_PATIENCE_STARVED_NS;

    while (atomic_load(&stop.inside)) {
        if (now_ns() > until)
            return fg_native_refuse(refusal, "a thread does not go on after the stop before");
        pause_for(SHORTEST_PAUSE_NS);
    }
    return true;
}

void fg_stop_fork_child(void)
{
    atomic_store(&stop.inside, 0);
    atomic_store(&stop.latecomer, 0);
}

static void go_on(void)
{
    atomic_store(&stop.now, 0);
    FG_SYSCALL(SYS_futex, &stop.now, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void begin_stop(void)
{
    for (unsigned i = count_arrived(); i-- > 0;)
        atomic_store(&stop.threads[i].tid, 0);
    stop.latest += stop.latest == UINT32_MAX ? 2 : 1; /* 0 is none */
    atomic_store(&stop.arrived, (uint64_t)stop.latest << 32);
    atomic_store(&stop.now, stop.latest);
}

/* Tries until all threads have stopped. */
static bool stop_with_patience(struct fg_native_refusal *refusal)
{
    struct fg_patience patience = fg_patience_begin();
    struct round *round = &the_round;
    long run_ns;

    round->self = own_tid();
    round->pid = (int)FG_SYSCALL(SYS_getpid, 0, 0, 0, 0, 0, 0);
    round->watched = 0;
    for (;;) {
        if (!wait_for_late_ones(refusal))
            return false;
        begin_stop();
        if (!stop_all(round, patience.try_ns))
            return true;
        go_on();
        if (round->n == MAX_THREADS ||
            !fg_patience_next(&patience, is_starved(round, round->missing), &run_ns))
            return refuse_thread(refusal, round->missing);
        pause_for(run_ns);
    }
}

bool fg_stop_begin(struct fg_native_refusal *refusal)
{
    bool is_stopped;

    if (!open_tasks(refusal))
        return false;
    is_stopped = handle_signal(refusal) && stop_with_patience(refusal);
    if (!is_stopped)
        close_tasks();
    return is_stopped;
}

void fg_stop_end(void)
{
    go_on();
    close_tasks();
}

/* ---- where they are */

static struct fg_stop_range *find_range(struct fg_stop_range *ranges, size_t n, uintptr_t address)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (ranges[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && address >= ranges[low].begin ? &ranges[low] : NULL;
}

static void mark(struct fg_stop_range *ranges, size_t n, uintptr_t address)
{
    struct fg_stop_range *range = find_range(ranges, n, address);

    if (range)
        range->is_busy = true;
}

/* A handler of a signal that runs in the thread returns to an address in the context on its stack. Other
 * words there that look like addresses mean nothing. */
static void mark_stack(struct fg_stop_range *ranges, size_t n, uintptr_t stack,
                       const struct fg_code_writer *memory)
{
    static uintptr_t words[4096 / sizeof(uintptr_t)]; /* one thread at a time changes code */
    size_t got, bytes;

    for (uintptr_t at = stack; at < stack + STACK_BYTES; at += bytes) {
        bytes = sizeof(words) - at % sizeof(words); /* up to the end of a page */
        got = fg_code_read(memory, at, words, bytes);
        for (size_t i = 0; i < got / sizeof(words[0]); i++) {
            struct fg_stop_range *range = find_range(ranges, n, words[i]);
            uintptr_t mark;

            if (range && fg_code_read(memory, at + i * sizeof(mark) + fg_machine_context_mark_offset, &mark,
                                      sizeof(mark)) == sizeof(mark))
                range->is_busy |= fg_machine_is_context_mark(mark);
        }
        if (got < bytes)
            return;
    }
}

void fg_stop_mark_own(struct fg_stop_range *ranges, size_t n, const struct fg_code_writer *memory)
{
    mark_stack(ranges, n, (uintptr_t)__builtin_frame_address(0), memory);
}

void fg_stop_mark_busy(struct fg_stop_range *ranges, size_t n, const struct fg_code_writer *memory)
{
    unsigned threads = count_arrived();

    for (unsigned i = 0; i < threads; i++) {
        const void *context = stop.threads[i].context;

        mark(ranges, n, fg_machine_pc(context));
        mark_stack(ranges, n, fg_machine_sp(context), memory);
    }
    fg_stop_mark_own(ranges, n, memory);
}
