/* Changes to a word that only one thread writes, its signal handlers included. A handler may interrupt the
 * thread at any instruction, so each change is one instruction: neither side loses the other's. Other
 * threads only read, so on x86 it needs no lock prefix. */
#ifndef FG_LOCAL_H
#define FG_LOCAL_H

#include <stdatomic.h>
#include <stdint.h>

#include "engine/base/compiler.h"

#if defined(__x86_64__) && !defined(FG_TSAN)
#define FG_LOCAL(instruction, word, operand)                                                                 \
    __asm__ volatile(instruction " %1, %0"                                                                   \
                     : "+m"(*(uint64_t *)(word))                                                             \
                     : "er"((uint64_t)(operand))                                                             \
                     : "memory", "cc")
#endif

/* Stores before it in program order are visible to a thread that sees the sum (release). */
static inline void fg_local_add(_Atomic uint64_t *word, uint64_t n)
{
#ifdef FG_LOCAL
    FG_LOCAL("addq", word, n);
#else
    atomic_fetch_add_explicit(word, n, memory_order_release);
#endif
}

/* Orders nothing; under ThreadSanitizer, which knows no heavy fence, everything (task.h, the guard). */
static inline void fg_local_set(_Atomic uint64_t *word, uint64_t bits)
{
#ifdef FG_LOCAL
    FG_LOCAL("orq", word, bits);
#else
    atomic_fetch_or_explicit(word, bits, memory_order_seq_cst);
#endif
}

static inline void fg_local_clear(_Atomic uint64_t *word, uint64_t bits)
{
#ifdef FG_LOCAL
    FG_LOCAL("andq", word, ~bits);
#else
    atomic_fetch_and_explicit(word, ~bits, memory_order_release);
#endif
}

#endif
