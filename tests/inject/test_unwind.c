/* Unwinding finds the functions that a thread is in, and takes no dead word of the stack for one. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "inject/unwind/cfi.h"
#include "support/made_process.h"

/* Where whoever called goes on, and the place that is visited: in the call. */
#define RETURN_TO(function) ((uint64_t)(function) + AFTER_CALL)
#define CALL_IN(function) (RETURN_TO(function) - 1)

static struct made_process process;

#define PUT(at, ...)                                                                                         \
    made_process_put(&process, (at), sizeof((uint64_t[]){__VA_ARGS__}) / 8, (uint64_t[]){__VA_ARGS__})

static void expect(const struct visited *visited, size_t nr, const uint64_t *places, enum fg_stack_find find)
{
    size_t i;

    assert(visited->nr == nr);
    for (i = 0; i < nr; i++)
        assert(visited->places[i] == places[i] && visited->finds[i] == find);
}

/* What is found must be just this, surely. */
#define EXPECT(visited, ...)                                                                                 \
    expect(&(visited), sizeof((uint64_t[]){__VA_ARGS__}) / 8, (uint64_t[]){__VA_ARGS__}, FG_STACK_SURE)

static bool has(const struct visited *visited, uint64_t place)
{
    size_t i;

    for (i = 0; i < visited->nr; i++) {
        if (visited->places[i] == place)
            return true;
    }
    return false;
}

static struct visited visit_from(uint64_t rip)
{
    struct visited visited;

    process.regs.rip = rip;
    visited = made_process_visit(&process);
    return visited;
}

static struct fg_span span_at(uint64_t address)
{
    struct fg_span span = {.range = {0, 0}};

    assert(fg_cfi_span(&process.code, &process.memory, address, &span));
    return span;
}

static void test_code_is_told_apart_by_whether_a_call_or_a_jump_leads_to_it(void)
{
    struct fg_span span;

    made_process_open(&process);
    span = span_at(PUSHES + 9);
    assert(span.range.low == PUSHES && span.range.high == PUSHES + 0x100 && !span.is_entered_by_jump);
    span = span_at(FRAMED);
    assert(span.range.low == FRAMED && span.range.high == FRAMED + 0x100 && span.is_entered_by_jump);
    assert(!fg_cfi_span(&process.code, &process.memory, UNKNOWN, &span));
    assert(!fg_cfi_span(&process.code, &process.memory, STACK, &span));
    made_process_close(&process);
}

static void test_callers_are_found_up_to_the_start(void)
{
    struct visited visited;

    made_process_open(&process);
    PUT(STACK, RETURN_TO(LEAF), RETURN_TO(LEAF), RETURN_TO(START));
    visited = visit_from(LEAF + 3);
    assert(visited.result == 0);
    EXPECT(visited, LEAF + 3, CALL_IN(LEAF), CALL_IN(LEAF), CALL_IN(START));
    made_process_close(&process);
}

/* At each instruction of a function that pushes and pops, its caller is at another distance. */
static void test_the_caller_is_found_from_each_instruction(void)
{
    static const struct {
        uint64_t at, words;
    } steps[] = {{0, 0},    {3, 0},    {4, 1},    {7, 1},    {8, 3},
                 {0xbf, 3}, {0xc0, 0}, {0xc7, 0}, {0xc8, 3}, {0xff, 3}};
    size_t i;

    for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct visited visited;

        made_process_open(&process);
        PUT(STACK + 8 * steps[i].words, RETURN_TO(START));
        visited = visit_from(PUSHES + steps[i].at);
        EXPECT(visited, PUSHES + steps[i].at, CALL_IN(START));
        made_process_close(&process);
    }
}

/* PUSHES saves %rbx, which FRAMED does not need, and leaves %rbp, which it does. */
static void test_a_frame_is_found_by_a_register_that_was_kept(void)
{
    struct visited visited;

    made_process_open(&process);
    process.regs.rbp = STACK + 0x100;
    PUT(STACK + 24, RETURN_TO(FRAMED));
    PUT(STACK + 0x100, STACK + 0x200, RETURN_TO(FRAMED));
    PUT(STACK + 0x200, 0, RETURN_TO(START));
    visited = visit_from(PUSHES + 0x50);
    EXPECT(visited, PUSHES + 0x50, CALL_IN(FRAMED), CALL_IN(FRAMED), CALL_IN(START));
    made_process_close(&process);
}

