/* What of the processor's state the slow path of a hook has to save, and system calls. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "arch/native/machine.h"
#include "arch/native/x86_64/layout.h"

/* Components of the state that C code may change: x87, SSE, AVX, and the three of AVX-512. */
#define COMPONENTS 0xe7u
#define LEGACY_BYTES 576u /* the first two components, and the header */

uint64_t fg_x86_64_save_bytes __attribute__((visibility("hidden")));
uint32_t fg_x86_64_save_mask __attribute__((visibility("hidden")));
bool fg_x86_64_has_xsavec __attribute__((visibility("hidden")));
/* Components that are not in use are not saved. One that is afterwards gets its initial state from here: an
 * area of XSAVE that has none of them. */
bool fg_x86_64_saves_by_moves __attribute__((visibility("hidden")));
const uint8_t fg_x86_64_initial_state[LEGACY_BYTES] __attribute__((visibility("hidden"), aligned(64)));

static uint32_t enabled_components(void)
{
    uint32_t low, high;

    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low & COMPONENTS;
}

/* The room that the components need in the order of XSAVE, of which that of XSAVEC is never longer. */
static uint32_t save_bytes(uint32_t mask)
{
    uint32_t most = LEGACY_BYTES, size, offset, c, d;

    for (uint32_t i = 2; i < 8; i++) {
        if (!(mask & 1u << i) || !__get_cpuid_count(0xd, i, &size, &offset, &c, &d))
            continue;
        if (offset + size > most)
            most = offset + size;
    }
    return most;
}

/* True if entry.S has moves for all components, and the processor says which are in use (XGETBV with
 * ecx = 1). The masks of AVX-512 have 64 bits if it has instructions for bytes and words. */
static bool can_move(uint32_t mask)
{
    const uint32_t avx512 = FG_STATE_MASKS | FG_STATE_AVX512 | FG_STATE_AVX512H;
    uint32_t a, b, c, d;

    if (!__get_cpuid_count(0xd, 1, &a, &b, &c, &d) || !(a & 4) || !(mask & FG_STATE_AVX))
        return false;
    if (!(mask & avx512))
        return true;
    return (mask & avx512) == avx512 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX512BW);
}

static uint32_t moved_bytes(uint32_t mask)
{
    return mask & FG_STATE_AVX512 ? FG_SAVED_BYTES_AVX512 : FG_SAVED_BYTES_AVX;
}

const char *fg_machine_refusal(void)
{
    uint32_t a, b, c, d;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
        return "the processor has no XSAVE";
    fg_x86_64_save_mask = enabled_components();
    fg_x86_64_save_bytes = save_bytes(fg_x86_64_save_mask);
    fg_x86_64_saves_by_moves = can_move(fg_x86_64_save_mask);
    if (fg_x86_64_saves_by_moves && fg_x86_64_save_bytes < moved_bytes(fg_x86_64_save_mask))
        fg_x86_64_save_bytes = moved_bytes(fg_x86_64_save_mask);
    if (__get_cpuid_count(0xd, 1, &a, &b, &c, &d))
        fg_x86_64_has_xsavec = a & 2;
    return NULL;
}

bool fg_machine_has_shadow_stack(void)
{
    enum { ARCH_SHSTK_STATUS = 0x5005, ARCH_SHSTK_SHSTK = 1 };
    unsigned long features = 0;

    return fg_machine_syscall(SYS_arch_prctl, ARCH_SHSTK_STATUS, (long)&features, 0, 0, 0, 0) == 0 &&
           (features & ARCH_SHSTK_SHSTK);
}

long fg_machine_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

uintptr_t fg_machine_pc(const void *context)
{
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
}

uintptr_t fg_machine_sp(const void *context)
{
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
}

const ptrdiff_t fg_machine_context_mark_offset = (REG_CSGSFS - REG_RIP) * (ptrdiff_t)sizeof(greg_t);

bool fg_machine_is_context_mark(uintptr_t word)
{
    enum { USER_CODE = 0x33 }; /* cs of 64-bit code, in the lowest 16 bits */

    return (word & 0xffff) == USER_CODE;
}
