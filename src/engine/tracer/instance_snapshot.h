/* Snapshots of an instance: what its buffer held at one moment (Documentation/trace/ftrace.rst, "Snapshot").
 *
 * An instance of the program exchanges its ring's memory for a spare one (ring_swap.h). A recording's ring is
 * drained all the time, so there a snapshot asks the recorder to write the trace that it keeps: that of
 * `funcgraph record --ring`. Other recordings keep everything anyway. */
#ifndef FG_INSTANCE_SNAPSHOT_H
#define FG_INSTANCE_SNAPSHOT_H

#include "engine/tracer/instance.h"

/**
 * fg_instance_snapshot() - Take a snapshot.
 * @task: the calling thread's
 * @why: for the person who reads of it in a recording
 *
 * Without memory for snapshots nothing happens. While somebody reads the buffer or the snapshot, it is taken
 * when that has ended.
 *
 * Context: inside the guard; takes the ring's lock.
 */
void fg_instance_snapshot(struct fg_instance *instance, struct fg_task *task, const char *why);

/**
 * fg_instance_alloc_snapshot() - Have memory for snapshots.
 *
 * Return: 0 or -ENOMEM.
 * Context: the caller may change the instance (instance_tracer.h).
 */
int fg_instance_alloc_snapshot(struct fg_instance *instance);

/* Frees it, with the snapshot. Waits for callbacks. Context: as fg_instance_alloc_snapshot(). */
void fg_instance_free_snapshot(struct fg_instance *instance);

/**
 * fg_instance_write_snapshot() - Do what a number asks for that is written to the kernel's file `snapshot`.
 * @number: 0: free it; 1: take one; any other: empty it
 *
 * Return: 0; -ENOMEM; -EBUSY: another thread changes the instance, or it has a file.
 * Context: no lock of the engine held; waits for callbacks.
 */
int fg_instance_write_snapshot(struct fg_instance *instance, uint64_t number);

#endif
