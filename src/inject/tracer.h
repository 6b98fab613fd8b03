/* Whoever traces threads of other processes: a thread that lives as long as one piece of work.
 *
 * The kernel may not let a thread stop, as in a vfork() whose child lives on. It can then neither be waited
 * for nor be let go: detaching needs a stopped thread. It would stop as soon as it may, and
 * stay stopped as long as its tracer lives. When the tracer ends, the kernel takes the request back
 * (exit_ptrace() in kernel/ptrace.c). So the tracer ends with the work. */
#ifndef FG_INJECT_TRACER_H
#define FG_INJECT_TRACER_H

/**
 * fg_tracer_run() - Do something in a thread that is there for nothing else.
 * @work: stops threads, and lets those go on that it could stop
 *
 * Return: what @work returns, or a negative errno: there is no thread for it.
 */
int fg_tracer_run(int (*work)(void *data), void *data);

#endif
