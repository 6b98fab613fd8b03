/* See frame.h. */
#include "inject/unwind/frame.h"

#include <errno.h>
#include <stdlib.h>

enum { NR_ROWS = 128, WORD_BYTES = 8 };

struct fg_row_memo {
    struct {
        uint64_t pc; /* 0: none */
        bool is_found;
        struct fg_cfi_row row;
    } slots[NR_ROWS];
};

/* What functions leave to their callers (System V ABI for AMD64, figure 3.4). Others have any values. */
static const uint32_t callee_saved = 1U << FG_REGISTER_RBX | 1U << FG_REGISTER_RBP | 0xfU << 12;

int fg_unwinder_open(struct fg_unwinder *unwinder, const struct fg_code *code, struct fg_memory *memory)
{
    unwinder->code = code;
    unwinder->memory = memory;
    unwinder->memo = calloc(1, sizeof(*unwinder->memo));
    return unwinder->memo == NULL ? -ENOMEM : 0;
}

void fg_unwinder_close(struct fg_unwinder *unwinder)
{
    free(unwinder->memo);
}

uint64_t fg_frame_place(const struct fg_frame *frame)
{
    return frame->registers.values[FG_REGISTER_RETURN] - frame->is_caller;
}

/* Return: what is known at an instruction, or NULL. */
static const struct fg_cfi_row *row_at(struct fg_unwinder *unwinder, uint64_t pc)
{
    typeof(&unwinder->memo->slots[0]) slot = &unwinder->memo->slots[pc % NR_ROWS];

    if (slot->pc != pc) {
        slot->pc = pc;
        slot->is_found = fg_cfi_find(unwinder->code, unwinder->memory, pc, &slot->row);
    }
    return slot->is_found ? &slot->row : NULL;
}

/* Return: whether the address of the frame is known. */
static bool frame_address(struct fg_unwinder *unwinder, const struct fg_registers *registers,
                          const struct fg_rule *rule, uint64_t *address)
{
    if (rule->kind == FG_RULE_IS_RESULT)
        return fg_expression_evaluate(unwinder->memory, registers, rule, NULL, address);
    if (rule->kind != FG_RULE_IS || !fg_registers_has(registers, rule->base))
        return false;
    *address = registers->values[rule->base] + (uint64_t)rule->value;
    return true;
}

/* Return: whether the value is known that a register has in the caller. */
static bool caller_value(struct fg_unwinder *unwinder, const struct fg_registers *registers,
                         const struct fg_rule *rule, uint64_t address, uint64_t *value)
{
    uint64_t at = address + (uint64_t)rule->value;

    switch (rule->kind) {
    case FG_RULE_IS:
        *value = at;
        return true;
    case FG_RULE_REGISTER:
        if (!fg_registers_has(registers, (uint64_t)rule->value))
            return false;
        *value = registers->values[rule->value];
        return true;
    case FG_RULE_IS_RESULT:
        return fg_expression_evaluate(unwinder->memory, registers, rule, &address, value);
    case FG_RULE_AT_RESULT:
        if (!fg_expression_evaluate(unwinder->memory, registers, rule, &address, &at))
            return false;
        break;
    case FG_RULE_AT:
        break;
    default:
        return false;
    }
    return fg_memory_read(unwinder->memory, at, value, sizeof(*value));
}

static void set(struct fg_registers *registers, unsigned number, uint64_t value)
{
    registers->values[number] = value;
    registers->known |= 1U << number;
}

/* Return: the caller's registers. */
static struct fg_registers caller_registers(struct fg_unwinder *unwinder,
                                            const struct fg_registers *registers,
                                            const struct fg_cfi_row *row, uint64_t address)
{
    struct fg_registers caller = *registers;
    unsigned i;

    caller.known &= callee_saved;
    for (i = 0; i < FG_NR_REGISTERS; i++) {
        uint64_t value;

        if (row->registers[i].kind == FG_RULE_SAME)
            continue;
        caller.known &= ~(1U << i);
        if (caller_value(unwinder, registers, &row->registers[i], address, &value))
            set(&caller, i, value);
    }
    set(&caller, FG_REGISTER_RSP, address);
    return caller;
}

/* Return: whether the kernel has put an address onto the stack, for a handler to return to. */
static bool is_signal_return(struct fg_unwinder *unwinder, uint64_t address)
{
    const struct fg_cfi_row *row;

    if (address == unwinder->code->signal_return && address != 0)
        return true;
    row = row_at(unwinder, address);
    return row != NULL && row->is_signal_frame;
}

bool fg_frame_is_at_pointer(struct fg_unwinder *unwinder, const struct fg_frame *frame)
{
    const struct fg_cfi_row *row = row_at(unwinder, fg_frame_place(frame));
    const struct fg_rule *to = row == NULL ? NULL : &row->registers[FG_REGISTER_RETURN];

    return row != NULL && row->frame.kind == FG_RULE_IS && row->frame.base == FG_REGISTER_RBP &&
           row->frame.value == 2 * WORD_BYTES && to->kind == FG_RULE_AT && to->value == -WORD_BYTES;
}

enum fg_step fg_frame_step(struct fg_unwinder *unwinder, struct fg_frame *frame)
{
    const struct fg_cfi_row *row = row_at(unwinder, fg_frame_place(frame));
    struct fg_registers caller;
    uint64_t address, to;

    if (row == NULL)
        return FG_STEP_LOST;
    if (row->is_signal_frame)
        return FG_STEP_SIGNAL;
    if (row->registers[FG_REGISTER_RETURN].kind == FG_RULE_UNDEFINED)
        return FG_STEP_END;
    if (!frame_address(unwinder, &frame->registers, &row->frame, &address))
        return FG_STEP_SHORT;
    if (address % WORD_BYTES || address <= frame->registers.values[FG_REGISTER_RSP])
        return FG_STEP_WRONG;
    caller = caller_registers(unwinder, &frame->registers, row, address);
    if (!fg_registers_has(&caller, FG_REGISTER_RETURN))
        return FG_STEP_WRONG;
    to = caller.values[FG_REGISTER_RETURN];
    if (!fg_code_is_after_call(unwinder->code, unwinder->memory, to))
        return is_signal_return(unwinder, to) ? FG_STEP_SIGNAL : FG_STEP_WRONG;
    *frame = (struct fg_frame){.registers = caller, .is_caller = true};
    return FG_STEP_CALLER;
}
