/* No thread stands still for long beside one that is late, and the late one is waited for long enough. */
#include "arch/native/patience.h"
#include "support/check.h"

struct standing {
    int tries;
    long all_ns, longest_ns;
};

/* Waits for a thread that never stops. */
static struct standing wait_in_vain(bool is_starved)
{
    struct fg_patience patience = fg_patience_begin();
    struct standing standing = {.tries = 0};
    bool goes_on = true;
    long run_ns;

    CHECK_EQ(patience.try_ns, 5000000);
    while (goes_on) {
        long try_ns = patience.try_ns;

        standing.tries++;
        standing.all_ns += try_ns;
        standing.longest_ns = try_ns > standing.longest_ns ? try_ns : standing.longest_ns;
        goes_on = fg_patience_next(&patience, is_starved, &run_ns);
        CHECK_EQ(run_ns, try_ns); /* they run for as long as they stood */
        CHECK(patience.try_ns >= try_ns);
    }
    return standing;
}

static void test_a_starved_thread(void)
{
    struct standing standing = wait_in_vain(true);

    CHECK(standing.longest_ns <= 160000000);
    CHECK(standing.all_ns >= 2000000000 && standing.all_ns < 2000000000 + standing.longest_ns);
    CHECK_EQ(standing.tries, 17);
}

static void test_a_thread_that_blocks_the_signal(void)
{
    struct standing standing = wait_in_vain(false);

    CHECK(standing.all_ns >= 200000000 && standing.all_ns < 400000000);
    CHECK_EQ(standing.tries, 6);
}

int main(void)
{
    test_a_starved_thread();
    test_a_thread_that_blocks_the_signal();
    return 0;
}