static void test_expressions_lead_to_the_caller(void)
{
    struct visited visited;

    made_process_open(&process);
    process.regs.rbp = STACK + 0x100;
    PUT(STACK + 0xf8, STACK + 0x208, STACK + 0x300); /* the frame's address; the caller's %rbp */
    PUT(STACK + 0x200, RETURN_TO(FRAMED));
    PUT(STACK + 0x300, 0, RETURN_TO(START));
    visited = visit_from(ALIGNED + 0x20);
    EXPECT(visited, ALIGNED + 0x20, CALL_IN(FRAMED), CALL_IN(START));

    made_process_forget(&process);
    PUT(STACK, RETURN_TO(START));
    visited = visit_from(TABLE + 0x1a);
    EXPECT(visited, TABLE + 0x1a, CALL_IN(START));

    made_process_forget(&process);
    PUT(STACK, 0, RETURN_TO(START));
    visited = visit_from(TABLE + 0x1b);
    EXPECT(visited, TABLE + 0x1b, CALL_IN(START));
    made_process_close(&process);
}

static void test_a_caller_in_registers_is_found(void)
{
    struct visited visited;

    made_process_open(&process);
    process.regs.rbx = STACK + 0x80;
    process.regs.r12 = RETURN_TO(FRAMED);
    /* %rbp is %r12 + 8 there: FRAMED's frame would be in the code, below the stack. */
    visited = visit_from(SAVES_SP + 0x20);
    assert(visited.nr >= 2 && visited.places[1] == CALL_IN(FRAMED));
    made_process_close(&process);
}

/* The kernel puts the address on the stack, so no call is before it. */
static void test_a_signal_handler_is_told(void)
{
    struct visited visited;

    made_process_open(&process);
    PUT(STACK, RETURN_TO(LEAF), RETURNS + 1);
    visited = visit_from(LEAF);
    assert(visited.result == -EINTR);
    EXPECT(visited, LEAF, CALL_IN(LEAF));
    made_process_close(&process);
}

/* Without its description, it is known by its address, and by the frame above it. */
static void test_a_signal_handler_that_nothing_describes_is_told(void)
{
    enum { FLAGS = 2, RSP = 6 + 15, SEGMENTS = 6 + 18 };
    struct visited visited;

    made_process_open(&process);
    process.code.signal_return = UNKNOWN + 0x80;
    PUT(STACK, RETURN_TO(LEAF), UNKNOWN + 0x80);
    PUT(STACK + 8 + 8 * RSP, STACK + 0x400);
    PUT(STACK + 8 + 8 * SEGMENTS, 0x33);
    assert(visit_from(LEAF).result == -EINTR);
    assert(visit_from(UNKNOWN).result == -EINTR);
    PUT(STACK + 8 + 8 * FLAGS, 1);
    made_process_forget(&process);
    visited = visit_from(UNKNOWN); /* the frame is dead: something has been written to it */
    assert(visited.result == 0);
    made_process_close(&process);
}

/* ---- dead words */

/* True return addresses and function starts fill all that PUSHES and FRAMED do not write. */
static void test_dead_words_in_live_frames_are_not_seen(void)
{
    static const uint64_t dead[] = {RETURN_TO(TABLE), TABLE,           RETURN_TO(ALIGNED),
                                    ALIGNED,          RETURN_TO(LEAF), LEAF};
    struct visited visited;
    uint64_t at;

    made_process_open(&process);
    for (at = STACK; at < STACK_END; at += 8)
        PUT(at, dead[at / 8 % 6]);
    process.regs.rbp = STACK + 0x1000;
    PUT(STACK + 24, RETURN_TO(FRAMED));
    PUT(STACK + 0x1000, STACK + 0x3000, RETURN_TO(FRAMED));
    PUT(STACK + 0x3000, 0, RETURN_TO(START));
    visited = visit_from(PUSHES + 0x50);
    assert(visited.result == 0);
    EXPECT(visited, PUSHES + 0x50, CALL_IN(FRAMED), CALL_IN(FRAMED), CALL_IN(START));
    made_process_close(&process);
}

