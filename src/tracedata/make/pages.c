/* See pages.h. */
#include "tracedata/make/pages.h"

#include <errno.h>
#include <stdlib.h>

#include "tracedata/base/file_io.h"

int fg_pages_init(struct fg_pages *pages, int fd, uint64_t offset, struct fg_lane_chunks *chunks)
{
    *pages = (struct fg_pages){.fd = fd, .offset = offset, .chunks = chunks};
    pages->buffer = malloc((size_t)FG_PAGES_BUFFERED * FG_WIRE_PAGE_BYTES);
    return pages->buffer ? 0 : -ENOMEM;
}

void fg_pages_free(struct fg_pages *pages)
{
    free(pages->buffer);
    pages->buffer = NULL;
}

/* Completes the header of the current page, and clears the unused rest. */
static void page_close(struct fg_pages *pages)
{
    uint64_t commit = pages->used - FG_WIRE_PAGE_HEADER_BYTES;
    uint32_t used = pages->used;

    if (pages->page_missed) {
        commit |= FG_PAGE_MISSED_EVENTS | FG_PAGE_MISSED_STORED;
        memcpy(pages->page + used, &pages->page_missed, sizeof(pages->page_missed));
        used += (uint32_t)sizeof(pages->page_missed);
    }
    memset(pages->page + used, 0, FG_WIRE_PAGE_BYTES - used);
    memcpy(pages->page + 8, &commit, sizeof(commit));
}

static void write_pages(struct fg_pages *pages, size_t bytes)
{
    if (pages->error < 0)
        return;
    if (pages->chunks) {
        pages->error = fg_lane_chunks_write(pages->chunks, pages->fd, pages->buffer, bytes, &pages->offset);
        return;
    }
    pages->error = fg_file_write(pages->fd, pages->buffer, bytes, pages->offset);
    pages->offset += bytes;
}

void fg_pages_turn(struct fg_pages *pages, uint64_t ns)
{
    unsigned char *page = pages->page ? pages->page + FG_WIRE_PAGE_BYTES : pages->buffer;

    if (pages->page)
        page_close(pages);
    if (page == pages->buffer + (size_t)FG_PAGES_BUFFERED * FG_WIRE_PAGE_BYTES) {
        write_pages(pages, (size_t)(page - pages->buffer));
        page = pages->buffer;
    }
    pages->page = page;
    pages->used = FG_WIRE_PAGE_HEADER_BYTES;
    pages->page_missed = pages->missed;
    pages->limit = FG_WIRE_PAGE_BYTES - (pages->missed ? (uint32_t)sizeof(pages->page_missed) : 0);
    pages->missed = 0;
    pages->last_ns = ns;
    memcpy(page, &ns, sizeof(ns));
}

int fg_pages_end_lane(struct fg_pages *pages)
{
    if (pages->page) {
        page_close(pages);
        write_pages(pages, (size_t)(pages->page - pages->buffer) + FG_WIRE_PAGE_BYTES);
    }
    if (pages->chunks && pages->error == 0)
        pages->error = fg_lane_chunks_end(pages->chunks, pages->fd);
    pages->page = NULL;
    pages->limit = 0;
    pages->last_ns = 0;
    pages->missed = 0;
    return pages->error;
}
