/* A hash table finds each value that was added and not removed, also where values share slots or have
 * equal hashes.
 *
 * Fails if a removal empties its slot without moving later values up. */
#include <errno.h>

#include "engine/base/hash_table.h"
#include "support/check.h"

#define NR_KEYS 5000u

static void check_keys(const struct fg_hash_table *table, const bool *is_there)
{
    size_t n = 0;

    for (uint64_t key = 0; key < NR_KEYS; key++) {
        CHECK_EQ(fg_hash_find(table, fg_hash_uint64(key * 16)), is_there[key] ? key + 1 : 0);
        n += is_there[key];
    }
    CHECK_EQ(table->n, n);
}

static void test_keys_come_and_go(void)
{
    static bool is_there[NR_KEYS];
    struct fg_hash_table table = {0};
    uint32_t random = 1;

    check_keys(&table, is_there);
    for (unsigned step = 0; step < 20 * NR_KEYS; step++) {
        uint64_t key = (random = random * 1664525u + 1013904223u) >> 8, hash;

        key %= NR_KEYS;
        hash = fg_hash_uint64(key * 16);
        if (is_there[key])
            fg_hash_remove(&table, fg_hash_first(&table, hash));
        else
            CHECK_EQ(fg_hash_add(&table, hash, key + 1), 0);
        is_there[key] = !is_there[key];
        if (step % NR_KEYS == 0)
            check_keys(&table, is_there);
    }
    check_keys(&table, is_there);
    fg_hash_clear(&table);
    CHECK_EQ(table.n, 0);
    CHECK(!fg_hash_first(&table, 0));
}

/* All hashes want the last slots, so the run of used slots wraps around. */
static void test_runs_go_round_the_end(void)
{
    struct fg_hash_table table = {0};

    for (uint64_t i = 0; i < 6; i++)
        CHECK_EQ(fg_hash_add(&table, 14 + 16 * i, i + 1), 0);
    CHECK_EQ(table.nr_slots, 16);
    CHECK_EQ(fg_hash_add(&table, 1, 100), 0);
    fg_hash_remove(&table, fg_hash_first(&table, 14));
    CHECK_EQ(fg_hash_find(&table, 14), 0);
    for (uint64_t i = 1; i < 6; i++)
        CHECK_EQ(fg_hash_find(&table, 14 + 16 * i), i + 1);
    CHECK_EQ(fg_hash_find(&table, 1), 100);
    fg_hash_clear(&table);
}

static void test_values_with_one_hash_are_all_found(void)
{
    struct fg_hash_table table = {0};
    uint64_t seen = 0;

    for (uint64_t value = 1; value <= 40; value++)
        CHECK_EQ(fg_hash_add(&table, value % 2, value), 0);
    for (struct fg_hash_slot *slot = fg_hash_first(&table, 1); slot; slot = fg_hash_next(&table, slot)) {
        CHECK(!(seen >> slot->value & 1));
        seen |= 1ull << slot->value;
    }
    CHECK_EQ(seen, 0xaaaaaaaaaaull & ((2ull << 40) - 1));
    fg_hash_clear(&table);
}

static void test_after_a_reservation_an_add_needs_no_memory(void)
{
    struct fg_hash_table table = {0};

    for (uint64_t value = 1; value <= 100; value++) {
        const struct fg_hash_slot *slots;

        CHECK_EQ(fg_hash_reserve(&table), 0);
        slots = table.slots;
        CHECK_EQ(fg_hash_add(&table, fg_hash_uint64(value), value), 0);
        CHECK(table.slots == slots);
    }
    fg_hash_clear(&table);
}

static void test_hashes(void)
{
    CHECK(fg_hash_bytes(FG_HASH_BYTES_BEGIN, "", 0) == FG_HASH_BYTES_BEGIN);
    CHECK(fg_hash_string("a") == UINT64_C(0xaf63dc4c8601ec8c)); /* published FNV-1a test vector */
    CHECK(fg_hash_bytes(fg_hash_string("foo"), "bar", 3) == UINT64_C(0x85944171f73967e8));
    CHECK(fg_hash_pointer(&fg_hash_pointer) == fg_hash_uint64((uintptr_t)&fg_hash_pointer));
}

int main(void)
{
    test_keys_come_and_go();
    test_runs_go_round_the_end();
    test_values_with_one_hash_are_all_found();
    test_after_a_reservation_an_add_needs_no_memory();
    test_hashes();
    return 0;
}
