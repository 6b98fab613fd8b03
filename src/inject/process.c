/* See process.h. */
#define _GNU_SOURCE /* process_vm_readv(), prlimit() */
#include "inject/process.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
/* The kernel keeps a stack this far from the mapping below it (stack_guard_gap: 256 pages). */
#define GUARD_BYTES ((uint64_t)256 * 4096)

ssize_t fg_task_read(pid_t tid, uint64_t address, void *into, size_t bytes)
{
    struct iovec here = {into, bytes}, there = {(void *)(uintptr_t)address, bytes};
    ssize_t got = process_vm_readv(tid, &here, 1, &there, 1, 0);

    return got < 0 ? -errno : got;
}

bool fg_stack_can_grow(pid_t pid, uint64_t stack_pointer, uint64_t down_to)
{
    uint64_t low, high = 0, below;
    struct rlimit limit;
    bool found = false;
    char line[4096];
    FILE *maps;

    snprintf(line, sizeof(line), "/proc/%d/maps", pid);
    maps = fopen(line, "re");
    if (maps == NULL)
        return false;
    do {
        below = high;
        if (fgets(line, sizeof(line), maps) == NULL)
            break;
        /* The rest of a line that is longer is no mapping, and the stack's is not. */
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &low, &high) != 2)
            high = below;
        else
            found = stack_pointer >= low && stack_pointer < high;
    } while (!found);
    fclose(maps);
    return found && strstr(line, " [stack]\n") != NULL && down_to < low && down_to >= below + GUARD_BYTES &&
           prlimit(pid, RLIMIT_STACK, NULL, &limit) == 0 && high - down_to <= limit.rlim_cur;
}

uint64_t fg_signal_frame_bytes(pid_t pid)
{
    Elf64_auxv_t entry = {0};
    uint64_t bytes = 0;
    char path[32];
    FILE *auxv;

    snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
    auxv = fopen(path, "re");
    if (auxv == NULL)
        return 0;
    while (!bytes && fread(&entry, sizeof(entry), 1, auxv) == 1 && entry.a_type != AT_NULL)
        bytes = entry.a_type == AT_MINSIGSTKSZ ? entry.a_un.a_val : 0;
    fclose(auxv);
    return bytes;
}
