/* See cfi.h. */
#include "inject/unwind/cfi.h"

#include <string.h>

#include "inject/unwind/cursor.h"

/* More than any function has: what is longer is damaged. */
enum { MAX_ENTRY_BYTES = 1 << 20, MAX_EXPRESSION_BYTES = 256, MAX_DEPTH = 8 };

/* What an entry of .eh_frame says: that which functions have in common (CIE), and about one (FDE). */
struct common {
    uint64_t code_unit;
    int64_t data_unit;
    uint8_t pointers; /* encoding of addresses */
    bool has_augmentation, is_signal_frame;
    struct fg_cursor instructions;
};

/* ---- entries */

/* Return: a cursor over the entry at an address, which begins after its length. */
static struct fg_cursor entry_at(const struct fg_segment *in, struct fg_memory *memory, uint64_t address)
{
    struct fg_cursor cursor = {.memory = memory, .at = address, .end = in->image_high};
    uint64_t bytes;

    cursor.damaged = address < in->image_low || address >= in->image_high;
    bytes = fg_cursor_fixed(&cursor, 4);
    if (bytes == 0 || bytes > MAX_ENTRY_BYTES || bytes > cursor.end - cursor.at)
        cursor.damaged = true;
    else
        cursor.end = cursor.at + bytes;
    return cursor;
}

/* The letters of a CIE say what its augmentation holds. */
static bool read_augmentation(struct fg_cursor *cursor, const char *letters, struct common *common)
{
    uint8_t encoding;

    for (; *letters && !cursor->damaged; letters++) {
        switch (*letters) {
        case 'R':
            common->pointers = (uint8_t)fg_cursor_fixed(cursor, 1);
            break;
        case 'P': /* a function for exceptions, perhaps by way of a pointer to it */
            encoding = (uint8_t)fg_cursor_fixed(cursor, 1);
            fg_cursor_pointer(cursor, encoding & 0x7f);
            break;
        case 'L':
            fg_cursor_skip(cursor, 1);
            break;
        case 'S':
            common->is_signal_frame = true;
            break;
        case 'B': /* of other machines */
        default:
            return false;
        }
    }
    return !cursor->damaged;
}

static bool read_letters(struct fg_cursor *cursor, char *letters, size_t size)
{
    size_t i;

    for (i = 0; i < size; i++) {
        letters[i] = (char)fg_cursor_fixed(cursor, 1);
        if (letters[i] == '\0')
            return !cursor->damaged;
    }
    return false;
}

static bool read_common(const struct fg_segment *in, struct fg_memory *memory, uint64_t address,
                        struct common *common)
{
    struct fg_cursor cursor = entry_at(in, memory, address);
    uint64_t id = fg_cursor_fixed(&cursor, 4), version = fg_cursor_fixed(&cursor, 1), start, bytes;
    char letters[8];

    memset(common, 0, sizeof(*common));
    if (id != 0 || (version != 1 && version != 3) || !read_letters(&cursor, letters, sizeof(letters)))
        return false;
    common->code_unit = fg_cursor_uleb(&cursor);
    common->data_unit = fg_cursor_sleb(&cursor);
    if ((version == 1 ? fg_cursor_fixed(&cursor, 1) : fg_cursor_uleb(&cursor)) != FG_REGISTER_RETURN)
        return false;
    if (letters[0] == 'z') {
        common->has_augmentation = true;
        bytes = fg_cursor_uleb(&cursor);
        start = cursor.at;
        if (!read_augmentation(&cursor, letters + 1, common) || cursor.at - start > bytes)
            return false;
        fg_cursor_skip(&cursor, bytes - (cursor.at - start));
    } else if (letters[0] != '\0') {
        return false;
    }
    common->instructions = cursor;
    return !cursor.damaged;
}

/* Return: where the entry for the function at an address is, by the index; 0: it is not known. */
static uint64_t find_entry(const struct fg_segment *in, struct fg_memory *memory, uint64_t pc)
{
    static const uint8_t usual[] = {1, FG_ENCODING_PCREL | FG_ENCODING_SDATA4, FG_ENCODING_UDATA4,
                                    FG_ENCODING_DATAREL | FG_ENCODING_SDATA4};
    struct {
        uint8_t encodings[4]; /* with the version */
        int32_t table;
        uint32_t nr_rows;
    } head;
    int32_t row[2]; /* a function's address and its entry's, from the index on */
    uint64_t low = 0, high, rows = in->index + sizeof(head);

    if (in->index_bytes < sizeof(head) || !fg_memory_read(memory, in->index, &head, sizeof(head)) ||
        memcmp(head.encodings, usual, sizeof(usual)) != 0)
        return 0;
    high = head.nr_rows;
    if (high > (in->index_bytes - sizeof(head)) / sizeof(row))
        return 0;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (!fg_memory_read(memory, rows + middle * sizeof(row), row, sizeof(row)))
            return 0;
        if (in->index + (uint64_t)(int64_t)row[0] <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || !fg_memory_read(memory, rows + (low - 1) * sizeof(row), row, sizeof(row)))
        return 0;
    return in->index + (uint64_t)(int64_t)row[1];
}

