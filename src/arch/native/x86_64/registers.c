/* Words of a call in the registers that the hook saves: System V calling convention (x86-64 psABI, 3.2.3).
 * Compiled without vector registers: handlers on the fast path call it while the program's are in them. */
#include <string.h>

#include "arch/native/machine.h"
#include "arch/native/x86_64/layout.h"

/* From the saved registers to the stack pointer (entry.S), by the point. */
static const uint32_t stack_pointer_words[] = {
    [FG_NATIVE_ENTRY] = 11, [FG_NATIVE_RETURN] = 12, [FG_NATIVE_PLACE] = 33};
#define R11_AT_ENTRY 10u              /* counted in the same way */
#define COMPUTED_FLAGS 0x8d5u         /* carry, parity, adjust, zero, sign, overflow */
#define NO_SYSTEM_CALL (~(uint64_t)0) /* as the kernel has it in `orig_ax` */
#define XMM_AT 160u                   /* XSAVE, legacy region (Intel SDM volume 1, 13.4.1) */
#define XMM_BYTES 16u
#define XSTATE_BV_AT 512u
#define XSTATE_SSE 2u

/* As entry.S pushes them. */
struct fg_machine_registers {
    uint64_t own; /* of the hook: the trampoline at an entry; else r11 */
    uint64_t r10, r9, r8, di, si, dx, cx, ax;
};

/* Registers that a function keeps for its caller, and the flags: after those at a place, before them on the
 * slow path of an entry and a return. */
struct kept_registers {
    uint64_t bx, bp, r12, r13, r14, r15, flags;
};

/* In the order of the numbers of FG_WORD_REGISTER. */
const char *const fg_machine_register_names[] = {
    "ax",   "cx",   "dx",   "si",   "di",   "r8",   "r9",   "r10",   /* as saved() has them */
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",  /* as xmm() */
    "bx",   "bp",   "r11",  "r12",  "r13",  "r14",  "r15",  "flags", /* as at_place() */
    NULL};
#define NR_SAVED 8u
#define NR_XMM 8u
#define NR_AT_PLACE 8u

const uint32_t fg_machine_place_registers = NR_AT_PLACE;

/* As definitions of events count them. */
const char fg_machine_argument_names[] = "arg1,arg2,arg3,arg4,arg5,arg6";

static uint64_t stack_pointer(const struct fg_machine_registers *registers, enum fg_native_point point)
{
    return (uintptr_t)((const uint64_t *)registers + stack_pointer_words[point]);
}

static bool pick(const uint64_t *const words[], uint32_t nr_words, uint32_t n, uint64_t *out)
{
    if (n >= nr_words)
        return false;
    *out = *words[n];
    return true;
}

static bool argument(const struct fg_machine_registers *r, uint32_t n, uint64_t *out)
{
    const uint64_t *const words[] = {&r->di, &r->si, &r->dx, &r->cx, &r->r8, &r->r9};

    return pick(words, 6, n, out);
}

static bool argument_at(const struct fg_machine_registers *registers, uint32_t n, uint64_t *out)
{
    if (n < 6)
        return false;
    *out = stack_pointer(registers, FG_NATIVE_ENTRY) + (n - 6 + 1) * sizeof(uint64_t);
    return true;
}

static bool result(const struct fg_machine_registers *r, uint32_t n, uint64_t *out)
{
    const uint64_t *const words[] = {&r->ax, &r->dx};

    return pick(words, 2, n, out);
}

static bool saved(const struct fg_machine_registers *r, uint32_t n, uint64_t *out)
{
    const uint64_t *const words[] = {&r->ax, &r->cx, &r->dx, &r->si, &r->di, &r->r8, &r->r9, &r->r10};

    return pick(words, NR_SAVED, n, out);
}

