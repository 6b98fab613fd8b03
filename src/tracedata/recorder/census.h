/* How many processes, threads and functions a spool has records of. Each counts once, however many rings
 * recorded it. */
#ifndef FG_CENSUS_H
#define FG_CENSUS_H

#include "tracedata/spool/contents.h"

/* Processes, and threads with records. Each appears once in each instance of its process. A process or
 * thread id that was reused counts as often as it was used. */
struct fg_census {
    uint64_t processes, tasks;
};

/* Return: 0 or -ENOMEM. */
int fg_census_take(const struct fg_contents *contents, struct fg_census *census);

/* True if there are rings of more than one instance. */
bool fg_census_has_instances(const struct fg_contents *contents);

/* Return: how many functions have a record in any ring, or -ENOMEM. */
int64_t fg_census_nr_recorded(const struct fg_contents *contents);

#endif
