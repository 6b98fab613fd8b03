/* A growing array keeps its elements, and refuses a size that overflows.
 *
 * Fails without the size check, or if zeroing starts at the new capacity. */
#include <errno.h>
#include <stdint.h>

#include "engine/base/array.h"
#include "support/check.h"

struct thing {
    uint64_t one, two, three;
};

static void test_elements_stay(void)
{
    struct thing *things = NULL;
    size_t capacity = 0;

    for (size_t n = 0; n < 1000; n++) {
        CHECK_EQ(fg_array_reserve(&things, &capacity, n + 1), 0);
        CHECK(capacity > n);
        things[n] = (struct thing){n, 2 * n, 3 * n};
    }
    for (size_t n = 0; n < 1000; n++)
        CHECK(things[n].one == n && things[n].two == 2 * n && things[n].three == 3 * n);
    CHECK(capacity < 2048); /* doubles */
    free(things);
}

static void test_new_elements_are_zero(void)
{
    uint32_t *numbers = NULL;
    size_t capacity = 0;

    for (size_t n = 1; n < 5000; n *= 3) {
        CHECK_EQ(fg_array_reserve_zeroed(&numbers, &capacity, n), 0);
        for (size_t i = n / 3; i < capacity; i++)
            CHECK_EQ(numbers[i], 0);
        memset(numbers, 0xff, n * sizeof(*numbers));
    }
    free(numbers);
}

static void test_a_size_that_overflows_is_refused(void)
{
    struct thing *things = NULL;
    size_t capacity = 0;

    CHECK_EQ(fg_array_reserve(&things, &capacity, 3), 0);
    things[2].three = 33;
    CHECK_EQ(fg_array_reserve(&things, &capacity, SIZE_MAX / sizeof(*things) + 2), -ENOMEM);
    CHECK_EQ(fg_array_reserve(&things, &capacity, SIZE_MAX), -ENOMEM);
    CHECK(capacity >= 3 && capacity < 100);
    CHECK_EQ(things[2].three, 33);
    free(things);
}

int main(void)
{
    test_elements_stay();
    test_new_elements_are_zero();
    test_a_size_that_overflows_is_refused();
    return 0;
}
