/* Entry and return of one call, as an arch reports them. suspended.h has suspend and resume.
 *
 * `fp` identifies the call while it is in progress. All these functions run in the call's thread. They
 * may be called from a signal handler if the task's context says so (task.h). */
#ifndef FG_CALL_H
#define FG_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/core/function.h"
#include "engine/core/public.h"
#include "engine/core/task.h"

/**
 * fg_enter() - A call begins.
 * @task: the current task
 * @func: the function
 * @fp: identifies the call
 * @regs: what the hook saw
 *
 * Return: false: the function has no users, and the arch may remove its hook; else true.
 */
bool fg_enter(struct fg_task *task, struct fg_func *func, uintptr_t fp, struct ftrace_regs *regs);
/* A call ends, in the way that @end says. Nothing happens if its entry was not traced. */
void fg_return(struct fg_task *task, uintptr_t fp, struct ftrace_regs *regs, enum fg_end end);

/* The time of a return. An arch notes it before it does anything else, and pushes no frame before
 * it calls fg_return_at(). */
struct fg_ending {
    uint64_t *frame;  /* the newest frame; NULL: there is none, or fg_return_at() must search */
    uint64_t counter; /* fg_clock_counter(), or 0 if no user needs times */
};
struct fg_ending fg_return_begin(const struct fg_task *task);
/* As fg_return(), at the time that fg_return_begin() noted. */
void fg_return_at(struct fg_task *task, uintptr_t fp, struct fg_ending ending, struct ftrace_regs *regs,
                  enum fg_end end);

/* The fast path of an entry, which nearly every call of a recording takes. Hooks that inline it try it
 * first, for functions with fg_func_plain(). False: nothing was done; call fg_enter(). */
bool fg_enter_plain(struct fg_task *task, struct fg_func *func, uintptr_t fp);
/* The fast path of the return of a value. False: nothing was done; call fg_return_at(). */
bool fg_return_plain(struct fg_task *task, uintptr_t fp, uint64_t counter);

/* Returns the frame of call @fp, which becomes the newest: calls above it whose return was never reported
 * end now, as closed. NULL: the call is not traced. Inside the guard. */
uint64_t *fg_top_frame_of(struct fg_task *task, uintptr_t fp, uint64_t now);
/* True if the newest frame is this call's. */
bool fg_top_is(const struct fg_task *task, uintptr_t fp);

#endif
