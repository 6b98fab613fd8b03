/* Parked frames are found by their frame pointer, whatever else is parked. Of several with equal frame
 * pointers, the latest comes first.
 *
 * Fails if growing the table reverses its chains, or if take_from() skips the frame after the one it
 * took. */
#include "engine/graph/parked.h"
#include "support/check.h"

#define NR_FRAMES 3000u

static uintptr_t fp_of(uint64_t i)
{
    return 0x7f0000000000u + i / 2 * 16; /* two frames per frame pointer */
}

static void park(uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        CHECK(fg_parked_put(fp_of(i), &i, 1));
}

static void test_the_latest_of_equal_frame_pointers_comes_first(void)
{
    park(0, NR_FRAMES);
    CHECK_EQ(fg_parked_count(), NR_FRAMES);
    for (uint64_t i = 0; i < NR_FRAMES; i++) {
        struct fg_parked *parked = fg_parked_take(fp_of(i));

        CHECK(parked && parked->fp == fp_of(i));
        CHECK_EQ(parked->words[0], i ^ 1); /* the later of the two first */
        fg_parked_free(parked);
    }
    CHECK_EQ(fg_parked_count(), 0);
    CHECK(!fg_parked_take(fp_of(0)));
}

static bool is_multiple(const struct fg_parked *parked, void *arg)
{
    return parked->words[0] % *(const uint64_t *)arg == 0;
}

static void test_all_that_match_are_taken_and_no_others(void)
{
    uint64_t three = 3, one = 1, n = 0;

    park(0, NR_FRAMES);
    for (struct fg_parked *at = fg_parked_take_all(is_multiple, &three), *next; at; at = next, n++) {
        next = at->next;
        CHECK_EQ(at->words[0] % 3, 0);
        fg_parked_free(at);
    }
    CHECK_EQ(n, NR_FRAMES / 3);
    CHECK(!fg_parked_any(is_multiple, &three));
    CHECK_EQ(fg_parked_count(), NR_FRAMES - NR_FRAMES / 3);
    for (uint64_t i = 0; i < NR_FRAMES; i++) {
        struct fg_parked *parked = i % 3 ? fg_parked_take_if(is_multiple, &one) : NULL;

        CHECK_EQ(parked != NULL, i % 3 != 0);
        if (parked)
            fg_parked_free(parked);
    }
    CHECK_EQ(fg_parked_count(), 0);
}

int main(void)
{
    test_the_latest_of_equal_frame_pointers_comes_first();
    test_all_that_match_are_taken_and_no_others();
    return 0;
}
