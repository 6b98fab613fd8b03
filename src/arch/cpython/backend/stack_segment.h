/* More C stack for deep recursion (CPython 3.11).
 *
 * With a frame evaluator, each Python call takes C stack; without one it takes none. A program that has
 * raised its recursion limit must not crash because it is traced. So when a thread's C stack runs low,
 * the evaluation continues on another mapped segment.
 *
 * Not where greenlet is loaded: it copies a thread's C stack, which must be in one piece. */
#ifndef FG_CPYTHON_STACK_SEGMENT_H
#define FG_CPYTHON_STACK_SEGMENT_H

#include "arch/cpython/base/compat/frame.h"
#include "engine/base/compiler.h"

#if !FG_HAVE_MONITORING

typedef PyObject *(*fg_eval_frame_func)(PyThreadState *tstate, fg_pyframe *frame, int throwflag);

/* Below this address the current segment counts as low. In a new thread every address does. */
extern _Thread_local uintptr_t fg_stack_low __attribute__((tls_model("initial-exec")));

static inline bool fg_stack_is_low(void)
{
    uintptr_t here;

    /* __builtin_frame_address would make the compiler set up a frame pointer. */
#if defined(__x86_64__)
    __asm__("mov %%rsp, %0" : "=r"(here));
#else
    here = (uintptr_t)__builtin_frame_address(0);
#endif
    return fg_unlikely(here < fg_stack_low);
}

/* Call when the stack is low: runs `eval` on another segment, or `otherwise` if there is no more stack. */
FG_COLD PyObject *fg_stack_segment_call(fg_eval_frame_func eval, fg_eval_frame_func otherwise,
                                        PyThreadState *tstate, fg_pyframe *frame, int throwflag);

#endif
#endif
