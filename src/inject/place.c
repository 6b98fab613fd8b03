/* See place.h. */
#include "inject/place.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "inject/unwind/stack.h"

#define SYSCALL_BYTES 2 /* the instruction */
#define DEEP_SCAN_BYTES ((size_t)1 << 20)

/* What a system call returns inside the kernel if it is to be made again (include/linux/errno.h of the
 * kernel). */
enum {
    RESTART = 512,
    RESTART_NOINTR = 513,
    RESTART_NOHAND = 514,
    RESTART_BLOCK = 516,
};

/* System calls that wait for somebody else. open() does so for the other end of a FIFO. The loader opens
 * files, too: whether it has called is seen on the stack. */
static const long waiting_calls[] = {
    SYS_accept,
    SYS_accept4,
    SYS_clock_nanosleep,
    SYS_epoll_pwait,
    SYS_epoll_pwait2,
    SYS_epoll_wait,
    SYS_fcntl,
    SYS_flock,
    SYS_nanosleep,
    SYS_open,
    SYS_openat,
    SYS_pause,
    SYS_poll,
    SYS_ppoll,
    SYS_pread64,
    SYS_preadv,
    SYS_pselect6,
    SYS_read,
    SYS_readv,
    SYS_recvfrom,
    SYS_recvmmsg,
    SYS_recvmsg,
    SYS_restart_syscall,
    SYS_rt_sigsuspend,
    SYS_rt_sigtimedwait,
    SYS_select,
    SYS_sendmsg,
    SYS_sendto,
    SYS_wait4,
    SYS_waitid,
    SYS_write,
    SYS_writev,
};

static bool in(struct fg_range range, uint64_t address)
{
    return address >= range.low && address < range.high;
}

/* Locks inside the C library wait with FUTEX_WAIT; semaphores, condition variables and joins do with the call
 * that takes a time on the clock (glibc, nptl/futex-internal.c and sysdeps/nptl/lowlevellock.h). */
