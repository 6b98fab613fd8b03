/* The way of one call, as an arch reports it: entry and return. Calls that give way are in suspended.h.
 *
 * `fp` identifies the call while it is in progress. All of these run in the call's thread, and may be
 * called from a signal handler if the task's context says so (task.h). */
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
 * Return: false if the function has no users (any longer): the arch may take its hook out.
 */
bool fg_enter(struct fg_task *task, struct fg_func *func, uintptr_t fp, struct ftrace_regs *regs);
/* A call ends, however it does. Nothing happens if its entry was not traced. */
void fg_return(struct fg_task *task, uintptr_t fp, struct ftrace_regs *regs, enum fg_end end);

/* When the newest call ended, noted by the arch before it does anything else. No frame is pushed in
 * between. */
struct fg_ending {
    uint64_t *frame;  /* the newest; NULL: there is none, or fg_return_at() must look for it */
    uint64_t counter; /* fg_clock_counter(), or 0 if no user needs times */
};
struct fg_ending fg_return_begin(const struct fg_task *task);
/* As fg_return(), at a time noted before. */
void fg_return_at(struct fg_task *task, uintptr_t fp, struct fg_ending ending, struct ftrace_regs *regs,
                  enum fg_end end);

/* The fast path of nearly every call of a recording. Hooks that it is compiled into try it first. False:
 * nothing was done. */
bool fg_enter_plain(struct fg_task *task, struct fg_func *func, uintptr_t fp);
/* For a call that returned a value. */
bool fg_return_plain(struct fg_task *task, uintptr_t fp, uint64_t counter);

/* The frame of call @fp, which becomes the newest: calls above it whose end was never reported end now,
 * as closed. NULL: the call is not traced. Inside the guard. */
uint64_t *fg_top_frame_of(struct fg_task *task, uintptr_t fp, uint64_t now);
/* True if the newest frame is this call's. */
bool fg_top_is(const struct fg_task *task, uintptr_t fp);

#endif
