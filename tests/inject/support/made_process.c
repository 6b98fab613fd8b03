/* See made_process.h. */
#include "support/made_process.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* ---- writing the tables */

struct writer {
    unsigned char *image;
    uint64_t at;
};

static void put(struct writer *writer, uint64_t number, size_t bytes)
{
    memcpy(writer->image + (writer->at - CODE), &number, bytes);
    writer->at += bytes;
}

static void put_bytes(struct writer *writer, const void *bytes, size_t size)
{
    memcpy(writer->image + (writer->at - CODE), bytes, size);
    writer->at += size;
}

enum {
    DEF_CFA = 0x0c,
    DEF_CFA_OFFSET = 0x0e,
    DEF_CFA_EXPRESSION = 0x0f,
    EXPRESSION = 0x10,
    UNDEFINED = 0x07
};
enum { REMEMBER = 0x0a, RECALL = 0x0b, IN_REGISTER = 0x09, VAL_EXPRESSION = 0x16 };
enum { ADVANCE = 0x40, OFFSET = 0x80, RESTORE = 0xc0 };
enum { RBX = 3, RBP = 6, RSP = 7, R12 = 12, RA = 16 };

static void begin(struct writer *writer, uint64_t *start)
{
    *start = writer->at;
    put(writer, 0, 4);
}

static void end(struct writer *writer, uint64_t start)
{
    uint32_t bytes;

    while ((writer->at - start) % 8)
        put(writer, 0, 1);
    bytes = (uint32_t)(writer->at - start - 4);
    memcpy(writer->image + (start - CODE), &bytes, 4);
}

/* What functions have in common: they begin with their return address at the frame's address - 8. */
static uint64_t put_common(struct writer *writer, const char *letters)
{
    static const unsigned char initial[] = {DEF_CFA, RSP, 8, OFFSET | RA, 1};
    uint64_t start;

    begin(writer, &start);
    put(writer, 0, 4);
    put(writer, 1, 1);
    put_bytes(writer, letters, strlen(letters) + 1);
    put(writer, 1, 1);    /* units of code */
    put(writer, 0x78, 1); /* -8, of data */
    put(writer, RA, 1);
    put(writer, 1, 1);    /* bytes of what R says */
    put(writer, 0x1b, 1); /* relative, 4 bytes with a sign */
    put_bytes(writer, initial, sizeof(initial));
    end(writer, start);
    return start;
}

struct description {
    uint64_t function;
    unsigned char instructions[32];
    size_t bytes;
};

static const struct description descriptions[] = {
    {LEAF, {0}, 0},
    {PUSHES,
     {ADVANCE | 4, DEF_CFA_OFFSET, 16, OFFSET | RBX, 2, ADVANCE | 4, DEF_CFA_OFFSET, 32, 0x03, 0xb8, 0,
      REMEMBER, DEF_CFA_OFFSET, 8, RESTORE | RBX, ADVANCE | 8, RECALL},
     17},
    {FRAMED, {DEF_CFA, RBP, 16, OFFSET | RBP, 2}, 5},
    /* breg6 -8, deref; %rbp was saved at breg6 0 */
    {ALIGNED, {DEF_CFA_EXPRESSION, 3, 0x76, 0x78, 0x06, EXPRESSION, RBP, 2, 0x76, 0}, 10},
    /* breg7 8, breg16 0, lit15, and, lit11, ge, lit3, shl, plus */
    {TABLE, {DEF_CFA_EXPRESSION, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}, 13},
    {START, {UNDEFINED, RA}, 2},
    {RETURNS, {0}, 0},
    /* The frame's address is the value of %rbx; the return address is in a register; so is %rbp, + 8. */
    {SAVES_SP, {DEF_CFA, RBX, 0, IN_REGISTER, RA, R12, VAL_EXPRESSION, RBP, 2, 0x7c, 8}, 11},
};
enum { NR_DESCRIPTIONS = sizeof(descriptions) / sizeof(descriptions[0]) };

static uint64_t put_description(struct writer *writer, const struct description *description, uint64_t common)
{
    uint64_t start;

    begin(writer, &start);
    put(writer, writer->at - common, 4);
    put(writer, description->function - writer->at, 4);
    put(writer, 0x100, 4);
    put(writer, 0, 1);
    put_bytes(writer, description->instructions, description->bytes);
    end(writer, start);
    return start;
}

static void put_tables(unsigned char *image)
{
    struct writer tables = {image, TABLES}, index = {image, INDEX};
    uint64_t usual = put_common(&tables, "zR"), of_signals = put_common(&tables, "zRS");
    size_t i;

    put(&index, 0x3b031b01, 4);
    put(&index, TABLES - index.at, 4);
    put(&index, NR_DESCRIPTIONS, 4);
    for (i = 0; i < NR_DESCRIPTIONS; i++) {
        bool is_of_signals = descriptions[i].function == RETURNS;
        uint64_t entry = put_description(&tables, &descriptions[i], is_of_signals ? of_signals : usual);

        put(&index, descriptions[i].function - INDEX, 4);
        put(&index, entry - INDEX, 4);
    }
    assert(index.at <= TABLES && tables.at <= IMAGE_END);
}

static void put_calls(unsigned char *image)
{
    uint64_t function;

    for (function = LEAF; function <= UNKNOWN; function += 0x100) {
        struct writer code = {image, function + AFTER_CALL - 5};

        put(&code, 0xe8, 1);
        put(&code, LEAF - (code.at + 4), 4);
    }
}

/* ---- the process */

static ssize_t read_made(const void *source, uint64_t address, void *into, size_t bytes)
{
    struct made_process *process = (struct made_process *)(uintptr_t)source;

    process->nr_reads++;
    assert(address % 4096 == 0 && bytes == 4096);
    if (address >= CODE && address < IMAGE_END)
        memcpy(into, process->image + (address - CODE), bytes);
    else if (address >= STACK && address < STACK_END)
        memcpy(into, (char *)process->stack + (address - STACK), bytes);
    else
        return -EIO;
    return (ssize_t)bytes;
}

void made_process_open(struct made_process *process)
{
    memset(process, 0, sizeof(*process));
    memset(process->image, 0x90, sizeof(process->image));
    put_calls(process->image);
    put_tables(process->image);
    process->segment = (struct fg_segment){CODE, END_OF_CODE, CODE, IMAGE_END, INDEX, TABLES - INDEX};
    process->code = (struct fg_code){.segments = &process->segment, .nr_segments = 1};
    process->regs.rsp = STACK;
    process->regs.rip = LEAF;
    assert(fg_memory_open(&process->memory, read_made, process) == 0);
}

void made_process_close(struct made_process *process)
{
    fg_memory_close(&process->memory);
}

void made_process_forget(struct made_process *process)
{
    fg_memory_close(&process->memory);
    assert(fg_memory_open(&process->memory, read_made, process) == 0);
}

void made_process_put(struct made_process *process, uint64_t at, size_t nr_words, const uint64_t *words)
{
    assert(at >= STACK && at + nr_words * 8 <= STACK_END);
    memcpy((char *)process->stack + (at - STACK), words, nr_words * 8);
}

static void visit(void *data, uint64_t place, enum fg_stack_find find)
{
    struct visited *visited = data;

    if (visited->nr < sizeof(visited->places) / sizeof(visited->places[0])) {
        visited->places[visited->nr] = place;
        visited->finds[visited->nr] = find;
    }
    visited->nr++;
}

struct visited made_process_visit(struct made_process *process)
{
    struct visited visited = {.nr = 0};

    visited.result = fg_stack_visit(&process->code, &process->memory, &process->regs, visit, &visited);
    return visited;
}
