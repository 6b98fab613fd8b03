/* See expression.h. */
#include "inject/unwind/expression.h"

#include "inject/unwind/cursor.h"

enum { MAX_VALUES = 16 };

/* There are no jumps among the operations that are known, so that each expression ends. */
enum operation {
    OP_DEREF = 0x06,
    OP_CONST1U = 0x08, /* and const1s, const2u, const2s ... const8s */
    OP_CONST8S = 0x0f,
    OP_CONSTU = 0x10,
    OP_CONSTS = 0x11,
    OP_DUP = 0x12,
    OP_DROP = 0x13,
    OP_SWAP = 0x16,
    OP_AND = 0x1a,
    OP_MINUS = 0x1c,
    OP_MUL = 0x1e,
    OP_OR = 0x21,
    OP_PLUS = 0x22,
    OP_PLUS_UCONST = 0x23,
    OP_SHL = 0x24,
    OP_SHR = 0x25,
    OP_SHRA = 0x26,
    OP_XOR = 0x27,
    OP_EQ = 0x29,
    OP_GE,
    OP_GT,
    OP_LE,
    OP_LT,
    OP_NE,
    OP_LIT0 = 0x30, /* to 31 */
    OP_BREG0 = 0x70,
    OP_BREG16 = OP_BREG0 + FG_REGISTER_RETURN,
    OP_NOP = 0x96,
};

struct machine {
    struct fg_memory *memory;
    const struct fg_registers *registers;
    struct fg_cursor cursor;
    uint64_t values[MAX_VALUES];
    size_t depth;
    bool is_wrong;
};

bool fg_registers_has(const struct fg_registers *registers, uint64_t number)
{
    return number < FG_NR_REGISTERS && registers->known >> number & 1;
}

static void push(struct machine *machine, uint64_t value)
{
    if (machine->depth == MAX_VALUES)
        machine->is_wrong = true;
    else
        machine->values[machine->depth++] = value;
}

static uint64_t pop(struct machine *machine)
{
    if (machine->depth == 0) {
        machine->is_wrong = true;
        return 0;
    }
    return machine->values[--machine->depth];
}

/* Operations with two values. Return: false: it is none of these. */
static bool calculate(uint8_t code, uint64_t a, uint64_t b, uint64_t *result)
{
    unsigned bits = b < 64 ? (unsigned)b : 63;

    switch (code) {
    case OP_AND:
        *result = a & b;
        return true;
    case OP_MINUS:
        *result = a - b;
        return true;
    case OP_MUL:
        *result = a * b;
        return true;
    case OP_OR:
        *result = a | b;
        return true;
    case OP_PLUS:
        *result = a + b;
        return true;
    case OP_SHL:
        *result = b < 64 ? a << b : 0;
        return true;
    case OP_SHR:
        *result = b < 64 ? a >> b : 0;
        return true;
    case OP_SHRA:
        *result = (uint64_t)((int64_t)a >> bits);
        return true;
    case OP_XOR:
        *result = a ^ b;
        return true;
    case OP_EQ:
        *result = a == b;
        return true;
    case OP_GE:
        *result = (int64_t)a >= (int64_t)b;
        return true;
    case OP_GT:
        *result = (int64_t)a > (int64_t)b;
        return true;
    case OP_LE:
        *result = (int64_t)a <= (int64_t)b;
        return true;
    case OP_LT:
        *result = (int64_t)a < (int64_t)b;
        return true;
    case OP_NE:
        *result = a != b;
        return true;
    default:
        return false;
    }
}

static void push_register(struct machine *machine, uint8_t number)
{
    int64_t offset = fg_cursor_sleb(&machine->cursor);

    machine->is_wrong |= !fg_registers_has(machine->registers, number);
    push(machine, machine->registers->values[number] + (uint64_t)offset);
}

static void push_constant(struct machine *machine, uint8_t code)
{
    size_t bytes = (size_t)1 << ((code - OP_CONST1U) / 2);

    if ((code - OP_CONST1U) % 2)
        push(machine, (uint64_t)fg_cursor_signed(&machine->cursor, bytes));
    else
        push(machine, fg_cursor_fixed(&machine->cursor, bytes));
}

/* Operations that put a value onto the stack. Return: false: it is none of these. */
static bool execute_value(struct machine *machine, uint8_t code)
{
    if (code >= OP_LIT0 && code < OP_LIT0 + 32)
        push(machine, code - OP_LIT0);
    else if (code >= OP_BREG0 && code <= OP_BREG16)
        push_register(machine, (uint8_t)(code - OP_BREG0));
    else if (code >= OP_CONST1U && code <= OP_CONST8S)
        push_constant(machine, code);
    else if (code == OP_CONSTU)
        push(machine, fg_cursor_uleb(&machine->cursor));
    else if (code == OP_CONSTS)
        push(machine, (uint64_t)fg_cursor_sleb(&machine->cursor));
    else
        return false;
    return true;
}

static void execute(struct machine *machine)
{
    uint8_t code = (uint8_t)fg_cursor_fixed(&machine->cursor, 1);
    uint64_t a, b, result = 0;

    if (code == OP_NOP || execute_value(machine, code))
        return;
    a = pop(machine);
    switch (code) {
    case OP_DROP:
        return;
    case OP_DUP:
        push(machine, a);
        push(machine, a);
        return;
    case OP_DEREF:
        machine->is_wrong |= !fg_memory_read(machine->memory, a, &result, sizeof(result));
        push(machine, result);
        return;
    case OP_PLUS_UCONST:
        push(machine, a + fg_cursor_uleb(&machine->cursor));
        return;
    default:
        break;
    }
    b = pop(machine);
    if (code == OP_SWAP) {
        push(machine, a);
        push(machine, b);
    } else if (calculate(code, b, a, &result)) {
        push(machine, result);
    } else {
        machine->is_wrong = true;
    }
}

bool fg_expression_evaluate(struct fg_memory *memory, const struct fg_registers *registers,
                            const struct fg_rule *rule, const uint64_t *first, uint64_t *result)
{
    uint64_t start = (uint64_t)rule->value;
    struct machine machine = {
        .memory = memory,
        .registers = registers,
        .cursor = {.memory = memory, .at = start, .end = start + rule->bytes},
    };

    if (first != NULL)
        push(&machine, *first);
    while (!fg_cursor_is_at_end(&machine.cursor) && !machine.is_wrong)
        execute(&machine);
    *result = pop(&machine);
    return !machine.is_wrong && !machine.cursor.damaged;
}
