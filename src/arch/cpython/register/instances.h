/* Instances of this interpreter: starting, changing and stopping them, with the hooks and C functions
 * that they need. */
#ifndef FG_CPYTHON_REGISTER_INSTANCES_H
#define FG_CPYTHON_REGISTER_INSTANCES_H

#include "engine/tracer/instance_control.h"
#include "engine/tracer/instance_start.h"

/* True if C functions can be traced in this interpreter. Before CPython 3.12 only the main interpreter
 * can trace them. */
bool fg_cpython_traces_c_here(void);

/**
 * fg_cpython_start_instance - start an instance that records from its first moment
 * @config: its filter is taken over; its scope is set here
 * @after_site: record nothing before the site module has done its start-up work
 * @handle: set to the handle of the instance
 *
 * Return: 0; an error of fg_instance_start; or -EIO with an exception: CPython has no free hook.
 */
int fg_cpython_start_instance(struct fg_instance_config *config, bool after_site, int *handle);

/**
 * fg_cpython_stop_instance - stop an instance of this interpreter
 *
 * Return: 0; -EINVAL: no such instance here; -EBUSY: another thread changes the instance.
 */
int fg_cpython_stop_instance(int handle);

/* Stops all instances of this interpreter. */
void fg_cpython_stop_instances(void);

/* Like the engine's functions of the same names (instance_control.h). They also return -EIO with an
 * exception: CPython has no free hook. */
int fg_cpython_set_tracer(struct fg_instance *instance, const struct fg_tracer *tracer);
int fg_cpython_set_filter(struct fg_instance *instance, struct fg_filter *filter);

/**
 * fg_cpython_mark_top - write a text into all top instances of this interpreter
 *
 * Arguments as for fg_instance_mark. A text that does not fit into a buffer is counted as lost.
 * Return: 0, or -ENOMEM.
 */
int fg_cpython_mark_top(uint32_t func, const char *text, size_t bytes);

#endif
