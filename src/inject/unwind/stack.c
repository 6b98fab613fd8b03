#include "inject/unwind/stack.h"

#include <errno.h>
#include <string.h>

#include "inject/unwind/frame.h"

enum {
    WORD_BYTES = 8,
    MAX_WORDS = 16384, /* that are searched */
    /* Together they bound how long a thread is stopped: to a few milliseconds. */
    MAX_FRAMES = 1 << 15,
    MAX_TRIES = 1 << 14,
};

struct search {
    struct fg_unwinder unwinder;
    fg_stack_visit_fn visit;
    void *data;
    size_t tries_left;
    uint64_t from;                     /* the first word's address */
    uint64_t possible[MAX_WORDS / 64]; /* a bit for each word that may be a return address */
};

static struct fg_frame first_frame(const struct user_regs_struct *regs)
{
    const uint64_t values[FG_NR_REGISTERS] = {
        regs->rax, regs->rdx, regs->rcx, regs->rbx, regs->rsi, regs->rdi, regs->rbp, regs->rsp, regs->r8,
        regs->r9,  regs->r10, regs->r11, regs->r12, regs->r13, regs->r14, regs->r15, regs->rip,
    };
    struct fg_frame frame = {.registers.known = (1U << FG_NR_REGISTERS) - 1};

    memcpy(frame.registers.values, values, sizeof(values));
    return frame;
}

/* ---- words that may be return addresses */

/* Return: the frame of whoever goes on at a word of the stack, as far as the word tells. */
static struct fg_frame frame_above(uint64_t at, uint64_t word)
{
    struct fg_frame frame = {.is_caller = true};

    frame.registers.values[FG_REGISTER_RSP] = at + WORD_BYTES;
    frame.registers.values[FG_REGISTER_RETURN] = word;
    frame.registers.known = 1U << FG_REGISTER_RSP | 1U << FG_REGISTER_RETURN;
    return frame;
}

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

static uint64_t address_of_return(const struct fg_frame *frame)
{
    return frame->registers.values[FG_REGISTER_RSP] - WORD_BYTES;
}

/* Return: whether unwinding from a frame leads to the end, to other possible frames, or to code that nothing
 * describes. */
static bool is_possible(struct search *search, struct fg_frame frame)
{
    enum fg_step step = FG_STEP_CALLER;

    while (step == FG_STEP_CALLER && search->tries_left > 0 &&
           !is_marked(search, address_of_return(&frame))) {
        search->tries_left--;
        step = fg_frame_step(&search->unwinder, &frame);
    }
    return step != FG_STEP_WRONG;
}

/* The frames on its way are possible, too. */
static void visit_possible(struct search *search, struct fg_frame frame)
{
    enum fg_step step = FG_STEP_CALLER;

    while (step == FG_STEP_CALLER && !is_marked(search, address_of_return(&frame))) {
        search->visit(search->data, fg_frame_place(&frame), FG_STACK_POSSIBLE);
        mark(search, address_of_return(&frame));
        step = fg_frame_step(&search->unwinder, &frame);
    }
}

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

static bool is_return_address(const struct search *search, uint64_t word)
{
    const struct fg_unwinder *unwinder = &search->unwinder;

    return fg_code_segment(unwinder->code, word) != NULL &&
           fg_code_is_after_call(unwinder->code, unwinder->memory, word);
}

/* Search the rest of a stack. Return: as fg_stack_visit(). */
static int search_words(struct search *search, uint64_t from)
{
    uint64_t signal_return = search->unwinder.code->signal_return, at = from, word;
    struct fg_memory *memory = search->unwinder.memory;
    size_t i;

    search->from = from;
    for (i = 0; i < MAX_WORDS && fg_memory_read(memory, at, &word, sizeof(word)); i++, at += WORD_BYTES) {
        struct fg_frame frame = frame_above(at, word);

        if (word == signal_return && word != 0 && is_signal_frame(memory, at))
            return -EINTR;
        if (is_return_address(search, word) && is_possible(search, frame))
            visit_possible(search, frame);
    }
    return i == 0 ? -EFAULT : 0;
}

/* ---- all of it */

static int walk(struct search *search, struct fg_frame frame)
{
    enum fg_step step = FG_STEP_CALLER;
    size_t i;

    for (i = 0; i < MAX_FRAMES && step == FG_STEP_CALLER; i++) {
        search->visit(search->data, fg_frame_place(&frame), FG_STACK_SURE);
        step = fg_frame_step(&search->unwinder, &frame);
    }
    if (step == FG_STEP_END)
        return 0;
    if (step == FG_STEP_SIGNAL)
        return -EINTR;
    return search_words(search, frame.registers.values[FG_REGISTER_RSP] & ~(uint64_t)(WORD_BYTES - 1));
}

int fg_stack_visit(const struct fg_code *code, struct fg_memory *memory, const struct user_regs_struct *regs,
                   fg_stack_visit_fn visit, void *data)
{
    struct search search = {.visit = visit, .data = data, .tries_left = MAX_TRIES};
    int error = fg_unwinder_open(&search.unwinder, code, memory);

    if (error == 0)
        error = walk(&search, first_frame(regs));
    fg_unwinder_close(&search.unwinder);
    return error;
}
