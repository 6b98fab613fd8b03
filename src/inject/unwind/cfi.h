/* Call frame information: how a function's caller is found from any of its instructions (DWARF 5, 6.4; Linux
 * Standard Base 5.0, "Exception Frames").
 *
 * Compilers write it for each function into .eh_frame, and linkers an index that is sorted by address, into
 * .eh_frame_hdr. Both are part of what is loaded. They are the process's data, which may be damaged: each
 * number is checked before it is followed. */
#ifndef FG_INJECT_UNWIND_CFI_H
#define FG_INJECT_UNWIND_CFI_H

#include "inject/unwind/code.h"
#include "inject/unwind/memory.h"

/* Registers by their numbers in DWARF (System V ABI for AMD64, figure 3.36). */
enum fg_register {
    FG_REGISTER_RAX,
    FG_REGISTER_RDX,
    FG_REGISTER_RCX,
    FG_REGISTER_RBX,
    FG_REGISTER_RSI,
    FG_REGISTER_RDI,
    FG_REGISTER_RBP,
    FG_REGISTER_RSP,
    FG_REGISTER_R8,
    FG_REGISTER_R15 = 15,
    FG_REGISTER_RETURN, /* the return address */
    FG_NR_REGISTERS,
};

enum fg_rule_kind {
    FG_RULE_SAME,      /* it has not changed; the default */
    FG_RULE_UNDEFINED, /* nobody knows; a return address: there is no caller */
    FG_RULE_AT,        /* it was saved, `value` bytes from the frame's address */
    FG_RULE_IS,        /* it was the address `value` bytes from there */
    FG_RULE_REGISTER,  /* it is in the register `value` */
    FG_RULE_AT_RESULT, /* it was saved at the result of an expression: `bytes` of it at the address `value` */
    FG_RULE_IS_RESULT, /* it was that */
};

struct fg_rule {
    uint8_t kind;
    uint8_t base; /* of the frame's address: the register that an FG_RULE_IS counts from */
    uint16_t bytes;
    int64_t value;
};

/* What is known at one instruction. */
struct fg_cfi_row {
    struct fg_rule frame; /* the frame's address (CFA): FG_RULE_IS, FG_RULE_IS_RESULT or FG_RULE_UNDEFINED */
    struct fg_rule registers[FG_NR_REGISTERS]; /* of the caller */
    bool is_signal_frame;                      /* the kernel has made the frame, for a handler */
};

/**
 * fg_cfi_find() - Find out what is known at an instruction.
 * @pc: its address
 *
 * Return: whether anything sound is.
 */
bool fg_cfi_find(const struct fg_code *code, struct fg_memory *memory, uint64_t pc, struct fg_cfi_row *row);

/* Code that is described as one: a function, or a part of one. Compilers move what a program hardly ever
 * executes to another place, and describe it there. A part that is entered by a jump has its frame at the
 * first instruction: it belongs to what jumps to it. */
struct fg_span {
    struct fg_range range;
    bool is_entered_by_jump;
};

/**
 * fg_cfi_span() - Find the code that is described together with an instruction.
 * @pc: its address
 *
 * Return: whether anything sound is.
 */
bool fg_cfi_span(const struct fg_code *code, struct fg_memory *memory, uint64_t pc, struct fg_span *span);

#endif
