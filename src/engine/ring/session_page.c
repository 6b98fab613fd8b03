/* See session_page.h. */
#define _GNU_SOURCE
#include "engine/ring/session_page.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct fg_session_page *fg_session_page_map(const char *directory)
{
    void *page = MAP_FAILED;
    struct stat status;
    char *path;
    int fd;

    if (asprintf(&path, "%s/%s", directory, FG_SESSION_PAGE) < 0)
        return NULL;
    fd = open(path, O_RDWR | FG_SESSION_OPEN);
    free(path);
    if (fd < 0)
        return NULL;
    /* A page beyond the file's end would raise SIGBUS. */
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        (size_t)status.st_size >= sizeof(struct fg_session_page))
        page = mmap(NULL, sizeof(struct fg_session_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return page == MAP_FAILED ? NULL : page;
}

void fg_session_page_unmap(struct fg_session_page *page)
{
    if (page)
        munmap(page, sizeof(*page));
}

bool fg_session_recorder_lives(const struct fg_session_page *page)
{
    pid_t recorder = (pid_t)atomic_load(&page->recorder);

    return recorder > 0 && (kill(recorder, 0) == 0 || errno == EPERM);
}

uint32_t fg_missing_end(const struct fg_session_page *page)
{
    uint32_t end = 0;

    while (end < FG_MISSING_PROCESSES && atomic_load(&page->missing[end].pid))
        end++;
    return end;
}

void fg_missing_add(struct fg_session_page *page, uint32_t since, int error)
{
    uint32_t self = (uint32_t)getpid();

    for (uint32_t i = since; i < FG_MISSING_PROCESSES; i++) {
        uint32_t other = 0;

        /* Races for the entry with other processes, and with threads of this one that open another
         * instance's ring: whoever loses sees whose it is. */
        if (atomic_compare_exchange_strong(&page->missing[i].pid, &other, self)) {
            atomic_store(&page->missing[i].error, (uint32_t)error);
            return;
        }
        if (other == self)
            return;
    }
    atomic_fetch_add(&page->more, 1);
}
