/* See heaviest.h. */
#include "tracedata/spool/heaviest.h"

#include <errno.h>
#include <stdlib.h>

#include "tracedata/spool/record_check.h"

#define SAMPLES 64u

struct sample {
    const struct fg_contents *contents;
    struct fg_chunk_reader reader;
    uint64_t *bytes; /* by number in contents->symbols.functions */
    uint64_t sampled;
};

static void count_records(struct sample *sample, const struct fg_trace_ring *ring, size_t words)
{
    const uint64_t *at = sample->reader.records, *end = at + words;

    while (end - at >= 2) {
        const struct fg_record *record = (const struct fg_record *)at;
        uint64_t record_bytes = fg_record_words(record->info) * FG_RECORD_WORD_BYTES;

        if (!fg_record_is_sound(record, (size_t)(end - at)))
            return;
        sample->sampled += record_bytes;
        if ((fg_record_kind_bits(fg_record_kind(record->info)) & FG_KIND_OF_FUNCTION) &&
            record->func < ring->functions_capacity && ring->functions[record->func])
            sample->bytes[ring->functions[record->func] - 1] += record_bytes;
        at += fg_record_words(record->info);
    }
}

static int count_piece(struct sample *sample, const struct fg_trace_ring *ring, const struct fg_piece *piece)
{
    struct fg_spool_chunk chunk;
    int error = fg_chunk_read_records(&sample->reader, piece->offset, piece->stored_bytes, &chunk);

    if (error == 0)
        count_records(sample, ring, chunk.record_bytes / FG_RECORD_WORD_BYTES);
    return error == -EBADMSG ? 0 : error;
}

static uint64_t nr_pieces(const struct fg_contents *contents)
{
    uint64_t n = 0;

    for (size_t i = 0; i < contents->nr_rings; i++)
        for (size_t j = 0; j < contents->rings[i].nr_tasks; j++)
            n += contents->rings[i].tasks[j].nr_pieces;
    return n;
}

/* Reads about SAMPLES pieces, at equal distances: each task has its share. */
static int count_pieces(struct sample *sample)
{
    uint64_t step = nr_pieces(sample->contents) / SAMPLES + 1, number = 0;

    for (size_t i = 0; i < sample->contents->nr_rings; i++) {
        const struct fg_trace_ring *ring = &sample->contents->rings[i];

        for (size_t j = 0; j < ring->nr_tasks; j++) {
            for (size_t k = 0; k < ring->tasks[j].nr_pieces; k++) {
                int error = number++ % step == 0 ? count_piece(sample, ring, &ring->tasks[j].pieces[k]) : 0;

                if (error < 0)
                    return error;
            }
        }
    }
    return 0;
}

/* Takes the heaviest function that is left. False: there is none. */
static bool take_heaviest(struct sample *sample, struct fg_heavy *heavy)
{
    const struct fg_symbols *symbols = &sample->contents->symbols;
    size_t best = 0;

    for (size_t i = 1; i < symbols->nr_functions; i++) {
        if (sample->bytes[i] > sample->bytes[best])
            best = i;
    }
    if (symbols->nr_functions == 0 || sample->bytes[best] == 0)
        return false;
    *heavy = (struct fg_heavy){&symbols->functions[best], sample->bytes[best]};
    sample->bytes[best] = 0;
    return true;
}

int fg_heaviest(const struct fg_contents *contents, const struct fg_spool *spool, struct fg_heavy *top, int n,
                uint64_t *sampled)
{
    struct sample sample = {.contents = contents, .reader.fd = spool->fd};
    int error, found = 0;

    sample.bytes = calloc(contents->symbols.nr_functions + 1, sizeof(*sample.bytes));
    error = sample.bytes ? count_pieces(&sample) : -ENOMEM;
    *sampled = sample.sampled;
    while (error == 0 && found < n && take_heaviest(&sample, &top[found]))
        found++;
    free(sample.bytes);
    fg_chunk_reader_free(&sample.reader);
    return error < 0 ? error : found;
}
