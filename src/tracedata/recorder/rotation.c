/* See rotation.h. */
#include "tracedata/recorder/rotation.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "tracedata/base/output_folder.h"

/* Closes a recorder whose rings another one goes on with. */
static void close_without_rings(struct fg_recorder *recorder)
{
    for (size_t i = 0; i < recorder->nr_rings; i++)
        recorder->rings[i].reader = NULL;
    fg_recorder_close(recorder);
}

/* How far the old file has taken each ring's symbols. The new one begins with all of them: if the rotation
 * fails, the old file goes on from here. */
static int symbol_places(const struct fg_recorder *recorder, uint64_t **places)
{
    *places = calloc(recorder->nr_rings + 1, sizeof(**places));
    if (*places == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < recorder->nr_rings; i++)
        if (recorder->rings[i].reader) {
            (*places)[i] = fg_ring_reader_seek_symbols(recorder->rings[i].reader, 0);
            fg_ring_reader_seek_symbols(recorder->rings[i].reader, (*places)[i]);
        }
    return 0;
}

static void restore_symbols(struct fg_recorder *recorder, const uint64_t *places)
{
    for (size_t i = 0; i < recorder->nr_rings; i++)
        if (recorder->rings[i].reader)
            fg_ring_reader_seek_symbols(recorder->rings[i].reader, places[i]);
}

/* The counts that the old file tells: those of its chunks, as of finished rings, and not what the headers of
 * the rings say now. */
static int reported_counts(struct fg_recorder *recorder, const struct fg_recorder *next,
                           struct fg_recorder_counts *counts)
{
    int error;

    for (size_t i = 0; i < recorder->nr_rings; i++)
        recorder->rings[i].reader = NULL;
    error = fg_recorder_totals(recorder, counts);
    for (size_t i = 0; i < next->nr_rings; i++)
        recorder->rings[next->rings[i].former].reader = next->rings[i].reader;
    return error;
}

/* Takes over the new spool, which has only its header, or closes it. The old file tells its last counts
 * first: the new one goes on from these. It gets its footer last, when nothing but that can fail. */
static int rotate(struct fg_recorder *recorder, struct fg_spool spool, struct fg_recorder_counts *counts)
{
    struct fg_recorder next = {.spool = spool, .clock = recorder->clock};
    uint64_t *places = NULL;
    int error = fg_recorder_refresh(recorder);

    if (error == 0)
        error = symbol_places(recorder, &places);
    if (error == 0)
        error = fg_recorder_carry(&next, recorder);
    if (error == 0)
        error = reported_counts(recorder, &next, counts);
    if (error == 0)
        error = fg_recorder_complete(recorder);
    if (error < 0) {
        if (places)
            restore_symbols(recorder, places);
        close_without_rings(&next);
    } else {
        close_without_rings(recorder);
        *recorder = next;
    }
    free(places);
    return error;
}

int fg_recorder_rotate(struct fg_recorder *recorder, const char *path, struct fg_recorder_counts *counts)
{
    struct fg_spool spool;
    int error = recorder->resumed ? -EINVAL : fg_spool_create(&spool, path);

    if (error < 0)
        return error;
    error = rotate(recorder, spool, counts);
    if (error < 0)
        fg_output_remove(path);
    return error;
}

int fg_recorder_rotate_in(struct fg_recorder *recorder, int fd, struct fg_recorder_counts *counts)
{
    struct fg_spool spool;
    int error = recorder->resumed ? -EINVAL : fg_spool_create_in(&spool, fd);

    return error < 0 ? error : rotate(recorder, spool, counts);
}
