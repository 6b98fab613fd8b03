/* See memory.h. */
#define _GNU_SOURCE
#include "engine/fetch/memory.h"

#include <sys/uio.h>
#include <unistd.h>

#define PAGE ((uintptr_t)4096) /* the smallest; a larger one is read in pieces */
#define PIECES (FG_MEMORY_MAX / PAGE + 2)

/* What can be read of a piece is all or nothing (process_vm_readv(2)), so each lies in one page. */
static size_t cut(struct iovec pieces[PIECES], uintptr_t address, size_t bytes)
{
    size_t n = 0;

    while (bytes) {
        size_t piece = PAGE - address % PAGE;

        if (piece > bytes)
            piece = bytes;
        pieces[n++] = (struct iovec){(void *)address, piece};
        address += piece;
        bytes -= piece;
    }
    return n;
}

size_t fg_fetch_memory(void *to, uintptr_t address, size_t bytes)
{
    struct iovec here = {to, bytes}, pieces[PIECES];
    ssize_t n;

    if (bytes > FG_MEMORY_MAX || address > UINTPTR_MAX - bytes)
        return 0;
    /* Not the task's id: in a child that was just forked it may still be the parent's. */
    n = process_vm_readv(getpid(), &here, 1, pieces, cut(pieces, address, bytes), 0);
    return n < 0 ? 0 : (size_t)n;
}

/* What lies there may be between the variables of other functions: nothing that a sanitizer must see. */
__attribute__((no_sanitize("address", "thread"))) static uint64_t load(uintptr_t address)
{
    uint64_t word = 0;

    for (unsigned i = 0; i < sizeof(word); i++)
        word |= (uint64_t)((const volatile uint8_t *)address)[i] << 8 * i;
    return word;
}

bool fg_fetch_stack_word(uint64_t *to, uintptr_t address, uintptr_t sp)
{
    if (address / PAGE == (sp - 1) / PAGE && address % PAGE <= PAGE - sizeof(*to)) {
        *to = load(address);
        return true;
    }
    return fg_fetch_memory(to, address, sizeof(*to)) == sizeof(*to);
}
