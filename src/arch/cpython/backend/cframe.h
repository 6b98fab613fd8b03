/* Keeping a thread's frames readable for other threads while a call begins (CPython 3.11).
 *
 * faulthandler.dump_traceback_later() reads the frames of all threads from a thread that does not hold
 * the GIL: tstate->cframe->current_frame, and outwards from there. _PyEval_EvalFrameDefault() has a cframe
 * on its C stack. It publishes the cframe in the thread state before it writes current_frame (seven
 * instructions before, on x86-64 by gcc). A reader in between follows what the C stack contains there by
 * chance, and crashes. Without a frame evaluator, CPython passes there only when C code calls a Python
 * function; with one, it does for each call.
 *
 *      C stack                       at the call of      when the cframe
 *                                    the evaluator       is published
 *      | our evaluator         |
 *      | return address        | <- stack pointer
 *      | registers, variables  |     not in use
 *      | cframe.previous       |     not in use
 *      | cframe.current_frame  |     the caller's        the caller's
 *      | cframe.use_tracing    |     not in use
 *      | variables             |     not in use          <- stack pointer
 *
 * So just before the call the caller's current frame is written where cframe.current_frame is going to be.
 * Nothing uses the memory below the stack pointer at that moment, and the evaluator itself writes there
 * next. A signal handler may run in between and overwrite it. Then the reader is as badly off as without
 * us, but no worse.
 *
 * The distance from the stack pointer is the compiler's choice, fixed for one build of CPython.
 * fg_cframe_learn() measures it. */
#ifndef FG_CPYTHON_CFRAME_H
#define FG_CPYTHON_CFRAME_H

#include "arch/cpython/base/compat/frame.h"

#if !FG_HAVE_MONITORING

/**
 * fg_cframe_learn() - Measure where CPython's evaluator has its cframe.
 *
 * Calls a function of our own, which calls itself, through an evaluator that notes the stack pointer.
 * Nothing is learnt, and nothing will be written, if the two distances differ or are not plausible, or on
 * another processor than x86-64. Measures once in a process.
 *
 * Return: 0; -1 with an exception.
 * Context: the GIL is held.
 */
int fg_cframe_learn(void);

/* The function to call in place of @evaluate, with the same contract. It is @evaluate itself, unless that
 * is CPython's own evaluator and the distance is known. */
_PyFrameEvalFunction fg_cframe_evaluator(_PyFrameEvalFunction evaluate);

#endif
#endif
