/* A trace.dat of version 7, but for the data of its lanes: sections, and the options that lead to them. See
 * sections.h. They are written in this order:
 *
 *     the parts of the head (trace_head.h), each a section
 *     for each buffer, the top instance's first: its section, with all its lanes
 *     options
 *     strings: names of the sections
 *     the trace's own JSON and the footer (wire.h), which leads to the beginning of this section
 *
 * The first bytes of the file are written last: no reader takes an incomplete file for a trace. */
#ifndef FG_TRACE_SECTIONS_H
#define FG_TRACE_SECTIONS_H

#include "tracedata/base/codec.h"
#include "tracedata/base/text.h"
#include "tracedata/make/trace_head.h"

struct fg_trace_sections {
    int fd;
    uint64_t end; /* of the file so far */
    const struct fg_codec *codec;
    void *state;
    struct fg_text first;   /* bytes of the file */
    struct fg_text options; /* so far */
    struct fg_text strings;
    struct fg_text packed; /* the section that is being written */
    uint64_t buffer;       /* where the current buffer's section begins */
};

/**
 * fg_trace_sections_begin() - Write all before the first buffer.
 * @codec: for all sections and lanes
 *
 * Return: 0 or a negative errno; fg_trace_sections_free() is to be called in either case.
 */
int fg_trace_sections_begin(struct fg_trace_sections *sections, int fd, const struct fg_codec *codec,
                            const struct fg_contents *contents, const struct fg_lanes *lanes,
                            const struct fg_dat_events *events);
void fg_trace_sections_free(struct fg_trace_sections *sections);

/* Begins the section of a buffer. Return: the offset of its first lane. */
uint64_t fg_trace_sections_begin_buffer(struct fg_trace_sections *sections);

/**
 * fg_trace_sections_end_buffer() - End the section of a buffer.
 * @end: where its last lane ends
 * @lanes: of the trace
 * @buffer: its number
 * @extents: of the trace's lanes; those of this buffer are complete
 *
 * Return: 0 or a negative errno.
 */
int fg_trace_sections_end_buffer(struct fg_trace_sections *sections, uint64_t end,
                                 const struct fg_lanes *lanes, uint32_t buffer, enum fg_trace_clock clock,
                                 const struct fg_lane_extent *extents);

/* Writes all after the last buffer, and the first bytes. Return: 0 or a negative errno. */
int fg_trace_sections_finish(struct fg_trace_sections *sections, const struct fg_text *json);

#endif