static void test_above_unknown_code_true_callers_are_found_and_most_dead_words_are_not(void)
{
    struct visited visited;

    made_process_open(&process);
    PUT(STACK + 0x18, RETURN_TO(TABLE), 5, 6);    /* its frame would have 5 as return address */
    PUT(STACK + 0x40, TABLE, TABLE + 1, ALIGNED); /* functions */
    PUT(STACK + 0x80, RETURN_TO(PUSHES), 1, 2, 3, RETURN_TO(LEAF), RETURN_TO(START));
    PUT(STACK + 0x100, RETURN_TO(ALIGNED) + 1, STACK_END, UINT64_MAX);
    visited = visit_from(UNKNOWN + 0x10);
    assert(visited.result == 0);
    assert(visited.nr == 4 && visited.places[0] == UNKNOWN + 0x10 && visited.finds[0] == FG_STACK_SURE);
    assert(has(&visited, CALL_IN(PUSHES)) && has(&visited, CALL_IN(LEAF)) && has(&visited, CALL_IN(START)));
    assert(visited.finds[1] == FG_STACK_POSSIBLE && visited.finds[3] == FG_STACK_POSSIBLE);
    made_process_close(&process);
}

/* Unknown code, known code, unknown code: unwinding from the first true word ends in the second. */
static void test_a_caller_between_unknown_code_is_found(void)
{
    struct visited visited;

    made_process_open(&process);
    PUT(STACK + 0x40, RETURN_TO(LEAF), RETURN_TO(UNKNOWN));
    PUT(STACK + 0x400, RETURN_TO(PUSHES), 0, 0, 0, RETURN_TO(START));
    visited = visit_from(UNKNOWN);
    assert(has(&visited, CALL_IN(LEAF)) && has(&visited, CALL_IN(UNKNOWN)));
    assert(has(&visited, CALL_IN(PUSHES)) && has(&visited, CALL_IN(START)));
    made_process_close(&process);
}

/* A word whose frame would need another value of the register is dead. */
static void test_a_caller_by_a_register_that_unknown_code_has_left_or_saved_is_found(void)
{
    struct visited visited;

    made_process_open(&process);
    process.regs.rbp = 1;
    PUT(STACK + 0x40, RETURN_TO(FRAMED));
    PUT(STACK + 0x100, 0, RETURN_TO(START));
    visited = visit_from(UNKNOWN);
    assert(visited.nr == 2 && !has(&visited, CALL_IN(FRAMED)));
    process.regs.rbp = STACK + 0x100; /* it has left it alone */
    visited = visit_from(UNKNOWN);
    assert(visited.nr == 3 && has(&visited, CALL_IN(FRAMED)));
    process.regs.rbp = 1;
    PUT(STACK + 0x10, STACK + 0x100); /* it has saved it */
    made_process_forget(&process);
    visited = visit_from(UNKNOWN);
    assert(visited.nr == 3 && has(&visited, CALL_IN(FRAMED)));
    made_process_close(&process);
}

static void test_what_leads_nowhere_ends(void)
{
    struct visited visited;

    made_process_open(&process);
    process.regs.rbp = STACK; /* the caller's frame would not be above */
    process.regs.rsp = STACK + 0x100;
    PUT(STACK, 0, RETURN_TO(FRAMED));
    visited = visit_from(FRAMED + 0x50);
    assert(visited.result == 0 && visited.nr == 1);
    process.regs.rsp = STACK_END;
    assert(visit_from(LEAF).result == -EFAULT);
    process.regs.rsp = UINT64_MAX - 7;
    assert(visit_from(LEAF).result == -EFAULT);
    made_process_close(&process);
}

/* ---- calls */

static bool is_after_call(const unsigned char *bytes, size_t nr)
{
    enum { AT = UNKNOWN + 0x20 };
    bool is_after;

    made_process_open(&process);
    memset(process.image + (AT - 16 - CODE), 0x90, 16);
    memcpy(process.image + (AT - nr - CODE), bytes, nr);
    is_after = fg_code_is_after_call(&process.code, &process.memory, AT);
    made_process_close(&process);
    return is_after;
}

#define IS_AFTER_CALL(...)                                                                                   \
    is_after_call((unsigned char[]){__VA_ARGS__}, sizeof((unsigned char[]){__VA_ARGS__}))

