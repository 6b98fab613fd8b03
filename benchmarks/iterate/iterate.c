/* Iterates over a trace's events without looking at them: the least that any reader of it needs.
 *
 *     iterate TRACE ROUNDS
 *
 * prints {"events": N, "seconds": {"lanes": [...], "merged": [...]}}: CPU time of each round, with the lanes
 * one after the other, and merged in order of time. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tracedata/read/merge.h"

#define WINDOW_BYTES (256u << 10)

static double cpu_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void give_up(const char *reason)
{
    fprintf(stderr, "iterate: %s\n", reason);
    exit(1);
}

static uint64_t count_lanes(const struct fg_trace_file *file)
{
    char reason[FG_REASON_BYTES];
    struct fg_row_pass pass = {0};
    uint64_t events = 0;

    if (file->recorded && fg_row_pass_begin(&pass, file->recorded) < 0)
        give_up("no memory");
    for (uint32_t lane = 0; lane < file->nr_lanes; lane++) {
        struct fg_cursor cursor;

        if (fg_cursor_open(&cursor, file, file->recorded ? &pass : NULL, lane, 0, WINDOW_BYTES, reason))
            give_up(reason);
        for (; !cursor.at_end; events++)
            if (fg_cursor_advance(&cursor, reason))
                give_up(reason);
        fg_cursor_close(&cursor);
    }
    if (file->recorded)
        fg_row_pass_end(&pass);
    return events;
}

static uint64_t count_merged(const struct fg_trace_file *file)
{
    struct fg_name_table names;
    struct fg_merge merge;
    struct fg_event event;
    uint64_t events = 0;
    int result;

    if (fg_name_table_init(&names, 0, 0) < 0)
        give_up("no memory");
    names.select_unknown = true;
    if (fg_merge_open(&merge, file, &names))
        give_up(merge.reason);
    while ((result = fg_merge_next(&merge, &event)) > 0)
        events++;
    if (result < 0)
        give_up(merge.reason);
    fg_merge_close(&merge);
    fg_name_table_free(&names);
    return events;
}

static void print_rounds(const char *name, const double *seconds, int rounds)
{
    printf("\"%s\": [", name);
    for (int i = 0; i < rounds; i++)
        printf("%s%.9f", i ? ", " : "", seconds[i]);
    printf("]");
}

int main(int argc, char **argv)
{
    int rounds = argc == 3 ? atoi(argv[2]) : 0;
    char reason[FG_REASON_BYTES];
    double *lanes, *merged;
    struct fg_trace_file file;
    uint64_t events = 0;

    if (rounds < 1)
        give_up("usage: iterate TRACE ROUNDS");
    lanes = calloc((size_t)rounds, sizeof(*lanes));
    merged = calloc((size_t)rounds, sizeof(*merged));
    if (!lanes || !merged)
        give_up("no memory");
    if (fg_trace_file_open(argv[1], &file, reason))
        give_up(reason);
    for (int i = 0; i < rounds; i++) {
        double begin = cpu_s(), between;

        events = count_lanes(&file);
        between = cpu_s();
        if (count_merged(&file) != events)
            give_up("the two ways find different numbers of events");
        lanes[i] = between - begin;
        merged[i] = cpu_s() - between;
    }
    printf("{\"events\": %" PRIu64 ", \"seconds\": {", events);
    print_rounds("lanes", lanes, rounds);
    printf(", ");
    print_rounds("merged", merged, rounds);
    printf("}}\n");
    fg_trace_file_close(&file);
    free(lanes);
    free(merged);
    return 0;
}
