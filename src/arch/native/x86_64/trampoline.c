/* Trampolines of x86-64: their bytes, the jump to one, and the unwind information of their pages.
 *
 *     +  0  mov %r11, -8(%rsp)            in the red zone
 *     +  5  lea trampoline(%rip), %r11
 *     + 12  jmp fg_x86_64_enter             or through the page's first word, if that is out of reach
 *     + 24  struct fg_native_site
 *     + 48  the moved instructions, and the jump to the rest of the function
 *
 * One of a place within a function, where the red zone may be in use:
 *
 *     +  0  lea -128(%rsp), %rsp
 *     +  5  call fg_x86_64_place            or through the page's second word; it returns to + 11
 *     + 11  lea 128(%rsp), %rsp
 *     + 19  jmp to the moved instructions
 *
 * Whatever runs in a trampoline, the function's own unwind information describes it: until its first
 * moved instruction, nothing has changed since the function's entry; from then on, the machine is in
 * the state in which it would be after as many bytes of the function. So the pages have one entry that
 * says: the caller of this is the function itself, interrupted there. In a trampoline of a place, the stack
 * pointer is 128 bytes lower between its two leas. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "arch/native/machine.h"
#include "arch/native/x86_64/layout.h"

#define PAGE_BYTES 4096u
#define JUMP_BYTES 5u

_Static_assert(sizeof(struct fg_native_site) <= FG_TRAMPOLINE_MOVED - FG_TRAMPOLINE_SITE, "sites have room");
_Static_assert(FG_ENTRIES == FG_NATIVE_ENTRIES, "each entry has a stub");
_Static_assert(FG_ENTRY_BYTES == sizeof(struct fg_native_entry), "the assembly counts with it");

extern const char fg_x86_64_enter[] __attribute__((visibility("hidden")));
extern const char fg_x86_64_place[] __attribute__((visibility("hidden")));
extern const char fg_x86_64_stubs[] __attribute__((visibility("hidden")));

const uint16_t fg_machine_elf = 62; /* EM_X86_64 */
const size_t fg_machine_trampoline_bytes = FG_TRAMPOLINE_BYTES;
const size_t fg_machine_jump_bytes = JUMP_BYTES;
const int64_t fg_machine_top = 0x7ffffffff000;          /* without LA57, which has to be asked for */
const int64_t fg_machine_reach = INT32_MAX - (1 << 20); /* less what the two may be long */

void fg_machine_make_page(uint8_t *image)
{
    const uintptr_t targets[] = {(uintptr_t)fg_x86_64_enter, (uintptr_t)fg_x86_64_place};

    memset(image, 0xcc, FG_TRAMPOLINE_BYTES);
    memcpy(image, targets, sizeof(targets));
}

/* Stores the distance from @end to @target. False: it does not fit. */
static bool put_distance(uint8_t *at, uintptr_t end, uintptr_t target)
{
    int64_t distance = (int64_t)(target - end);
    int32_t field = (int32_t)distance;

    memcpy(at, &field, sizeof(field));
    return field == distance;
}

static bool put_jump(uint8_t *at, uintptr_t from, uintptr_t target)
{
    at[0] = 0xe9;
    return put_distance(at + 1, from + JUMP_BYTES, target);
}

void fg_machine_make_jump(uint8_t *jump, uintptr_t from, uintptr_t trampoline)
{
    put_jump(jump, from, trampoline);
}

/* A direct jump where the library is within reach, too. */
static void put_jump_to_enter(uint8_t *at, uintptr_t address)
{
    static const uint8_t through_page[] = {0xff, 0x25};

    if (put_jump(at, address, (uintptr_t)fg_x86_64_enter))
        return;
    memcpy(at, through_page, sizeof(through_page));
    put_distance(at + 2, address + 6, address & ~(uintptr_t)(PAGE_BYTES - 1));
}

static void put_head(uint8_t *image, uintptr_t address)
{
    static const uint8_t code[] = {
        0x4c, 0x89, 0x5c, 0x24, 0xf8,             /* mov %r11, -8(%rsp) */
        0x4c, 0x8d, 0x1d, 0xf4, 0xff, 0xff, 0xff, /* lea -12(%rip), %r11 */
    };

    memset(image, 0xcc, FG_TRAMPOLINE_BYTES);
    memcpy(image, code, sizeof(code));
    put_jump_to_enter(image + sizeof(code), address + sizeof(code));
}

/* Two bytes of nop make room for the longer form. */
static void put_call_of_place(uint8_t *at, uintptr_t address)
{
    static const uint8_t direct[] = {0x90, 0xe8}, through_page[] = {0xff, 0x15};

    memcpy(at, direct, sizeof(direct));
    if (put_distance(at + 2, address + 6, (uintptr_t)fg_x86_64_place))
        return;
    memcpy(at, through_page, sizeof(through_page));
    put_distance(at + 2, address + 6, (address & ~(uintptr_t)(PAGE_BYTES - 1)) + sizeof(uintptr_t));
}

static void put_head_of_place(uint8_t *image, uintptr_t address)
{
    static const uint8_t down[] = {0x48, 0x8d, 0x64, 0x24, 0x80}; /* lea -128(%rsp), %rsp */
    static const uint8_t up[] = {
        0x48, 0x8d,
        0xa4, 0x24,
        0x80, 0,
        0,    0, /* lea 128(%rsp), %rsp */
        0xeb, FG_TRAMPOLINE_MOVED - FG_PLACE_UP - 10,
    };

    memset(image, 0xcc, FG_TRAMPOLINE_BYTES);
    memcpy(image, down, sizeof(down));
    put_call_of_place(image + FG_PLACE_DOWN, address + FG_PLACE_DOWN);
    memcpy(image + FG_PLACE_UP, up, sizeof(up));
}

