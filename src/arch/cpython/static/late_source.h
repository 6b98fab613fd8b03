/* Sources that hook what a module of Python defines. Nothing is imported for them: while the program has not
 * imported the module, the source waits for the first call of one of the module's functions. */
#ifndef FG_CPYTHON_STATIC_LATE_SOURCE_H
#define FG_CPYTHON_STATIC_LATE_SOURCE_H

#include <stdbool.h>

#include "arch/cpython/static/static_event.h"

struct fg_late_source {
    const struct fg_event_source_ops *ops;
    const char *module;
    const char *functions; /* a pattern of its functions */
    int (*install)(void);  /* hooks in; the module is imported. Return: 0 or a negative errno */
    void (*remove)(void);
};

extern const struct fg_late_source fg_asyncio_late, fg_thread_late;
/* All of them, ended by NULL. */
extern const struct fg_late_source *const fg_late_sources[];

/* True while the source has started, and has not hooked in. */
bool fg_late_source_is_waiting(const struct fg_late_source *source);

/* Hooks in if the source waits and the module is there by now. What then fails is as if the program never
 * used the module. Runs no code of the program. */
void fg_late_source_look(const struct fg_late_source *source);

/* For fg_event_source_ops: one more event of the source starts, or one of them stops. One interpreter at a
 * time has it. Return: 0; -EBUSY: another has it; or what `install` returned. */
int fg_late_source_start(const struct fg_late_source *source, void *scope);
void fg_late_source_stop(const struct fg_late_source *source);

#endif
