/* How far a trace is read: counts that the thread which reads keeps, and that others may look at meanwhile.
 * They are for a person: what they lack while they change does no harm. */
#ifndef FG_READING_H
#define FG_READING_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct fg_reading {
    _Atomic uint64_t due, done; /* bytes in the file, of all passes that are open */
    _Atomic uint32_t nr_passes; /* that are open */
    /* Called when some were read, by the thread that reads. NULL: nobody wants to know then. Return: 0; an
     * error ends the reading. */
    int (*report)(struct fg_reading *reading);
};

/* A pass begins; the counts begin with the first one. @reading may be NULL, here and below. */
static inline void fg_reading_open(struct fg_reading *reading)
{
    if (!reading || atomic_fetch_add_explicit(&reading->nr_passes, 1, memory_order_relaxed))
        return;
    atomic_store_explicit(&reading->due, 0, memory_order_relaxed);
    atomic_store_explicit(&reading->done, 0, memory_order_relaxed);
}

static inline void fg_reading_close(struct fg_reading *reading)
{
    if (reading)
        atomic_fetch_sub_explicit(&reading->nr_passes, 1, memory_order_relaxed);
}

/* So many bytes more will be read; negative: fewer. */
static inline void fg_reading_expect(struct fg_reading *reading, int64_t bytes)
{
    if (reading)
        atomic_fetch_add_explicit(&reading->due, (uint64_t)bytes, memory_order_relaxed);
}

/* So many of them were read. Return: 0, or an error of the report. */
static inline int fg_reading_add(struct fg_reading *reading, uint64_t bytes)
{
    if (!reading)
        return 0;
    atomic_fetch_add_explicit(&reading->done, bytes, memory_order_relaxed);
    return reading->report ? reading->report(reading) : 0;
}

/* The share that was read, 0 to 1. */
static inline double fg_reading_share(const struct fg_reading *reading)
{
    uint64_t due = atomic_load_explicit(&reading->due, memory_order_relaxed);
    uint64_t done = atomic_load_explicit(&reading->done, memory_order_relaxed);

    return !due ? 0.0 : done < due ? (double)done / (double)due : 1.0;
}

#endif
