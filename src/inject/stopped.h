/* Doing something while one thread of another process is stopped. */
#ifndef FG_INJECT_STOPPED_H
#define FG_INJECT_STOPPED_H

#include "inject/thread.h"

/**
 * fg_while_stopped() - Stop a thread, do something, and let it go on.
 * @process: its process
 * @tid: the thread
 * @act: gets the stopped thread, in a tracer (tracer.h)
 *
 * Return: what @act returns, or a negative errno of fg_thread_stop() or fg_tracer_run().
 */
int fg_while_stopped(const struct fg_process *process, pid_t tid,
                     int (*act)(const struct fg_thread *thread, void *data), void *data);

#endif