/* As GNU as encodes them. */
static void test_each_encoding_of_a_call_is_known(void)
{
    assert(IS_AFTER_CALL(0xe8, 0, 0xf8, 0xff, 0xff));                   /* call LEAF's neighbour */
    assert(IS_AFTER_CALL(0xff, 0xd0));                                  /* call *%rax */
    assert(IS_AFTER_CALL(0x41, 0xff, 0xd7));                            /* call *%r15 */
    assert(IS_AFTER_CALL(0xff, 0x13));                                  /* call *(%rbx) */
    assert(IS_AFTER_CALL(0xff, 0x15, 1, 2, 3, 4));                      /* call *0x4030201(%rip) */
    assert(IS_AFTER_CALL(0xff, 0x14, 0x24));                            /* call *(%rsp) */
    assert(IS_AFTER_CALL(0xff, 0x14, 0xc5, 1, 2, 3, 4));                /* call *0x4030201(,%rax,8) */
    assert(IS_AFTER_CALL(0xff, 0x50, 0x18));                            /* call *0x18(%rax) */
    assert(IS_AFTER_CALL(0x41, 0xff, 0x54, 0xc4, 8));                   /* call *8(%r12,%rax,8) */
    assert(IS_AFTER_CALL(0xff, 0x93, 1, 2, 3, 4));                      /* call *0x4030201(%rbx) */
    assert(IS_AFTER_CALL(0xff, 0x94, 0xc3, 1, 2, 3, 4));                /* call *0x4030201(%rbx,%rax,8) */
    assert(IS_AFTER_CALL(0x66, 0x66, 0x48, 0xe8, 0, 0xf8, 0xff, 0xff)); /* call __tls_get_addr */
}

static void test_what_is_no_call_is_none(void)
{
    assert(!IS_AFTER_CALL(0x55));                         /* push %rbp: a function's start */
    assert(!IS_AFTER_CALL(0xe8, 0, 0, 0, 0x7f));          /* leads out of the image */
    assert(!IS_AFTER_CALL(0xe8, 0, 0xf8, 0xff, 0xff, 0)); /* the middle of an instruction */
    assert(!IS_AFTER_CALL(0xe9, 0, 0xf8, 0xff, 0xff));    /* jmp */
    assert(!IS_AFTER_CALL(0xff, 0xe0));                   /* jmp *%rax */
    assert(!IS_AFTER_CALL(0xff, 0x73, 8));                /* push 8(%rbx) */
    assert(!IS_AFTER_CALL(0xff, 0x15, 1, 2, 3));          /* cut off */
    assert(!IS_AFTER_CALL(0xff, 0x50));
    made_process_open(&process);
    assert(!fg_code_is_after_call(&process.code, &process.memory, 0));
    assert(!fg_code_is_after_call(&process.code, &process.memory, 7));
    assert(!fg_code_is_after_call(&process.code, &process.memory, CODE));
    assert(!fg_code_is_after_call(&process.code, &process.memory, UINT64_MAX));
    made_process_close(&process);
}

/* The process is stopped meanwhile: nothing is read twice. */
static void test_each_page_is_read_once(void)
{
    uint64_t at;

    made_process_open(&process);
    for (at = STACK; at < STACK + 0x1000; at += 8)
        PUT(at, RETURN_TO(LEAF));
    PUT(at, RETURN_TO(START));
    assert(made_process_visit(&process).nr == 0x1000 / 8 + 2);
    assert(process.nr_reads == 4); /* of the code, the tables, and two of the stack */
    made_process_close(&process);
}

int main(void)
{
    test_code_is_told_apart_by_whether_a_call_or_a_jump_leads_to_it();
    test_callers_are_found_up_to_the_start();
    test_the_caller_is_found_from_each_instruction();
    test_a_frame_is_found_by_a_register_that_was_kept();
    test_expressions_lead_to_the_caller();
    test_a_caller_in_registers_is_found();
    test_a_signal_handler_is_told();
    test_a_signal_handler_that_nothing_describes_is_told();
    test_dead_words_in_live_frames_are_not_seen();
    test_above_unknown_code_true_callers_are_found_and_most_dead_words_are_not();
    test_a_caller_between_unknown_code_is_found();
    test_a_caller_by_a_register_that_unknown_code_has_left_or_saved_is_found();
    test_what_leads_nowhere_ends();
    test_each_encoding_of_a_call_is_known();
    test_what_is_no_call_is_none();
    test_each_page_is_read_once();
    return 0;
}
