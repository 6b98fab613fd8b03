/* DWARF expressions in call frame information (DWARF 5, 2.5): linkage tables, functions that align their
 * frame, and assembly have them. */
#ifndef FG_INJECT_UNWIND_EXPRESSION_H
#define FG_INJECT_UNWIND_EXPRESSION_H

#include "inject/unwind/cfi.h"

/* Registers with known values. */
struct fg_registers {
    uint64_t values[FG_NR_REGISTERS]; /* that of FG_REGISTER_RETURN: where the code is */
    uint32_t known;                   /* a bit for each */
};

bool fg_registers_has(const struct fg_registers *registers, uint64_t number);

/**
 * fg_expression_evaluate() - Evaluate an expression.
 * @rule: says where it is
 * @first: what its stack begins with; NULL: nothing
 *
 * Return: whether it has a result.
 */
bool fg_expression_evaluate(struct fg_memory *memory, const struct fg_registers *registers,
                            const struct fg_rule *rule, const uint64_t *first, uint64_t *result);

#endif
