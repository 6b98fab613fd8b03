/* Damaged and hostile tables and stacks: unwinding ends, reads nothing that is not there (ASan watches), and
 * stays within what it may take while the thread is stopped. */
#include <assert.h>
#include <stdlib.h>

#include "support/made_process.h"

enum { MAX_VISITS = (STACK_END - STACK) / 8 + 1 }; /* each caller's frame is higher up */

static struct made_process process;

static void fill_stack(void)
{
    static const uint64_t words[] = {LEAF + AFTER_CALL,
                                     PUSHES + AFTER_CALL,
                                     FRAMED + AFTER_CALL,
                                     TABLE + AFTER_CALL,
                                     START + AFTER_CALL,
                                     STACK + 0x800,
                                     LEAF,
                                     0};
    uint64_t at;

    for (at = STACK; at < STACK + 0x800; at += 8)
        made_process_put(&process, at, 1, &words[(at / 8 * 5 + at / 64) % 8]);
    process.regs.rbp = STACK + 0x80;
    process.regs.rbx = STACK + 0x180;
}

/* From each third function: another third at another `round`. */
static void visit_from_some(unsigned round)
{
    uint64_t function;

    for (function = LEAF + (uint64_t)0x100 * (round % 3); function <= UNKNOWN; function += 0x300) {
        made_process_forget(&process);
        process.regs.rip = function + 0x50;
        assert(made_process_visit(&process).nr <= MAX_VISITS);
    }
}

static void test_any_byte_of_the_tables_may_be_any_other(void)
{
    static const unsigned char values[] = {0x00, 0x0b, 0x7f, 0x80, 0xff};
    size_t i, value;

    made_process_open(&process);
    fill_stack();
    for (i = INDEX - CODE; i < TABLES + 0x200 - CODE; i++) {
        unsigned char before = process.image[i];

        for (value = 0; value < sizeof(values); value++) {
            process.image[i] = values[value];
            visit_from_some((unsigned)(i + value));
        }
        process.image[i] = before;
    }
    made_process_close(&process);
}

static void test_many_bytes_of_all_of_it_may_be_any_others(void)
{
    unsigned seed;

    for (seed = 0; seed < 600; seed++) {
        int i, nr = 1 + (int)(seed % 40);

        srand(seed);
        made_process_open(&process);
        fill_stack();
        for (i = 0; i < nr; i++) {
            process.image[INDEX - CODE + (unsigned)rand() % (IMAGE_END - INDEX)] = (unsigned char)rand();
            process.stack[(unsigned)rand() % (sizeof(process.stack) / 8)] = STACK + (unsigned)rand() % 0x5000;
        }
        visit_from_some(seed);
        made_process_close(&process);
    }
}

/* Tables that say they are where nothing is, or at the end of all addresses. */
static void test_tables_may_be_anywhere(void)
{
    static const uint64_t addresses[] = {0,         1, CODE, IMAGE_END - 4, IMAGE_END, STACK, UINT64_MAX - 15,
                                         UINT64_MAX};
    size_t i, k;

    made_process_open(&process);
    fill_stack();
    for (i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        for (k = 0; k < sizeof(addresses) / sizeof(addresses[0]); k++) {
            process.segment.index = addresses[i];
            process.segment.index_bytes = addresses[k];
            visit_from_some((unsigned)(i + k));
        }
    }
    made_process_close(&process);
}

int main(void)
{
    test_any_byte_of_the_tables_may_be_any_other();
    test_many_bytes_of_all_of_it_may_be_any_others();
    test_tables_may_be_anywhere();
    return 0;
}
