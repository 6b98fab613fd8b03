#include "inject/lock_wait.h"

#include <sys/syscall.h>

enum { NEAR_WORDS = 512 }; /* more than the C library has on the stack while it waits */

static bool is_of_lock(const struct fg_places *places, uint64_t address)
{
    size_t i;

    for (i = 0; i < places->nr_closed; i++) {
        if (fg_range_has(places->closed[i], address))
            return true;
    }
    return false;
}

bool fg_waits_for_lock(const struct fg_thread *thread, const struct fg_places *places)
{
    uint64_t words[NEAR_WORDS];
    ssize_t got;
    size_t i;

    if ((long)thread->regs.orig_rax != SYS_futex)
        return false;
    got = fg_thread_read(thread, thread->regs.rsp, words, sizeof(words));
    for (i = 0; got > 0 && i < (size_t)got / sizeof(*words); i++) {
        if (fg_range_has(places->python, words[i]))
            return is_of_lock(places, words[i]); /* the C library's caller */
    }
    return false;
}