/* ---- instructions */

/* Executing the instructions of a function up to one of its addresses. */
struct program {
    const struct common *common;
    uint64_t location, pc;
    struct fg_cfi_row row, initial;
    struct fg_cfi_row stack[MAX_DEPTH];
    size_t depth;
    bool is_wrong;
};

enum {
    ADVANCE = 0x40,
    OFFSET = 0x80,
    RESTORE = 0xc0,
    OPERATION = 0xc0,
    OPERAND = 0x3f,
};

static void set_rule(struct program *program, uint64_t number, struct fg_rule rule)
{
    if (number < FG_NR_REGISTERS)
        program->row.registers[number] = rule;
    /* Others are vector registers, which no caller is found by. */
}

static int64_t factored(struct program *program, int64_t offset)
{
    int64_t value;

    program->is_wrong |= __builtin_mul_overflow(offset, program->common->data_unit, &value);
    return value;
}

static void set_offset(struct program *program, uint64_t number, uint8_t kind, int64_t offset)
{
    set_rule(program, number, (struct fg_rule){.kind = kind, .value = factored(program, offset)});
}

static void restore(struct program *program, uint64_t number)
{
    if (number < FG_NR_REGISTERS)
        program->row.registers[number] = program->initial.registers[number];
}

static void set_frame(struct program *program, uint64_t base, int64_t value)
{
    program->is_wrong |= base >= FG_REGISTER_RETURN;
    program->row.frame = (struct fg_rule){.kind = FG_RULE_IS, .base = (uint8_t)base, .value = value};
}

static void set_frame_offset(struct program *program, int64_t value)
{
    program->is_wrong |= program->row.frame.kind != FG_RULE_IS;
    program->row.frame.value = value;
}

static struct fg_rule expression(struct program *program, struct fg_cursor *cursor, uint8_t kind)
{
    uint64_t bytes = fg_cursor_uleb(cursor);
    struct fg_rule rule = {.kind = kind, .bytes = (uint16_t)bytes, .value = (int64_t)cursor->at};

    program->is_wrong |= bytes > MAX_EXPRESSION_BYTES;
    fg_cursor_skip(cursor, bytes);
    return rule;
}

static void remember(struct program *program)
{
    if (program->depth == MAX_DEPTH)
        program->is_wrong = true;
    else
        program->stack[program->depth++] = program->row;
}

static void recall(struct program *program)
{
    if (program->depth == 0)
        program->is_wrong = true;
    else
        program->row = program->stack[--program->depth];
}

static void advance(struct program *program, uint64_t units)
{
    uint64_t bytes;

    program->is_wrong |= __builtin_mul_overflow(units, program->common->code_unit, &bytes) ||
                         __builtin_add_overflow(program->location, bytes, &program->location);
}

/* Instructions that change where the frame is, or the location. Return: false: it is none of these. */
static bool execute_frame(struct program *program, struct fg_cursor *cursor, uint8_t code)
{
    uint64_t base;

    switch (code) {
    case 0x01: /* set_loc */
        program->location = fg_cursor_pointer(cursor, program->common->pointers);
        return true;
    case 0x02: /* advance_loc1, 2, 4 */
    case 0x03:
    case 0x04:
        advance(program, fg_cursor_fixed(cursor, (size_t)1 << (code - 0x02)));
        return true;
    case 0x0c: /* def_cfa */
        base = fg_cursor_uleb(cursor);
        set_frame(program, base, (int64_t)fg_cursor_uleb(cursor));
        return true;
    case 0x0d: /* def_cfa_register */
        set_frame(program, fg_cursor_uleb(cursor), program->row.frame.value);
        return true;
    case 0x0e: /* def_cfa_offset */
        set_frame_offset(program, (int64_t)fg_cursor_uleb(cursor));
        return true;
    case 0x0f: /* def_cfa_expression */
        program->row.frame = expression(program, cursor, FG_RULE_IS_RESULT);
        return true;
    case 0x12: /* def_cfa_sf */
        base = fg_cursor_uleb(cursor);
        set_frame(program, base, factored(program, fg_cursor_sleb(cursor)));
        return true;
    case 0x13: /* def_cfa_offset_sf */
        set_frame_offset(program, factored(program, fg_cursor_sleb(cursor)));
        return true;
    default:
        return false;
    }
}

