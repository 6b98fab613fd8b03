/* Forcing every call of every function onto the slow path. */
#ifndef FG_CPYTHON_SLOW_PATH_H
#define FG_CPYTHON_SLOW_PATH_H

#include <stdatomic.h>
#include <stdbool.h>

#include "engine/base/compiler.h"

/* Counts the conditions that force every call onto the slow path. One is an interpreter whose gate is shut
 * (gate.h). The frame evaluator (3.11) has three more: a second interpreter with the evaluator, because all
 * interpreters share the code objects of frozen modules; greenlets; and a user that wants C functions.
 * While one of these holds, no call is plain (fg_plain_hold() in engine/users/users.h). One more is an
 * interpreter with an instance that has ended (ended.h): calls that the instance sees are not plain anyway.
 * */
extern _Atomic unsigned fg_slow_path_holds;

void fg_slow_path_hold(void);
void fg_slow_path_release(void);

static inline bool fg_slow_path_is_forced(void)
{
    return fg_unlikely(atomic_load_explicit(&fg_slow_path_holds, memory_order_relaxed) != 0);
}

#endif