static bool put_fix_up(uint8_t *moved, uintptr_t moved_address, const struct fg_plan_fix_up *fix_up,
                       uintptr_t base)
{
    return put_distance(moved + fix_up->at, moved_address + fix_up->end, base + fix_up->target);
}

bool fg_machine_make_trampoline(const struct fg_trampoline *trampoline)
{
    uint8_t *moved = trampoline->image + FG_TRAMPOLINE_MOVED;
    uintptr_t moved_address = trampoline->address + FG_TRAMPOLINE_MOVED;
    const struct fg_native_site *site = &trampoline->site;

    if (FG_TRAMPOLINE_MOVED + trampoline->code_bytes + JUMP_BYTES > FG_TRAMPOLINE_BYTES)
        return false;
    (trampoline->is_place ? put_head_of_place : put_head)(trampoline->image, trampoline->address);
    memcpy(trampoline->image + FG_TRAMPOLINE_SITE, site, sizeof(*site));
    memcpy(moved, trampoline->code, trampoline->code_bytes);
    for (size_t i = 0; i < trampoline->nr_fix_ups; i++) {
        if (!put_fix_up(moved, moved_address, &trampoline->fix_ups[i], trampoline->base))
            return false;
    }
    return put_jump(moved + trampoline->code_bytes, moved_address + trampoline->code_bytes,
                    site->address + site->displaced);
}

const struct fg_native_site *fg_machine_site(uintptr_t address)
{
    return (const struct fg_native_site *)(address + FG_TRAMPOLINE_SITE);
}

struct fg_native_entry *fg_machine_entry_at(uintptr_t address)
{
    uintptr_t place = address - (uintptr_t)fg_x86_64_stubs;

    return place < (uintptr_t)FG_ENTRIES * FG_STUB_BYTES ? &fg_native_entries[place / FG_STUB_BYTES] : NULL;
}

/* ---- unwinding from trampolines */

/* DWARF 5, 6.4 and 7.7.1, and the augmentations of the Linux Standard Base, "Exception Frames". */
struct frames {
    uint32_t cie_bytes, cie_id;
    uint8_t cie[36];
    uint32_t fde_bytes, fde_cie;
    uintptr_t begin;
    uint64_t bytes;
    uint8_t fde[56];
    uint32_t end; /* 0 */
} __attribute__((packed));

#define CIE_CFA 10 /* where the instructions of the CIE begin */
#define OFFSET_OF_ADDRESS (FG_TRAMPOLINE_SITE + offsetof(struct fg_native_site, address))
#define OFFSET_OF_DISPLACED (FG_TRAMPOLINE_SITE + offsetof(struct fg_native_site, displaced))

static const struct frames frames_template = {
    .cie_bytes = sizeof(uint32_t) + sizeof(frames_template.cie),
    .cie = {1, 'z', 'R', 'S', 0, /* S: what it describes was interrupted, rather than called */
            1, 0x78, 16,         /* code and data alignment, return address column */
            1, 0x00,             /* addresses are absolute */
            0x0c, 7, 0},         /* the CFA is rsp, as it is the interrupted function's */
    .fde_bytes = sizeof(uint32_t) + sizeof(uintptr_t) + sizeof(uint64_t) + sizeof(frames_template.fde),
    .fde_cie = offsetof(struct frames, fde_cie),
    /* clang-format off */
    .fde = {
        0,                                         /* no augmentation data */
        0x16, 16, 43,                              /* rip is */
        0x80, 0, 0x09, 0x80, 0x1a,                 /* rip & -128: the trampoline; */
        0x12, 0x23, OFFSET_OF_ADDRESS, 0x6,        /* the function's address there, */
        0x16, 0x23, OFFSET_OF_DISPLACED, 0x94, 1,  /* and how many bytes are displaced; */
        0x80, 0, 0x08, 0x7f, 0x1a,                 /* rip & 127, */
        0x08, FG_TRAMPOLINE_MOVED, 0x1c,           /* less what is before the moved instructions */
        0x12, 0x30, 0x2a, 0x28, 2, 0, 0x13, 0x30,  /* (0, if that is negative), */
        0x14, 0x14, 0x2d, 0x28, 5, 0, 0x16, 0x13,  /* but at most the displaced bytes: */
        0x2f, 1, 0, 0x13,                          /* the greater of both is dropped; */
        0x22,                                      /* added to the address */
    },
    /* clang-format on */
};

/* The CFA in trampolines of places: rsp, and 128 more in between. */
static const uint8_t cfa_of_places[] = {0x0f, 19,                     /* DW_CFA_def_cfa_expression */
                                        0x77, 0,                      /* rsp */
                                        0x80, 0,    0x08, 0x7f, 0x1a, /* rip & 127, */
                                        0x35, 0x1c, 0x12, 0x30, 0x2a, /* less 5: at least 0, */
                                        0x16, 0x3e, 0x2d, 0x1a,       /* and below 14: */
                                        0x37, 0x24, 0x22};            /* << 7, added */

_Static_assert(FG_PLACE_DOWN == 5 && FG_PLACE_UP + 8 - FG_PLACE_DOWN == 14, "the expression has them");

void fg_machine_register_frames(uintptr_t begin, size_t bytes, bool are_places)
{
    void *unwinder = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
    void (*add)(const void *) = unwinder ? (void (*)(const void *))dlsym(unwinder, "__register_frame") : NULL;
    struct frames *frames = add ? malloc(sizeof(*frames)) : NULL;

    if (!frames)
        return;
    *frames = frames_template;
    if (are_places)
        memcpy(frames->cie + CIE_CFA, cfa_of_places, sizeof(cfa_of_places));
    frames->begin = begin;
    frames->bytes = bytes;
    add(frames); /* for good, as the pages are */
}