/* Instructions about a register, whose number comes first. Return: false: it is none of these. */
static bool execute_register(struct program *program, struct fg_cursor *cursor, uint8_t code)
{
    uint64_t number = fg_cursor_uleb(cursor);

    switch (code) {
    case 0x05: /* offset_extended */
        set_offset(program, number, FG_RULE_AT, (int64_t)fg_cursor_uleb(cursor));
        return true;
    case 0x06: /* restore_extended */
        restore(program, number);
        return true;
    case 0x07: /* undefined */
        set_rule(program, number, (struct fg_rule){.kind = FG_RULE_UNDEFINED});
        return true;
    case 0x08: /* same_value */
        set_rule(program, number, (struct fg_rule){.kind = FG_RULE_SAME});
        return true;
    case 0x09: /* register */
        set_rule(program, number,
                 (struct fg_rule){.kind = FG_RULE_REGISTER, .value = (int64_t)fg_cursor_uleb(cursor)});
        return true;
    case 0x10: /* expression */
        set_rule(program, number, expression(program, cursor, FG_RULE_AT_RESULT));
        return true;
    case 0x11: /* offset_extended_sf */
        set_offset(program, number, FG_RULE_AT, fg_cursor_sleb(cursor));
        return true;
    case 0x14: /* val_offset */
        set_offset(program, number, FG_RULE_IS, (int64_t)fg_cursor_uleb(cursor));
        return true;
    case 0x15: /* val_offset_sf */
        set_offset(program, number, FG_RULE_IS, fg_cursor_sleb(cursor));
        return true;
    case 0x16: /* val_expression */
        set_rule(program, number, expression(program, cursor, FG_RULE_IS_RESULT));
        return true;
    case 0x2e: /* GNU_args_size: what was its number is the size */
        return true;
    default:
        return false;
    }
}

static void execute(struct program *program, struct fg_cursor *cursor)
{
    uint8_t code = (uint8_t)fg_cursor_fixed(cursor, 1), operand = code & OPERAND;

    switch (code & OPERATION) {
    case ADVANCE:
        advance(program, operand);
        return;
    case OFFSET:
        set_offset(program, operand, FG_RULE_AT, (int64_t)fg_cursor_uleb(cursor));
        return;
    case RESTORE:
        restore(program, operand);
        return;
    default:
        break;
    }
    if (code == 0x00) /* nop */
        return;
    if (code == 0x0a) /* remember_state */
        remember(program);
    else if (code == 0x0b) /* restore_state */
        recall(program);
    else if (!execute_frame(program, cursor, code) && !execute_register(program, cursor, code))
        program->is_wrong = true;
}

/* Return: whether all instructions up to the address are sound. */
static bool run(struct program *program, struct fg_cursor cursor)
{
    while (!fg_cursor_is_at_end(&cursor) && !program->is_wrong && program->location <= program->pc)
        execute(program, &cursor);
    return !cursor.damaged && !program->is_wrong;
}

/* What an entry says of a function, or of a part of one: the frame's layout is executed on demand. */
struct entry {
    struct common common;
    struct fg_range range;
    struct fg_cursor instructions;
};

/* Return: whether a sound entry is about the instruction at an address. */
static bool open_entry(const struct fg_code *code, struct fg_memory *memory, uint64_t pc, struct entry *entry)
{
    const struct fg_segment *in = fg_code_segment(code, pc);
    uint64_t address = in == NULL || in->index == 0 ? 0 : find_entry(in, memory, pc), start, to_common, bytes;
    struct fg_cursor cursor;

    if (address == 0)
        return false;
    cursor = entry_at(in, memory, address);
    start = cursor.at;
    to_common = fg_cursor_fixed(&cursor, 4);
    if (cursor.damaged || to_common == 0 || !read_common(in, memory, start - to_common, &entry->common))
        return false;
    start = fg_cursor_pointer(&cursor, entry->common.pointers);
    bytes = fg_cursor_pointer(&cursor, entry->common.pointers & FG_ENCODING_FORMAT);
    if (pc < start || pc - start >= bytes)
        return false;
    if (entry->common.has_augmentation)
        fg_cursor_skip(&cursor, fg_cursor_uleb(&cursor));
    entry->range = (struct fg_range){start, bytes > UINT64_MAX - start ? UINT64_MAX : start + bytes};
    entry->instructions = cursor;
    return !cursor.damaged;
}

/* Return: whether the instructions of an entry are sound up to an address in its range. */
static bool row_at(const struct entry *entry, uint64_t pc, struct fg_cfi_row *row)
{
    struct program program = {.common = &entry->common, .pc = pc};

    program.row.is_signal_frame = entry->common.is_signal_frame;
    if (!run(&program, entry->common.instructions))
        return false;
    program.initial = program.row;
    program.location = entry->range.low;
    if (!run(&program, entry->instructions))
        return false;
    *row = program.row;
    return true;
}

bool fg_cfi_find(const struct fg_code *code, struct fg_memory *memory, uint64_t pc, struct fg_cfi_row *row)
{
    struct entry entry;

    return open_entry(code, memory, pc, &entry) && row_at(&entry, pc, row);
}

/* After a call there is just the return address below the frame's address. */
static bool is_after_call(const struct fg_cfi_row *row)
{
    return row->frame.kind == FG_RULE_IS && row->frame.base == FG_REGISTER_RSP && row->frame.value == 8;
}

bool fg_cfi_span(const struct fg_code *code, struct fg_memory *memory, uint64_t pc, struct fg_span *span)
{
    struct fg_cfi_row row;
    struct entry entry;

    if (!open_entry(code, memory, pc, &entry) || !row_at(&entry, entry.range.low, &row))
        return false;
    *span = (struct fg_span){entry.range, !is_after_call(&row)};
    return true;
}
