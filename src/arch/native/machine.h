/* What a machine provides for hooks of native functions. All of it is defined in the machine's own room. */
#ifndef FG_MACHINE_H
#define FG_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/native/entry.h"
#include "arch/native/plan.h"
#include "arch/native/point.h"
#include "arch/native/site.h"
#include "engine/core/regs.h"

/* e_machine of the objects whose functions can be hooked. */
extern const uint16_t fg_machine_elf;
/* One trampoline; a page of them begins with one that is the machine's own. */
extern const size_t fg_machine_trampoline_bytes;
/* The bytes of a function that change. */
extern const size_t fg_machine_jump_bytes;
/* How far from a function its trampoline may be. */
extern const int64_t fg_machine_reach;
/* Where the addresses of programs end. */
extern const int64_t fg_machine_top;

/* Looks at the processor. NULL: hooks work on it; else why not. */
const char *fg_machine_refusal(void);

/* True if the processor keeps a shadow stack for this thread: an address that a return finds must be
 * the call's. */
bool fg_machine_has_shadow_stack(void);

/* Writes the machine's own part of a page of trampolines. @image becomes the page's contents. */
void fg_machine_make_page(uint8_t *image);

/* A trampoline to be. */
struct fg_trampoline {
    uint8_t *image;    /* where it is made */
    uintptr_t address; /* where it will be */
    struct fg_native_site site;
    const uint8_t *code; /* the moved instructions */
    size_t code_bytes;
    const struct fg_plan_fix_up *fix_ups;
    size_t nr_fix_ups;
    uintptr_t base; /* what an address of the object's file is relative to */
    bool is_place;  /* of an instruction within a function */
};

/* Makes it. False: it has no room, or something is out of reach. */
bool fg_machine_make_trampoline(const struct fg_trampoline *trampoline);
/* Where the site of the trampoline at @address is. */
const struct fg_native_site *fg_machine_site(uintptr_t address);
/* The bytes with which the function at @from begins while it is hooked: fg_machine_jump_bytes. */
void fg_machine_make_jump(uint8_t *jump, uintptr_t from, uintptr_t trampoline);

/* Where the function of the first entry returns to: in that entry's stub. The others follow at the
 * entries' distance. */
extern const char fg_machine_first_return[] __attribute__((visibility("hidden")));

/* The entry whose stub a function returns to, at this address; NULL: there is no stub. */
struct fg_native_entry *fg_machine_entry_at(uintptr_t address);

/* Tells unwinders of a range of trampolines, of functions or of places. Without them, nothing can be unwound
 * from the few instructions there. */
void fg_machine_register_frames(uintptr_t begin, size_t bytes, bool are_places);

/* The registers of a call where the hook has saved them: the machine's own. */
struct fg_machine_registers;

/* Stores a word of a call, as ftrace_regs_ops.word does. @vectors: where the vector registers are saved;
 * NULL: nobody has changed them. */
bool fg_machine_word(const struct fg_machine_registers *registers, const void *vectors,
                     enum fg_native_point point, enum fg_word word, uint32_t n, uint64_t *out);
/* Stores all registers of a call, as the slow path has them. @ip: the instruction that runs next. */
void fg_machine_all(const struct fg_machine_registers *registers, enum fg_native_point point, uintptr_t ip,
                    struct ftrace_native_regs *out);
/* The names of the arguments in registers (FG_WORD_ARGUMENT), in order, joined by ','. */
extern const char fg_machine_argument_names[];
/* The names of the registers that FG_WORD_REGISTER counts, as definitions of events have them; NULL ends
 * them. The last fg_machine_place_registers of them are there at a place alone. */
extern const uint32_t fg_machine_place_registers;
extern const char *const fg_machine_register_names[];

/* A system call without the C library. Returns what the kernel does. */
long fg_machine_syscall(long number, long a, long b, long c, long d, long e, long f);
/* What a handler of a signal returns to (the kernel's sa_restorer). */
void fg_machine_end_handler(void) __attribute__((visibility("hidden")));
/* Where a thread was that a signal has stopped. @context is the handler's third argument. */
uintptr_t fg_machine_pc(const void *context);
uintptr_t fg_machine_sp(const void *context);
/* Where a context has a word that few others look like, counted from that of its program counter. */
extern const ptrdiff_t fg_machine_context_mark_offset;
bool fg_machine_is_context_mark(uintptr_t word);

#endif
