#include "inject/place.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "inject/fifo.h"

#define SYSCALL_BYTES 2 /* the instruction */
#define SCAN_BYTES ((size_t)128 << 10)
#define DEEP_SCAN_BYTES ((size_t)1 << 20)

/* What a system call returns inside the kernel if it is to be made again (include/linux/errno.h of the
 * kernel). */
enum {
    RESTART = 512,
    RESTART_NOINTR = 513,
    RESTART_NOHAND = 514,
    RESTART_BLOCK = 516,
};

/* System calls that wait for somebody else, and that neither malloc() nor the loader wait in. */
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

static bool is_waiting_call(const struct fg_thread *thread)
{
    const struct user_regs_struct *regs = &thread->regs;
    size_t i;

    if ((long)regs->orig_rax == SYS_futex)
        return waits_for_futex(regs);
    for (i = 0; i < sizeof(waiting_calls) / sizeof(waiting_calls[0]); i++) {
        if ((long)regs->orig_rax == waiting_calls[i])
            return true;
    }
    return fg_opens_fifo(thread);
}

/* Whether the system call slept when the thread was stopped: one that did not has a result, or another error.
 * */
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

/* Return: whether the frame that the kernel puts on the stack for a handler begins at words[0]. A return
 * address that a handler of before has left there has no such frame above it any longer, or a fitting one:
 * then the answer errs on the safe side. See struct rt_sigframe in the kernel's
 * arch/x86/include/asm/sigframe.h. */
static bool is_signal_frame(const uint64_t *words, uint64_t address)
{
    enum { LINK = 2, REGISTERS = 6, RSP = REGISTERS + 15, SEGMENTS = REGISTERS + 18 };

    return words[LINK] == 0 && (words[SEGMENTS] & 0xffff) == 0x33 && words[RSP] > address;
}

enum { FRAME_WORDS = 32 };
enum { NEAR_WORDS = 512 }; /* more than functions that lock have on the stack */

static bool is_closed(const struct fg_places *places, uint64_t address)
{
    size_t i;

    for (i = 0; i < places->nr_closed; i++) {
        if (in(places->closed[i], address))
            return true;
    }
    return false;
}

/* What the stack of a thread says. */
struct stack_facts {
    bool in_handler, called_by_python;
    bool near_closed; /* a closed function may be among the latest callers */
    bool in_loader;   /* the loader may be among them */
};

static struct stack_facts read_stack(const struct fg_thread *thread, const struct fg_places *places)
{
    struct stack_facts facts = {.in_handler = true};
    uint64_t *words = malloc(SCAN_BYTES);
    size_t i, count;
    ssize_t got;

    if (words == NULL)
        return facts;
    got = fg_thread_read(thread, thread->regs.rsp, words, SCAN_BYTES);
    count = got < 0 ? 0 : (size_t)got / sizeof(*words);
    facts.in_handler = got < 0;
    for (i = 0; i < count; i++) {
        facts.called_by_python |= in(places->python, words[i]);
        if (i < NEAR_WORDS) {
            facts.near_closed |= is_closed(places, words[i]);
            facts.in_loader |= in(places->loader, words[i]);
        }
        if (words[i] == places->signal_return && i + FRAME_WORDS <= count)
            facts.in_handler |= is_signal_frame(words + i, thread->regs.rsp + i * sizeof(*words));
    }
    free(words);
    return facts;
}

/* The main thread's stack grows when it is touched. */
static bool has_room(const struct fg_thread *thread, size_t room_bytes)
{
    uint64_t word;

    return fg_thread_read(thread, thread->regs.rsp - room_bytes, &word, sizeof(word)) == sizeof(word);
}

/* Return: the place by the registers alone. */
static enum fg_place by_registers(const struct fg_thread *thread, const struct fg_places *places)
{
    const struct user_regs_struct *regs = &thread->regs;

    if ((long)regs->orig_rax >= 0) {
        bool waits = is_waiting_call(thread) && was_waiting(regs) && !in(places->loader, regs->rip);

        return waits ? FG_PLACE_WAITS : FG_PLACE_KERNEL;
    }
    return is_closed(places, regs->rip) ? FG_PLACE_CODE : FG_PLACE_QUEUES;
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
        return state == LOCK_FREE && !facts->in_loader;
    return in(places->loop, thread->regs.rip) ||
           (!in(places->python, thread->regs.rip) && !facts->near_closed && !facts->in_loader);
}

enum fg_place fg_place_of(const struct fg_thread *thread, const struct fg_places *places, size_t room_bytes)
{
    enum fg_place place = by_registers(thread, places);
    struct stack_facts facts;

    if (place != FG_PLACE_WAITS && place != FG_PLACE_QUEUES)
        return place;
    facts = read_stack(thread, places);
    if (facts.in_handler)
        return FG_PLACE_HANDLER;
    if (place == FG_PLACE_WAITS && !facts.called_by_python)
        return FG_PLACE_FOREIGN;
    if (place == FG_PLACE_QUEUES && !can_queue(thread, places, &facts))
        return FG_PLACE_CODE;
    return has_room(thread, room_bytes) ? place : FG_PLACE_NO_ROOM;
}

const char *fg_place_name(enum fg_place place)
{
    static const char *const names[] = {
        [FG_PLACE_WAITS] = "waits",     [FG_PLACE_QUEUES] = "queues", [FG_PLACE_HANDLER] = "handler",
        [FG_PLACE_FOREIGN] = "foreign", [FG_PLACE_KERNEL] = "kernel", [FG_PLACE_CODE] = "code",
        [FG_PLACE_NO_ROOM] = "no room", [FG_PLACE_TAKEN] = "taken",
    };

    return names[place];
}

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
