/* See own_code.h. */
#define _GNU_SOURCE /* dl_iterate_phdr() */
#include "support/own_code.h"

#include <assert.h>
#include <link.h>
#include <stdlib.h>

enum { MAX_SEGMENTS = 256 };

static struct fg_segment segments[MAX_SEGMENTS];
static size_t nr_segments;

static int add_image(struct dl_phdr_info *info, size_t size, void *data)
{
    struct fg_segment whole = {.image_low = UINT64_MAX};
    int i;

    (void)size;
    (void)data;
    for (i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uint64_t low = info->dlpi_addr + part->p_vaddr, high = low + part->p_memsz;

        if (part->p_type == PT_GNU_EH_FRAME) {
            whole.index = low;
            whole.index_bytes = part->p_memsz;
        } else if (part->p_type == PT_LOAD) {
            whole.image_low = low < whole.image_low ? low : whole.image_low;
            whole.image_high = high > whole.image_high ? high : whole.image_high;
        }
    }
    for (i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];

        if (part->p_type == PT_LOAD && part->p_flags & PF_X) {
            assert(nr_segments < MAX_SEGMENTS);
            whole.low = info->dlpi_addr + part->p_vaddr;
            whole.high = whole.low + part->p_memsz;
            segments[nr_segments++] = whole;
        }
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    uint64_t left = ((const struct fg_segment *)a)->low, right = ((const struct fg_segment *)b)->low;

    return left < right ? -1 : left > right;
}

struct fg_code own_code(void)
{
    nr_segments = 0;
    dl_iterate_phdr(add_image, NULL);
    qsort(segments, nr_segments, sizeof(segments[0]), compare);
    return (struct fg_code){.segments = segments, .nr_segments = nr_segments};
}