static bool waits_for_futex(const struct user_regs_struct *regs)
{
    return (regs->rsi & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
}

static bool is_waiting_call(const struct user_regs_struct *regs)
{
    size_t i;

    if ((long)regs->orig_rax == SYS_futex)
        return waits_for_futex(regs);
    for (i = 0; i < sizeof(waiting_calls) / sizeof(waiting_calls[0]); i++) {
        if ((long)regs->orig_rax == waiting_calls[i])
            return true;
    }
    return false;
}

/* Whether the system call slept when the thread was stopped: one that did not has a result, or another error.
 */
static bool was_waiting(const struct user_regs_struct *regs)
{
    switch (-(long)regs->rax) {
    case RESTART:
    case RESTART_NOINTR:
    case RESTART_NOHAND:
    case RESTART_BLOCK:
    case EINTR:
        return true;
    default:
        return false;
    }
}

/* ---- the functions that the thread is in */

/* What they say. */
struct stack_facts {
    bool in_handler;
    bool in_python;    /* the interpreter has called what the thread is in */
    bool in_loader;    /* or may be */
    bool in_allocator; /* surely */
    bool may_be_in_allocator;
    bool in_locking;     /* the loop has called a function that takes or releases locks, or may have */
    bool waits_for_lock; /* such a function has called the C library */
    bool is_past_loop;
};

struct visit {
    const struct fg_places *places;
    struct stack_facts facts;
};

static bool is_in_any(const struct fg_ranges *ranges, uint64_t address)
{
    size_t i;

    for (i = 0; i < ranges->nr; i++) {
        if (in(ranges->ranges[i], address))
            return true;
    }
    return false;
}

/* Functions that lock call no Python code while they hold a lock, so callers of the loop do not matter. Of a
 * function that is only possible nobody knows whether it is one of these. */
static void visit_function(void *data, uint64_t place, enum fg_stack_find find)
{
    const struct fg_places *places = ((struct visit *)data)->places;
    struct stack_facts *facts = &((struct visit *)data)->facts;
    bool is_sure = find == FG_STACK_SURE;

    facts->in_loader |= is_in_any(&places->loader, place);
    if (is_in_any(&places->allocator, place))
        *(is_sure ? &facts->in_allocator : &facts->may_be_in_allocator) = true;
    if (is_sure && !facts->in_python && in(places->python, place))
        facts->waits_for_lock = is_in_any(&places->locking, place);
    facts->in_python |= in(places->python, place);
    facts->is_past_loop |= is_sure && is_in_any(&places->loop, place);
    facts->in_locking |= !facts->is_past_loop && is_in_any(&places->locking, place);
}

static ssize_t read_thread(const void *thread, uint64_t address, void *into, size_t bytes)
{
    return fg_thread_read(thread, address, into, bytes);
}

static struct stack_facts read_stack(const struct fg_thread *thread, const struct fg_places *places)
{
    struct visit visit = {.places = places};
    struct fg_memory memory;
    int error = fg_memory_open(&memory, read_thread, thread);

    if (error == 0)
        error = fg_stack_visit(&places->code, &memory, &thread->regs, visit_function, &visit);
    fg_memory_close(&memory);
    visit.facts.in_handler = error != 0; /* a stack that cannot be read is no better */
    return visit.facts;
}

static bool has_room(const struct fg_thread *thread, size_t room_bytes)
{
    uint64_t word, low = thread->regs.rsp - room_bytes;

    return fg_thread_read(thread, low, &word, sizeof(word)) == sizeof(word) ||
           (thread->tid == thread->process->pid && fg_stack_can_grow(thread->tid, thread->regs.rsp, low));
}

/* Return: the place by the registers alone. */
static enum fg_place by_registers(const struct user_regs_struct *regs, const struct fg_places *places)
{
    /* A thread whose system call has a result is about to go on in its code, as between any two instructions.
     * One that makes short calls without a pause is hardly ever found anywhere else. */
    if ((long)regs->orig_rax >= 0 && was_waiting(regs))
        return is_waiting_call(regs) ? FG_PLACE_WAITS : FG_PLACE_KERNEL;
    return is_in_any(&places->locking, regs->rip) ? FG_PLACE_CODE : FG_PLACE_QUEUES;
}

enum lock_state { LOCK_UNKNOWN, LOCK_FREE, LOCK_HELD };

static enum lock_state lock_state(const struct fg_thread *thread, const struct fg_places *places)
{
    uint32_t word;

    if (places->lock_kind == FG_LOCK_UNKNOWN ||
        fg_thread_read(thread, places->lock, &word, sizeof(word)) != sizeof(word))
        return LOCK_UNKNOWN;
    if (places->lock_kind == FG_LOCK_SEMAPHORE)
        return word == 1 ? LOCK_FREE : LOCK_HELD;
    return word & 1 ? LOCK_HELD : LOCK_FREE;
}

/* Return: whether a pending call can be queued. */
static bool can_queue(const struct fg_thread *thread, const struct fg_places *places,
                      const struct stack_facts *facts)
{
    enum lock_state state = lock_state(thread, places);

    if (state != LOCK_UNKNOWN)
        return state == LOCK_FREE;
    return is_in_any(&places->loop, thread->regs.rip) ||
           (!in(places->python, thread->regs.rip) && !facts->in_locking);
}

/* Return: the place, by the functions that the thread is in. One that is only possible counts where a mistake
 * would block the process: the loader always; the allocator for a new thread, which allocates, but not for a
 * pending call, which allocates only if it has to be bound first. */
static enum fg_place by_stack(const struct fg_thread *thread, const struct fg_places *places,
                              enum fg_place place)
{
    struct stack_facts facts = read_stack(thread, places);

    if (facts.in_handler)
        return FG_PLACE_HANDLER;
    if (facts.in_loader)
        return FG_PLACE_LOADER;
    if (facts.in_allocator || (facts.may_be_in_allocator && place == FG_PLACE_WAITS))
        return FG_PLACE_ALLOCATOR;
    if (place == FG_PLACE_WAITS && !facts.in_python)
        return FG_PLACE_FOREIGN;
    if (place == FG_PLACE_QUEUES && !can_queue(thread, places, &facts))
        return FG_PLACE_CODE;
    if (place == FG_PLACE_WAITS && facts.waits_for_lock && (long)thread->regs.orig_rax == SYS_futex)
        return FG_PLACE_LOCK;
    return place;
}

enum fg_place fg_place_of(const struct fg_thread *thread, const struct fg_places *places, size_t room_bytes)
{
    enum fg_place place = by_registers(&thread->regs, places);

    if (place == FG_PLACE_WAITS || place == FG_PLACE_QUEUES)
        place = by_stack(thread, places, place);
    if (place == FG_PLACE_WAITS || place == FG_PLACE_LOCK || place == FG_PLACE_QUEUES)
        return has_room(thread, room_bytes) ? place : FG_PLACE_NO_ROOM;
    return place;
}

const char *fg_place_name(enum fg_place place)
{
    static const char *const names[] = {
        [FG_PLACE_WAITS] = "waits",   [FG_PLACE_QUEUES] = "queues",       [FG_PLACE_HANDLER] = "handler",
        [FG_PLACE_LOADER] = "loader", [FG_PLACE_ALLOCATOR] = "allocator", [FG_PLACE_FOREIGN] = "foreign",
        [FG_PLACE_KERNEL] = "kernel", [FG_PLACE_CODE] = "code",           [FG_PLACE_NO_ROOM] = "no room",
        [FG_PLACE_TAKEN] = "taken",   [FG_PLACE_LOCK] = "lock",
    };

    return names[place];
}

/* Here the other mistake does harm: a thread that returns into a stub that is gone executes filler. So no
 * description of code is relied on, and each word counts that is an address of the range, far up the stack.
 * A dead one only delays the removal of the stub, and the stub clears its own. */
bool fg_place_is_inside(const struct fg_thread *thread, struct fg_range range, uint64_t entry)
{
    uint64_t *words;
    bool found = false;
    size_t i;
    ssize_t got;

    if (in(range, thread->regs.rip))
        return true;
    words = malloc(DEEP_SCAN_BYTES);
    if (words == NULL)
        return true;
    got = fg_thread_read(thread, thread->regs.rsp, words, DEEP_SCAN_BYTES);
    for (i = 0; got > 0 && i < (size_t)got / sizeof(*words) && !found; i++)
        found = in(range, words[i]) && words[i] != entry;
    free(words);
    return found || got < 0;
}

void fg_place_resume(const struct fg_thread *thread, uint64_t *rip, uint64_t *rax, uint64_t *eintr_rip)
{
    const struct user_regs_struct *regs = &thread->regs;

    *rip = regs->rip;
    *rax = regs->rax;
    *eintr_rip = 0;
    if ((long)regs->orig_rax < 0 || !was_waiting(regs) || -(long)regs->rax == EINTR)
        return;
    *rip = regs->rip - SYSCALL_BYTES;
    *rax = -(long)regs->rax == RESTART_BLOCK ? (uint64_t)SYS_restart_syscall : regs->orig_rax;
    *eintr_rip = regs->rip;
}
