/* The pages of a lane as compressed chunks: trace.dat of version 7. See sections.h. */
#ifndef FG_LANE_CHUNKS_H
#define FG_LANE_CHUNKS_H

#include <stddef.h>
#include <stdint.h>

#include "tracedata/base/codec.h"
#include "tracedata/base/text.h"

struct fg_lane_chunks {
    const struct fg_codec *codec;
    void *state;
    size_t chunk_bytes; /* of pages */
    struct fg_text packed;
    uint64_t begin; /* of the current lane in the file */
    uint32_t count; /* of its chunks so far */
};

/**
 * fg_lane_chunks_init() - Get ready to write lanes, one after the other.
 * @nr_lanes: a reader holds a chunk or two of each lane at once; with many lanes they are smaller
 *
 * Return: 0 or -ENOMEM; fg_lane_chunks_free() is to be called in either case.
 */
int fg_lane_chunks_init(struct fg_lane_chunks *chunks, const struct fg_codec *codec, uint32_t nr_lanes);
void fg_lane_chunks_free(struct fg_lane_chunks *chunks);

/**
 * fg_lane_chunks_write() - Append pages to the current lane, or begin one.
 * @offset: the end of the file; moved behind what is written
 *
 * Return: 0 or a negative errno.
 */
int fg_lane_chunks_write(struct fg_lane_chunks *chunks, int fd, const unsigned char *pages, size_t bytes,
                         uint64_t *offset);

/* Ends the lane, if there is one. Return: 0 or a negative errno. */
int fg_lane_chunks_end(struct fg_lane_chunks *chunks, int fd);

#endif
