/* How a ring's reader reaches the file: reading and writing at an offset, and a mapping. The file is opened
 * once. Its owner may truncate it at any instant, which is damage of this ring, and no error of the
 * reader. */
#ifndef FG_RING_ACCESS_H
#define FG_RING_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FG_RING_TRUNCATED "its file was truncated by its owner"

struct fg_bus_guard;

/* A part of a file in memory. */
struct fg_guarded_mapping {
    void *memory; /* NULL: none */
    size_t bytes;
    struct fg_bus_guard *guard; /* NULL: no other process has the file */
};

struct fg_ring_access {
    int fd;              /* negative: few descriptors are left, and all of the file is mapped */
    uint64_t file_bytes; /* when it was opened */
    bool is_private;     /* no other process has it: its mappings need no guard */
    struct fg_guarded_mapping mapping;
    const char *damage; /* what the file's owner has done to it; NULL: nothing that was noticed */
};

/**
 * fg_ring_access_open() - Copy the descriptor of a ring's file.
 * @is_private: no other process has the file open or can open it
 *
 * Return: 0 or a negative errno; -EINVAL: not a regular file. @access must be closed in any case.
 */
int fg_ring_access_open(struct fg_ring_access *access, int fd, bool is_private);
void fg_ring_access_close(struct fg_ring_access *access);

/* Maps at least the file's first @bytes at access->mapping, for reading and writing. To be called once.
 * Return: 0 or a negative errno. */
int fg_ring_access_map(struct fg_ring_access *access, size_t bytes);

/* Return: 0; -EBADMSG: access->damage says why; or another negative errno: later it may succeed. */
int fg_ring_access_read(struct fg_ring_access *access, void *data, size_t bytes, uint64_t offset);

/* Writes to a page that has memory. The writer sees the store at once: a file's pages are the same memory for
 * pwrite() and for a mapping. */
void fg_ring_access_write(struct fg_ring_access *access, const void *data, size_t bytes, uint64_t offset);

/* Return: the first place from @offset on that may have memory; UINT64_MAX: all up to the end are zeros. */
uint64_t fg_ring_access_next_data(const struct fg_ring_access *access, uint64_t offset);

/* Notes damage, unless some was noted before. Return: -EBADMSG. */
int fg_ring_access_damage(struct fg_ring_access *access, const char *reason);

/* Whether the file is known to have been truncated. */
bool fg_ring_access_is_truncated(const struct fg_ring_access *access);

#endif
