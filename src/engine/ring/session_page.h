/* The session's page: what processes of a session and its recorder tell each other without opening a file.
 *
 * A process that has changed its root directory or its user, or that has no descriptor left, reaches no file
 * of the session. If it has a ring, it still asks whether the recorder lives. If it was forked and could make
 * no ring of its own, it adds itself to the table of missing processes.
 *
 * The recorder makes the page, each process of the session maps it when it opens its first ring, and a forked
 * child inherits the mapping. The table does not lie in the header of the parent's ring: the recorder
 * removes that ring when the parent has ended, and a daemon's parent ends at once. */
#ifndef FG_SESSION_PAGE_H
#define FG_SESSION_PAGE_H

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define FG_SESSION_PAGE "page" /* a file in the session's directory */
#define FG_MISSING_PROCESSES 511u

/* With which flags a file of a session is opened. Whoever owns the directory may have put a link, a FIFO or a
 * device there. */
#define FG_SESSION_OPEN (O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)

/* recorder/page.py writes `recorder` and reads the table. */
struct fg_session_page {
    _Atomic uint32_t recorder; /* the process that holds the session's lock; 0: none does */
    _Atomic uint32_t more;     /* how many missing processes found the table full */
    struct {
        _Atomic uint32_t pid;   /* 0: the table ends here */
        _Atomic uint32_t error; /* the errno of making the ring; 0: not known yet */
    } missing[FG_MISSING_PROCESSES];
};

_Static_assert(sizeof(struct fg_session_page) == 4096, "one page");

/**
 * fg_session_page_map() - Map the page of a session.
 * @directory: the session's
 *
 * Return: NULL if there is none, or no memory. Missing processes are then not counted, and a recorder that
 * cannot be reached counts as gone.
 */
struct fg_session_page *fg_session_page_map(const char *directory);
void fg_session_page_unmap(struct fg_session_page *page);

/* Whether the process that is the recorder lives. Less reliable than the session's lock: another process may
 * have got its process id. */
bool fg_session_recorder_lives(const struct fg_session_page *page);

/* Where the table ends now. A forked child asks before it adds itself: earlier entries with its process id
 * are those of other processes. */
uint32_t fg_missing_end(const struct fg_session_page *page);

/**
 * fg_missing_add() - Add this process, unless one of its rings has added it.
 * @since: fg_missing_end() when the process was forked
 * @error: why it has no ring, an errno
 *
 * Context: any number of processes and threads at once.
 */
void fg_missing_add(struct fg_session_page *page, uint32_t since, int error);

#endif
