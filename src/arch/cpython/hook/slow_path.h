/* Reasons to take every call of every function through the slow path. */
#ifndef FG_CPYTHON_SLOW_PATH_H
#define FG_CPYTHON_SLOW_PATH_H

#include <stdatomic.h>
#include <stdbool.h>

#include "engine/core/compiler.h"

/* Counts the conditions that force every call onto the slow path: an interpreter whose gate is shut
 * (gate.h). With the frame evaluator (3.11) also: a second interpreter that has it, since the code
 * objects of frozen modules are shared by all interpreters; greenlets; a user that wants C functions.
 * While there is one, no call is plain (fgraph.h). */
extern _Atomic unsigned fg_slow_path_holds;

void fg_slow_path_hold(void);
void fg_slow_path_release(void);

static inline bool fg_slow_path_is_forced(void)
{
    return fg_unlikely(atomic_load_explicit(&fg_slow_path_holds, memory_order_relaxed) != 0);
}

#endif
