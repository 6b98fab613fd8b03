/* See census.h. */
#include "tracedata/recorder/census.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A process or thread as one of its instances recorded it. */
struct sighting {
    uint32_t pid, tid;
    const char *instance;
};

static int by_thread(const struct sighting *one, const struct sighting *other)
{
    if (one->pid != other->pid)
        return one->pid < other->pid ? -1 : 1;
    return (one->tid > other->tid) - (one->tid < other->tid);
}

static int by_sighting(const void *a, const void *b)
{
    const struct sighting *one = a, *other = b;
    int order = by_thread(one, other);

    return order ? order : strcmp(one->instance, other->instance);
}

/* How many processes or threads the sightings are of. One id stands for as many as it has sightings in
 * that instance which has the most. */
static uint64_t count_seen(struct sighting *seen, size_t nr_seen)
{
    uint64_t count = 0, most = 0, same = 0; /* of earlier ids; of this id; of this id and instance */

    qsort(seen, nr_seen, sizeof(*seen), by_sighting);
    for (size_t i = 0; i < nr_seen; i++) {
        bool is_new = i == 0 || by_thread(&seen[i], &seen[i - 1]) != 0;

        same = is_new || by_sighting(&seen[i], &seen[i - 1]) != 0 ? 1 : same + 1;
        if (is_new) {
            count += most;
            most = 0;
        }
        most = same > most ? same : most;
    }
    return count + most;
}

int fg_census_take(const struct fg_contents *contents, struct fg_census *census)
{
    size_t nr_rings = contents->nr_rings, nr_all = 0, nr_tasks = 0;
    struct sighting *seen;

    for (size_t i = 0; i < nr_rings; i++)
        nr_all += 1 + contents->rings[i].nr_tasks;
    seen = malloc((nr_all + 1) * sizeof(*seen));
    if (seen == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < nr_rings; i++)
        seen[i] = (struct sighting){contents->rings[i].pid, 0, contents->rings[i].instance};
    census->processes = count_seen(seen, nr_rings);
    for (size_t i = 0; i < nr_rings; i++) {
        const struct fg_trace_ring *ring = &contents->rings[i];

        for (size_t j = 0; j < ring->nr_tasks; j++)
            if (ring->tasks[j].last_ticks)
                seen[nr_tasks++] = (struct sighting){ring->pid, ring->tasks[j].tid, ring->instance};
    }
    census->tasks = count_seen(seen, nr_tasks);
    free(seen);
    return 0;
}

bool fg_census_has_instances(const struct fg_contents *contents)
{
    for (size_t i = 1; i < contents->nr_rings; i++)
        if (strcmp(contents->rings[i].instance, contents->rings[0].instance) != 0)
            return true;
    return false;
}

int64_t fg_census_nr_recorded(const struct fg_contents *contents)
{
    size_t nr_functions = contents->symbols.nr_functions;
    uint8_t *recorded = calloc(nr_functions + 1, 1);
    int64_t count = 0;

    if (recorded == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < contents->nr_rings; i++) {
        const struct fg_trace_ring *ring = &contents->rings[i];

        for (size_t id = 0; id < ring->functions_capacity; id++)
            if (ring->recorded[id] && ring->functions[id])
                recorded[ring->functions[id] - 1] = 1;
    }
    for (size_t i = 0; i < nr_functions; i++)
        count += recorded[i];
    free(recorded);
    return count;
}
