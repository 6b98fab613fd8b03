/* See bus_guard.h. */
#define _GNU_SOURCE
#include "engine/reader/bus_guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "engine/core/mutex.h"

#define BLOCK_GUARDS 64u

struct fg_bus_guard {
    _Atomic uintptr_t begin; /* 0: the guard is free */
    _Atomic size_t bytes;
    _Atomic bool is_hit;
};

/* Blocks are never freed: the handler walks them without a lock, in any thread. */
struct block {
    struct fg_bus_guard guards[BLOCK_GUARDS];
    struct block *next; /* set before the block is published */
};

/* Signal handlers belong to the process, so do these. All but `blocks` are under the lock. `former` is
 * written while the handler is not installed. */
static _Atomic(struct block *) blocks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned nr_guards;
static bool is_installed;
static struct sigaction former;

/* A thread that begins or ends another guard races here. Ours is the faulting thread's own: its values are
 * stable. Of any other, begin is set last and cleared first, and live mappings do not overlap. */
static bool covers(const struct fg_bus_guard *guard, uintptr_t address)
{
    uintptr_t begin = atomic_load_explicit(&guard->begin, memory_order_acquire);

    return begin && address >= begin && address - begin < atomic_load(&guard->bytes);
}

static struct fg_bus_guard *find(uintptr_t address)
{
    for (struct block *block = atomic_load(&blocks); block; block = block->next)
        for (unsigned i = 0; i < BLOCK_GUARDS; i++)
            if (covers(&block->guards[i], address))
                return &block->guards[i];
    return NULL;
}

/* mmap(2) is only a system call, so it may be made in a signal handler. */
static bool replace_by_zeros(uintptr_t address)
{
    struct fg_bus_guard *guard = find(address);
    void *begin;

    if (!guard)
        return false;
    begin = (void *)atomic_load(&guard->begin);
    if (mmap(begin, atomic_load(&guard->bytes), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
        return false;
    atomic_store(&guard->is_hit, true);
    return true;
}

/* The default action is taken when this handler returns and unblocks the signal. */
static void die(int number)
{
    const struct sigaction action = {.sa_handler = SIG_DFL};

    sigaction(number, &action, NULL);
    raise(number);
}

/* An error of the machine or of an access cannot be ignored: the access would be repeated for ever. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    if (former.sa_flags & SA_SIGINFO)
        former.sa_sigaction(number, info, context);
    else if (former.sa_handler == SIG_DFL || (former.sa_handler == SIG_IGN && info->si_code > 0))
        die(number);
    else if (former.sa_handler != SIG_IGN)
        former.sa_handler(number);
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    int error = errno;
    bool is_ours = info->si_code == BUS_ADRERR && replace_by_zeros((uintptr_t)info->si_addr);

    errno = error;
    if (!is_ours)
        pass_on(number, info, context);
}

static bool is_our_handler(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_bus_error;
}

/* SA_NODEFER: the former handler may access a mapping, too. */
static void install_locked(void)
{
    struct sigaction action = {.sa_sigaction = on_bus_error,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART};

    sigemptyset(&action.sa_mask);
    if (is_installed || sigaction(SIGBUS, NULL, &former) != 0)
        return;
    is_installed = sigaction(SIGBUS, &action, NULL) == 0;
}

/* A handler that the program has set since then may call ours. Ours then stays as it is: installed again,
 * each would call the other. */
static void uninstall_locked(void)
{
    struct sigaction current;

    if (is_installed && sigaction(SIGBUS, NULL, &current) == 0 && is_our_handler(&current))
        is_installed = sigaction(SIGBUS, &former, NULL) != 0;
}

static struct fg_bus_guard *find_free_locked(void)
{
    struct block *block;

    for (block = atomic_load(&blocks); block; block = block->next)
        for (unsigned i = 0; i < BLOCK_GUARDS; i++)
            if (!atomic_load(&block->guards[i].begin))
                return &block->guards[i];
    block = calloc(1, sizeof(*block));
    if (!block)
        return NULL;
    block->next = atomic_load(&blocks);
    atomic_store(&blocks, block);
    return &block->guards[0];
}

struct fg_bus_guard *fg_bus_guard_begin(void *mapping, size_t bytes)
{
    struct fg_bus_guard *guard;

    fg_mutex_lock(&lock);
    guard = find_free_locked();
    if (guard) {
        atomic_store(&guard->is_hit, false);
        atomic_store(&guard->bytes, bytes);
        /* release: a handler that sees the beginning sees the length */
        atomic_store_explicit(&guard->begin, (uintptr_t)mapping, memory_order_release);
        nr_guards++;
        install_locked();
    }
    fg_mutex_unlock(&lock);
    return guard;
}

bool fg_bus_guard_is_hit(const struct fg_bus_guard *guard)
{
    return atomic_load(&guard->is_hit);
}

void fg_bus_guard_end(struct fg_bus_guard *guard)
{
    if (!guard)
        return;
    fg_mutex_lock(&lock);
    atomic_store(&guard->begin, 0);
    if (--nr_guards == 0)
        uninstall_locked();
    fg_mutex_unlock(&lock);
}
