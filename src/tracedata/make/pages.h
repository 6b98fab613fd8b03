/* Writes ftrace data pages: records with time deltas into pages of 4096 bytes, and many pages at once
 * into a file, as they are or compressed.
 *
 *     +-----------------------+ 0
 *     | u64 time of the first |
 *     | u64 commit | flags    |  bytes used after this header; bits 30 and 31: records were lost
 *     +-----------------------+ 16
 *     | u32 type_len:5 delta:27, payload (words of 4 bytes)
 *     | ...                   |
 *     +-----------------------+
 *
 * This is the layout of the kernel's ring buffer, which `header_page` and `header_event` in the file
 * declare. Each lane is one run of pages. The state is public because the converter writes records in
 * place. */
#ifndef FG_PAGES_H
#define FG_PAGES_H

#include <stdint.h>
#include <string.h>

#include "engine/base/compiler.h"
#include "tracedata/base/wire.h"
#include "tracedata/make/lane_chunks.h"

#define FG_PAGES_BUFFERED 256u /* pages: one write() of 1 MiB */

#define FG_PAGE_TYPE_LEN_MAX_WORDS 28u /* the length of a longer payload has a word of its own */
#define FG_PAGE_TIME_EXTEND 30u
#define FG_PAGE_DELTA_BITS 27
#define FG_PAGE_MISSED_EVENTS (UINT64_C(1) << 31)
#define FG_PAGE_MISSED_STORED (UINT64_C(1) << 30) /* their count lies after the last record */

struct fg_pages {
    int fd;
    int error;             /* negative errno of the first write that failed; later pages are dropped */
    unsigned char *buffer; /* FG_PAGES_BUFFERED pages */
    unsigned char *page;   /* the current one; NULL before the lane's first record */
    uint32_t used;         /* bytes used in it, with its header */
    uint32_t limit;        /* bytes that may be used in it; 0: the next record begins a page */
    uint64_t last_ns;      /* of the newest record in the lane */
    uint64_t missed;       /* records lost just before the next one */
    uint64_t page_missed;  /* ... just before this page */
    uint64_t offset;       /* where in the file the buffer's first page goes */
    struct fg_lane_chunks *chunks; /* writes pages compressed, or NULL */
};

/* Pages are written from `offset` of the file on, by `chunks` if that is not NULL. Return: 0 or -ENOMEM. */
int fg_pages_init(struct fg_pages *pages, int fd, uint64_t offset, struct fg_lane_chunks *chunks);
void fg_pages_free(struct fg_pages *pages);

/* Begins a page: the slow path of fg_pages_reserve(). */
void fg_pages_turn(struct fg_pages *pages, uint64_t ns);

/* Ends the lane and writes its last pages. Return: 0, or the error of the first write that failed. */
int fg_pages_end_lane(struct fg_pages *pages);

/* The next record shows `count` more records as lost before it. */
static inline void fg_pages_miss(struct fg_pages *pages, uint64_t count)
{
    if (fg_unlikely(count)) {
        pages->missed += count;
        pages->limit = 0;
    }
}

/* Reserves a record at time `ns` with `bytes` of payload, at most 4000. The head and the up to 3 bytes of
 * padding, zeros, are written; the caller fills in the payload. Times never run backwards in a lane: an
 * earlier `ns` counts as the latest one. */
static inline unsigned char *fg_pages_reserve(struct fg_pages *pages, uint64_t ns, uint32_t bytes)
{
    uint32_t words = (bytes + 3) / 4;
    uint64_t delta;
    unsigned char *at;

    if (fg_unlikely(ns < pages->last_ns))
        ns = pages->last_ns;
    /* At most: a time extend (8 bytes), the head, a length word. */
    if (fg_unlikely(pages->used + words * 4 + 16 > pages->limit))
        fg_pages_turn(pages, ns);
    delta = ns - pages->last_ns;
    pages->last_ns = ns;
    at = pages->page + pages->used;
    if (fg_unlikely(delta >> FG_PAGE_DELTA_BITS)) {
        uint32_t extend[2] = {
            FG_PAGE_TIME_EXTEND | (uint32_t)(delta & ((1u << FG_PAGE_DELTA_BITS) - 1)) << 5,
            (uint32_t)(delta >> FG_PAGE_DELTA_BITS),
        };
        memcpy(at, extend, sizeof(extend));
        at += sizeof(extend);
        delta = 0;
    }
    if (fg_likely(words <= FG_PAGE_TYPE_LEN_MAX_WORDS)) {
        uint32_t head = words | (uint32_t)delta << 5;

        memcpy(at, &head, sizeof(head));
        at += sizeof(head);
    } else {
        uint32_t head[2] = {(uint32_t)delta << 5, words * 4 + 4};

        memcpy(at, head, sizeof(head));
        at += sizeof(head);
    }
    if (words)
        memset(at + words * 4 - 4, 0, 4);
    pages->used = (uint32_t)(at - pages->page) + words * 4;
    return at;
}

#endif
