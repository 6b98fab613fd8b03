/* More C stack for deep recursion (CPython 3.11).
 *
 * With a frame evaluator set, each Python call takes C stack, which it does not without one: a program that
 * raised its recursion limit must not crash for being traced. When a thread's C stack runs low, the evaluation
 * goes on on a further mapped segment.
 *
 * Not where greenlet is loaded: it copies a thread's one C stack to and fro, and must find it in one piece. */
#ifndef FG_CPYTHON_STACK_SEGMENT_H
#define FG_CPYTHON_STACK_SEGMENT_H

#include "arch/cpython/base/compat/frame.h"
#include "engine/core/compiler.h"

#if !FG_HAVE_MONITORING

typedef PyObject *(*fg_eval_frame_func)(PyThreadState *tstate, fg_pyframe *frame, int throwflag);

/* The address under which the current segment counts as low; of a thread that is new every address is. */
extern _Thread_local uintptr_t fg_stack_low __attribute__((tls_model("initial-exec")));

static inline bool fg_stack_is_low(void)
{
    uintptr_t here;

    /* Not by __builtin_frame_address where it can be helped: it makes a frame. */
#if defined(__x86_64__)
    __asm__("mov %%rsp, %0" : "=r"(here));
#else
    here = (uintptr_t)__builtin_frame_address(0);
#endif
    return fg_unlikely(here < fg_stack_low);
}

/* When the stack is low: calls `eval` where it is not. Without any more stack, calls `otherwise`. */
FG_COLD PyObject *fg_stack_segment_call(fg_eval_frame_func eval, fg_eval_frame_func otherwise,
                                        PyThreadState *tstate, fg_pyframe *frame, int throwflag);

#endif
#endif
