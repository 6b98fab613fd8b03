/* Choosing the trace clock and measuring the length of its tick. */
#include "engine/base/clock.h"

#include <stdatomic.h>
#include <stdbool.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

struct fg_clock fg_clock;

#define MIN_BASE_NS 200000u
#define PAIR_TRIES 4

/* CPUID 80000007H, EDX bit 8: the counter runs at a constant rate in every power state
 * (Intel SDM 18.17.1). */
static bool tsc_is_invariant(void)
{
#if defined(__x86_64__)
    unsigned eax, ebx, ecx, edx;

    if (!__get_cpuid(0x80000007u, &eax, &ebx, &ecx, &edx))
        return false;
    return edx & (1u << 8);
#else
    return false;
#endif
}

struct fg_clock_pair fg_clock_read_pair(void)
{
    struct fg_clock_pair best = {0, 0};
    uint64_t best_width = UINT64_MAX;

    /* An interrupt between the reads widens the bracket: keep the narrowest of a few tries. */
    for (int i = 0; i < PAIR_TRIES; i++) {
        uint64_t before = fg_clock_now();
        uint64_t ns = fg_clock_monotonic_ns();
        uint64_t after = fg_clock_now();

        if (after - before < best_width) {
            best_width = after - before;
            best.ticks = before + (after - before) / 2;
            best.monotonic_ns = ns;
        }
    }
    if (fg_clock.kind == FG_CLOCK_MONOTONIC)
        best.ticks = best.monotonic_ns;
    return best;
}

void fg_clock_init(void)
{
    if (fg_clock.start.ticks)
        return;
    fg_clock.kind = tsc_is_invariant() ? FG_CLOCK_TSC : FG_CLOCK_MONOTONIC;
    fg_clock.start = fg_clock_read_pair();
}

double fg_clock_ns_per_tick(void)
{
    struct fg_clock_pair now = fg_clock_read_pair();

    if (fg_clock.kind == FG_CLOCK_MONOTONIC)
        return 1.0;
    while (now.monotonic_ns - fg_clock.start.monotonic_ns < MIN_BASE_NS)
        now = fg_clock_read_pair();
    return (double)(now.monotonic_ns - fg_clock.start.monotonic_ns) /
           (double)(now.ticks - fg_clock.start.ticks);
}

/* The conversion from ticks to nanoseconds is piecewise linear. Each piece begins where the
 * previous one ends, and has a more exact length of a tick. A piece lasts until the time since the
 * clock's start has doubled, so there are few pieces. A piece never changes: the same ticks always
 * give the same nanoseconds. */
struct piece {
    uint64_t ticks, ns; /* where the piece begins */
    double ns_per_tick;
};

#define MAX_PIECES 64u /* one for each doubling of a 64-bit time: never reached */

static struct {
    struct piece pieces[MAX_PIECES];
    _Atomic unsigned n;
    atomic_flag growing;
} scale = {.growing = ATOMIC_FLAG_INIT};

static uint64_t piece_to_ns(const struct piece *piece, uint64_t ticks)
{
    return piece->ns + (uint64_t)(int64_t)((double)(int64_t)(ticks - piece->ticks) * piece->ns_per_tick);
}

static struct piece first_piece(void)
{
    return (struct piece){fg_clock.start.ticks, fg_clock.start.monotonic_ns, fg_clock_ns_per_tick()};
}

/* The previous piece is off by some nanoseconds now. The new piece's slope corrects this by the end of
 * the new piece. */
static struct piece next_piece(const struct piece *last)
{
    struct fg_clock_pair now = fg_clock_read_pair();
    double age = (double)(now.ticks - fg_clock.start.ticks);
    uint64_t ns = piece_to_ns(last, now.ticks);

    return (struct piece){now.ticks, ns,
                          ((double)(now.monotonic_ns - fg_clock.start.monotonic_ns) +
                           (double)(int64_t)(now.monotonic_ns - ns)) /
                              age};
}

/* One thread adds a piece. Other threads meanwhile use the last piece, which is valid for all
 * ticks so far. */
FG_COLD static void grow_scale(unsigned n)
{
    if (atomic_flag_test_and_set_explicit(&scale.growing, memory_order_acquire))
        return;
    if (atomic_load_explicit(&scale.n, memory_order_relaxed) == n && n < MAX_PIECES) {
        scale.pieces[n] = n ? next_piece(&scale.pieces[n - 1]) : first_piece();
        /* release: pairs with the acquire in pieces_up_to(); a thread that sees the count
         * sees the piece */
        atomic_store_explicit(&scale.n, n + 1, memory_order_release);
    }
    atomic_flag_clear_explicit(&scale.growing, memory_order_release);
}

static bool is_due(unsigned n, uint64_t ticks)
{
    const struct piece *last = &scale.pieces[n - 1];
    uint64_t age =
        n == 1 ? (uint64_t)((double)MIN_BASE_NS / last->ns_per_tick) : last->ticks - fg_clock.start.ticks;

    return (int64_t)(ticks - fg_clock.start.ticks - 2 * age) > 0;
}

/* Returns the number of pieces, after adding one if @ticks lie beyond the last piece. */
static unsigned pieces_up_to(uint64_t ticks)
{
    unsigned n;

    while (!(n = atomic_load_explicit(&scale.n, memory_order_acquire)))
        grow_scale(0);
    if (fg_unlikely(is_due(n, ticks)))
        grow_scale(n);
    return atomic_load_explicit(&scale.n, memory_order_acquire);
}

uint64_t fg_clock_duration_ns(uint64_t ticks)
{
    if (fg_clock.kind == FG_CLOCK_MONOTONIC)
        return ticks;
    return (uint64_t)((double)ticks * scale.pieces[pieces_up_to(fg_clock_now()) - 1].ns_per_tick);
}

uint64_t fg_clock_to_ns(uint64_t ticks)
{
    unsigned n;

    if (fg_clock.kind == FG_CLOCK_MONOTONIC)
        return ticks;
    n = pieces_up_to(ticks);
    while (n > 1 && (int64_t)(ticks - scale.pieces[n - 1].ticks) < 0)
        n--;
    return piece_to_ns(&scale.pieces[n - 1], ticks);
}
