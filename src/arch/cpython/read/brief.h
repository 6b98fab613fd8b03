/* C functions that are known by name: those that are always brief, and those that may wait. */
#ifndef FG_CPYTHON_BRIEF_H
#define FG_CPYTHON_BRIEF_H

#include <stdbool.h>

/* True if each call of this C function takes little time, whatever its arguments are: it waits for nothing,
 * and its work does not grow with them. It may call Python functions, which are calls of their own. */
bool fg_brief_has(const char *module, const char *qualname);

/* True if a C function with this name, of whichever type or module, may wait: for a lock, for time, for input
 * or output. */
bool fg_may_wait(const char *name);

#endif
