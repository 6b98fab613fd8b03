/* How long a thread ran, and how long it was ready to run but had no processor: the rest of the time it
 * slept. */
#ifndef FG_RUN_TIME_H
#define FG_RUN_TIME_H

#include <stdbool.h>
#include <stdint.h>

struct fg_run_time {
    uint64_t cpu_ns, ready_ns;
};

/**
 * fg_run_time_of() - Read a thread's times since it began.
 * @tid: of a thread of this process
 *
 * @time: as of the thread's latest switch or tick: 0 while it has had none
 *
 * Costs three system calls. Return: false: the kernel does not tell, or there is no such thread.
 */
bool fg_run_time_of(int tid, struct fg_run_time *time);

#endif