/* The lower half of a vector register, as it is now. */
static uint64_t xmm_now(uint32_t n)
{
    uint64_t low = 0;

#define CASE(number)                                                                                         \
    case number:                                                                                             \
        __asm__ volatile("movq %%xmm" #number ", %0" : "=r"(low));                                           \
        break
    switch (n) {
        CASE(0);
        CASE(1);
        CASE(2);
        CASE(3);
        CASE(4);
        CASE(5);
        CASE(6);
        CASE(7);
    }
#undef CASE
    return low;
}

/* XSAVE does not write a component that is in its initial state: zeros. */
static bool xmm(const uint8_t *vectors, uint32_t nr_registers, uint32_t n, uint64_t *out)
{
    uint64_t components;

    if (n >= nr_registers)
        return false;
    if (!vectors) {
        *out = xmm_now(n);
        return true;
    }
    if ((uintptr_t)vectors & FG_SAVED_BY_MOVES) {
        memcpy(out, vectors - FG_SAVED_BY_MOVES + FG_SAVED_REGISTER(n), sizeof(*out));
        return true;
    }
    memcpy(&components, vectors + XSTATE_BV_AT, sizeof(components));
    *out = 0;
    if (components & XSTATE_SSE)
        memcpy(out, vectors + XMM_AT + n * XMM_BYTES, sizeof(*out));
    return true;
}

static const struct kept_registers *kept(const struct fg_machine_registers *registers,
                                         enum fg_native_point point)
{
    return point == FG_NATIVE_PLACE ? (const struct kept_registers *)(registers + 1)
                                    : (const struct kept_registers *)registers - 1;
}

static bool at_place(const struct fg_machine_registers *registers, uint32_t n, uint64_t *out)
{
    const struct kept_registers *r = kept(registers, FG_NATIVE_PLACE);
    const uint64_t *const words[] = {&r->bx,  &r->bp,  &registers->own, &r->r12,
                                     &r->r13, &r->r14, &r->r15,         &r->flags};

    return pick(words, NR_AT_PLACE, n, out);
}

/* A register that definitions name. */
static bool named(const struct fg_machine_registers *registers, const void *vectors,
                  enum fg_native_point point, uint32_t n, uint64_t *out)
{
    if (n < NR_SAVED)
        return saved(registers, n, out);
    if (n < NR_SAVED + NR_XMM)
        return xmm(vectors, NR_XMM, n - NR_SAVED, out);
    return point == FG_NATIVE_PLACE && at_place(registers, n - NR_SAVED - NR_XMM, out);
}

/* The hook computes before it saves the flags of an entry or a return. What it changes, no calling convention
 * hands over (psABI, 3.2.1). */
static uint64_t flags_of(const struct kept_registers *r, enum fg_native_point point)
{
    return point == FG_NATIVE_PLACE ? r->flags : r->flags & ~(uint64_t)COMPUTED_FLAGS;
}

/* At an entry the trampoline has put r11 next to the return address. */
static uint64_t r11_of(const struct fg_machine_registers *registers, enum fg_native_point point)
{
    return point == FG_NATIVE_ENTRY ? ((const uint64_t *)registers)[R11_AT_ENTRY] : registers->own;
}

void fg_machine_all(const struct fg_machine_registers *registers, enum fg_native_point point, uintptr_t ip,
                    struct ftrace_native_regs *out)
{
    const struct kept_registers *r = kept(registers, point);

    *out = (struct ftrace_native_regs){
        .r15 = r->r15,
        .r14 = r->r14,
        .r13 = r->r13,
        .r12 = r->r12,
        .bp = r->bp,
        .bx = r->bx,
        .r11 = r11_of(registers, point),
        .r10 = registers->r10,
        .r9 = registers->r9,
        .r8 = registers->r8,
        .ax = registers->ax,
        .cx = registers->cx,
        .dx = registers->dx,
        .si = registers->si,
        .di = registers->di,
        .orig_ax = NO_SYSTEM_CALL,
        .ip = ip,
        .flags = flags_of(r, point),
        .sp = stack_pointer(registers, point),
    };
    __asm__("mov %%cs, %0" : "=r"(out->cs));
    __asm__("mov %%ss, %0" : "=r"(out->ss));
}

bool fg_machine_word(const struct fg_machine_registers *registers, const void *vectors,
                     enum fg_native_point point, enum fg_word word, uint32_t n, uint64_t *out)
{
    switch (word) {
    case FG_WORD_ARGUMENT:
        return point == FG_NATIVE_ENTRY && argument(registers, n, out);
    case FG_WORD_ARGUMENT_AT:
        return point == FG_NATIVE_ENTRY && argument_at(registers, n, out);
    case FG_WORD_REAL_ARGUMENT:
        return point == FG_NATIVE_ENTRY && xmm(vectors, NR_XMM, n, out);
    case FG_WORD_RESULT:
        return point == FG_NATIVE_RETURN && result(registers, n, out);
    case FG_WORD_REAL_RESULT:
        return point == FG_NATIVE_RETURN && xmm(vectors, 2, n, out);
    case FG_WORD_REGISTER:
        return named(registers, vectors, point, n, out);
    case FG_WORD_SP:
        *out = stack_pointer(registers, point);
        return true;
    case FG_WORD_IP: /* the hook's */
        break;
    }
    return false;
}
