/* See memory.h. */
#include "inject/unwind/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = 4096, NR_PAGES = 128 };

struct fg_page {
    uint64_t address; /* 0: nothing was read */
    size_t bytes;     /* from its beginning; the rest cannot be read */
    char data[PAGE_BYTES];
};

int fg_memory_open(struct fg_memory *memory, fg_memory_fn read, const void *source)
{
    memory->read = read;
    memory->source = source;
    memory->pages = calloc(NR_PAGES, sizeof(*memory->pages));
    return memory->pages == NULL ? -ENOMEM : 0;
}

void fg_memory_close(struct fg_memory *memory)
{
    free(memory->pages);
}

static const struct fg_page *page_at(struct fg_memory *memory, uint64_t address)
{
    struct fg_page *page = &memory->pages[address / PAGE_BYTES % NR_PAGES];

    if (page->address != address) {
        ssize_t got = memory->read(memory->source, address, page->data, PAGE_BYTES);

        page->address = address;
        page->bytes = got < 0 ? 0 : (size_t)got;
    }
    return page;
}

bool fg_memory_read(struct fg_memory *memory, uint64_t address, void *into, size_t bytes)
{
    char *to = into;

    while (bytes > 0) {
        uint64_t start = address & ~(uint64_t)(PAGE_BYTES - 1);
        size_t skip = (size_t)(address - start), part = PAGE_BYTES - skip;
        const struct fg_page *page = page_at(memory, start);

        if (part > bytes)
            part = bytes;
        if (start == 0 || skip + part > page->bytes)
            return false;
        memcpy(to, page->data + skip, part);
        to += part;
        address += part;
        bytes -= part;
    }
    return true;
}
