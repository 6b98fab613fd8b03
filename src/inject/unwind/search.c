/* See search.h. */
#include "inject/unwind/search.h"

#include <errno.h>
#include <stdlib.h>

enum {
    WORD_BYTES = 8,
    MAX_WORDS = 16384, /* that are searched */
    MAX_POINTERS = 1024,
    MAX_STEPS = 1 << 14, /* this bounds how long a thread is stopped: to a few milliseconds */
};

struct search {
    struct fg_unwinder *unwinder;
    fg_stack_visit_fn visit;
    void *data;
    size_t steps_left;
    uint64_t from;                     /* the first word's address */
    uint64_t possible[MAX_WORDS / 64]; /* a bit for each word that may be a return address */
    /* What %rbp may be in a frame: code that nothing describes has left it alone, or has saved it. */
    struct {
        uint64_t value;
        bool is_frame; /* a return address is where functions with a frame pointer have it */
    } pointers[MAX_POINTERS];
    size_t nr_pointers;
};

static bool is_marked(const struct search *search, uint64_t at)
{
    uint64_t index = (at - search->from) / WORD_BYTES;

    return index < MAX_WORDS && search->possible[index / 64] >> index % 64 & 1;
}

static void mark(struct search *search, uint64_t at)
{
    uint64_t index = (at - search->from) / WORD_BYTES;

    if (index < MAX_WORDS)
        search->possible[index / 64] |= UINT64_C(1) << index % 64;
}

static bool is_return_address(const struct fg_unwinder *unwinder, uint64_t word)
{
    return fg_code_segment(unwinder->code, word) != NULL &&
           fg_code_is_after_call(unwinder->code, unwinder->memory, word);
}

static bool is_frame_pointer(const struct fg_unwinder *unwinder, uint64_t value)
{
    uint64_t word;

    return fg_memory_read(unwinder->memory, value + WORD_BYTES, &word, sizeof(word)) &&
           fg_code_is_after_call(unwinder->code, unwinder->memory, word);
}

static void add_pointer(struct search *search, uint64_t word)
{
    size_t i;

    if (word % WORD_BYTES || word - search->from >= MAX_WORDS * WORD_BYTES ||
        search->nr_pointers == MAX_POINTERS)
        return;
    for (i = 0; i < search->nr_pointers; i++) {
        if (search->pointers[i].value == word)
            return;
    }
    search->pointers[i].value = word;
    search->pointers[i].is_frame = is_frame_pointer(search->unwinder, word);
    search->nr_pointers++;
}

/* ---- frames */

/* Return: the frame of whoever goes on at a word of the stack, as far as the word tells. */
static struct fg_frame frame_above(uint64_t at, uint64_t word)
{
    struct fg_frame frame = {.is_caller = true};

    frame.registers.values[FG_REGISTER_RSP] = at + WORD_BYTES;
    frame.registers.values[FG_REGISTER_RETURN] = word;
    frame.registers.known = 1U << FG_REGISTER_RSP | 1U << FG_REGISTER_RETURN;
    return frame;
}

static uint64_t address_of_return(const struct fg_frame *frame)
{
    return frame->registers.values[FG_REGISTER_RSP] - WORD_BYTES;
}

/* Unwind until it ends, or leads to a frame that was found to be possible. Return: the last step. */
static enum fg_step unwind(struct search *search, struct fg_frame *frame)
{
    enum fg_step step = FG_STEP_CALLER;

    while (step == FG_STEP_CALLER && search->steps_left > 0 && !is_marked(search, address_of_return(frame))) {
        search->steps_left--;
        step = fg_frame_step(search->unwinder, frame);
    }
    return step;
}

/* Return: whether the frame can be found with one of the values that %rbp may have. */
static bool is_possible_by_pointer(struct search *search, const struct fg_frame *frame)
{
    bool at_pointer = fg_frame_is_at_pointer(search->unwinder, frame);
    size_t i;

    if (search->nr_pointers == MAX_POINTERS || fg_registers_has(&frame->registers, FG_REGISTER_RBP))
        return true; /* nobody knows */
    for (i = 0; i < search->nr_pointers; i++) {
        struct fg_frame with = *frame;

        if (at_pointer &&
            (!search->pointers[i].is_frame || search->pointers[i].value < address_of_return(frame)))
            continue;
        with.registers.values[FG_REGISTER_RBP] = search->pointers[i].value;
        with.registers.known |= 1U << FG_REGISTER_RBP;
        if (unwind(search, &with) != FG_STEP_WRONG)
            return true;
    }
    return false;
}

/* Return: whether unwinding from a frame leads to the end, to other possible frames, or to code that nothing
 * describes. */
static bool is_possible(struct search *search, struct fg_frame frame)
{
    enum fg_step step = unwind(search, &frame);

    return step == FG_STEP_SHORT ? is_possible_by_pointer(search, &frame) : step != FG_STEP_WRONG;
}

/* The frames on its way are possible, too. */
static void visit_possible(struct search *search, struct fg_frame frame)
{
    enum fg_step step = FG_STEP_CALLER;

    while (step == FG_STEP_CALLER && !is_marked(search, address_of_return(&frame))) {
        search->visit(search->data, fg_frame_place(&frame), FG_STACK_POSSIBLE);
        mark(search, address_of_return(&frame));
        step = fg_frame_step(search->unwinder, &frame);
    }
}

/* ---- words */

/* Return: whether the frame that the kernel puts on the stack for a handler begins at an address. A return
 * address that a handler of before has left there has no such frame above it any longer, or a fitting one:
 * then the answer errs on the safe side. See struct rt_sigframe in the kernel's
 * arch/x86/include/asm/sigframe.h. */
static bool is_signal_frame(struct fg_memory *memory, uint64_t at)
{
    enum { LINK = 2, REGISTERS = 6, RSP = REGISTERS + 15, SEGMENTS = REGISTERS + 18, NR_WORDS };
    uint64_t words[NR_WORDS];

    return fg_memory_read(memory, at, words, sizeof(words)) && words[LINK] == 0 &&
           (words[SEGMENTS] & 0xffff) == 0x33 && words[RSP] > at;
}

static int search_words(struct search *search)
{
    uint64_t signal_return = search->unwinder->code->signal_return, at = search->from, word;
    struct fg_memory *memory = search->unwinder->memory;
    size_t i;

    for (i = 0; i < MAX_WORDS && fg_memory_read(memory, at, &word, sizeof(word)); i++, at += WORD_BYTES) {
        struct fg_frame frame = frame_above(at, word);

        if (word == signal_return && word != 0 && is_signal_frame(memory, at))
            return -EINTR;
        if (is_return_address(search->unwinder, word) && is_possible(search, frame))
            visit_possible(search, frame);
        add_pointer(search, word);
    }
    return i == 0 ? -EFAULT : 0;
}

int fg_search(struct fg_unwinder *unwinder, const struct fg_frame *below, fg_stack_visit_fn visit, void *data)
{
    struct search *search = calloc(1, sizeof(*search));
    int error;

    if (search == NULL)
        return -ENOMEM;
    search->unwinder = unwinder;
    search->visit = visit;
    search->data = data;
    search->steps_left = MAX_STEPS;
    search->from = below->registers.values[FG_REGISTER_RSP] & ~(uint64_t)(WORD_BYTES - 1);
    if (fg_registers_has(&below->registers, FG_REGISTER_RBP))
        add_pointer(search, below->registers.values[FG_REGISTER_RBP]);
    error = search_words(search);
    free(search);
    return error;
}
