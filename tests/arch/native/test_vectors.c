/* The state that a program has beside its general registers: x87, SSE, AVX and AVX-512, whichever parts of it
 * are in use. The handlers of a call change all of it. After the entry and after the return it is as it was,
 * and no part is in use that was not. Both ways of saving it are tested. */
#include <cpuid.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/native.h"
#include "target/target.h"

#define AREA_BYTES 4096u
#define HEADER_AT 512u
#define MXCSR_AT 24u
#define X87 1u
#define SSE 2u
#define AVX 4u
#define ZMM 0x40u
#define AVX512 0xe0u
#define COMPONENTS (X87 | SSE | AVX | AVX512)

/* As XSAVE lays it out (Intel SDM volume 1, 13.4). */
struct state {
    uint8_t bytes[AREA_BYTES];
} __attribute__((aligned(64)));

extern bool fg_x86_64_saves_by_moves;

static uint32_t enabled;
static struct state before, after, dirt;

static uint32_t components_of(const struct state *state)
{
    uint32_t components;

    memcpy(&components, state->bytes + HEADER_AT, sizeof(components));
    return components;
}

static void fill(uint8_t *bytes, size_t n, uint8_t with)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(with + i * 7);
}

static void place_of(uint32_t component, uint32_t *offset, uint32_t *bytes)
{
    uint32_t c, d;

    CHECK(__get_cpuid_count(0xd, component, bytes, offset, &c, &d));
}

/* x87: an empty stack, but for its registers' bits, and the control word of each new program. */
static void make(struct state *state, uint32_t components, uint32_t mxcsr, uint8_t with)
{
    const uint16_t control = 0x37f;
    uint32_t offset, bytes;

    memset(state, 0, sizeof(*state));
    memcpy(state->bytes, &control, sizeof(control));
    memcpy(state->bytes + MXCSR_AT, &mxcsr, sizeof(mxcsr));
    memcpy(state->bytes + HEADER_AT, &components, sizeof(components));
    for (uint32_t i = 0; i < 8 && (components & X87); i++)
        fill(state->bytes + 32 + 16 * i, 10, (uint8_t)(with + i));
    if (components & SSE)
        fill(state->bytes + 160, 256, with);
    for (uint32_t i = 2; i < 8; i++) {
        if (!(components & 1u << i))
            continue;
        place_of(i, &offset, &bytes);
        fill(state->bytes + offset, bytes, (uint8_t)(with + i));
    }
}

/* What the compiler knows nothing of: it uses none of these here. */
#define CHANGES_VECTORS                                                                                      \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",        \
        "xmm12", "xmm13", "xmm14", "xmm15", "memory"

static FG_NOINLINE void get_dirty(void)
{
    __asm__ volatile("xrstor (%0)" ::"r"(&dirt), "a"(enabled), "d"(0) : CHANGES_VECTORS);
}

static int on_entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)trace, (void)regs;
    ++*(int *)ops->private_data;
    get_dirty();
    return 1;
}

static void on_return(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)trace, (void)regs;
    ++*(int *)ops->private_data;
    get_dirty();
}

/* The function changes none of the state. */
static FG_NOINLINE long call_with_state(long (*function)(long))
{
    long result = 4;

    __asm__ volatile(
        "leaq -128(%%rsp), %%rsp\n"
        "xrstor (%[before])\n"
        "call *%[function]\n"
        "xchgq %%rax, %%rdi\n"
        "movl %[enabled], %%eax\n"
        "xorl %%edx, %%edx\n"
        "xsave (%[after])\n"
        "leaq 128(%%rsp), %%rsp"
        : "+D"(result)
        : [before] "r"(&before), [after] "r"(&after), [function] "r"(function), [enabled] "b"(enabled),
          "a"(enabled), "d"(0)
        : "rcx", "rsi", "r8", "r9", "r10", "r11", CHANGES_VECTORS);
    return result;
}

static void check_component(uint32_t component, uint32_t offset, uint32_t bytes)
{
    bool is_same = memcmp(before.bytes + offset, after.bytes + offset, bytes) == 0;

    if (!is_same)
        fprintf(stderr, "component %u; in use: %#x, then %#x\n", component, components_of(&before),
                components_of(&after));
    CHECK(is_same);
}

static void check(uint32_t components)
{
    /* Moves of 512 bits are of the 256 in between, too. */
    uint32_t allowed = components | SSE | (components & ZMM ? AVX : 0);
    uint32_t offset, bytes;

    make(&before, components, 0x7f80, 0x11); /* rounds to zero; no exceptions were seen */
    memset(&after, 0, sizeof(after));
    CHECK_EQ(call_with_state(target_leaf), 5);
    CHECK_EQ(components_of(&after) & ~allowed, 0);
    check_component(1, MXCSR_AT, 4);
    check_component(1, 160, 256);
    for (uint32_t i = 0; i < 8 && (components & X87); i++)
        check_component(0, 32 + 16 * i, 10);
    for (uint32_t i = 2; i < 8; i++) {
        if (!(enabled & 1u << i))
            continue;
        place_of(i, &offset, &bytes);
        check_component(i, offset, bytes);
    }
}

static void test_all_sets_of_components(bool by_moves)
{
    const bool can_move = fg_x86_64_saves_by_moves;
    struct probe probe;
    int calls = 0;

    fg_x86_64_saves_by_moves = by_moves && can_move;
    probe_init(&probe, "vectors", "target_leaf:mod:target", 0);
    fg_user_of(&probe.ops)->sees_native = true;
    probe.ops.entryfunc = on_entry;
    probe.ops.retfunc = on_return;
    probe.ops.private_data = &calls;
    probe_register(&probe);
    target_leaf(1);
    for (uint32_t components = 0; components <= COMPONENTS; components++) {
        if (!(components & ~enabled))
            check(components | SSE);
    }
    CHECK(calls >= 2 * 8);
    probe_unregister(&probe);
    probe_done(&probe);
    fg_x86_64_saves_by_moves = can_move;
}

static bool has_xsave(void)
{
    uint32_t a, b, c, d;

    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE);
}

int main(void)
{
    struct fg_native_object *object = native_begin();
    uint32_t high;

    if (!has_xsave())
        return 0;
    __asm__ volatile("xgetbv" : "=a"(enabled), "=d"(high) : "c"(0));
    enabled &= COMPONENTS;
    make(&dirt, enabled, 0x1fbf, 0x5a); /* exceptions were seen */
    CHECK_EQ(native_meet(object, "target_leaf:mod:target"), 1);
    test_all_sets_of_components(true);
    test_all_sets_of_components(false);
    return 0;
}
