/* How many processes, threads and functions a spool has records of, each counted once however many rings saw it. */
#ifndef FG_CENSUS_H
#define FG_CENSUS_H

#include "tracedata/spool/contents.h"

/* Processes, and threads with records: each shows in each of the process's instances. A number that was two
 * processes' or threads', one after the other, counts twice. */
struct fg_census {
    uint64_t processes, tasks;
};

/* 0 or -ENOMEM. */
int fg_census_take(const struct fg_contents *contents, struct fg_census *census);

/* There are rings of more than one instance. */
bool fg_census_has_instances(const struct fg_contents *contents);

/* Functions that have a record, over all rings. Or -ENOMEM. */
int64_t fg_census_nr_recorded(const struct fg_contents *contents);

#endif
