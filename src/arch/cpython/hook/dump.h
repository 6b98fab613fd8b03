/* Printing an instance's trace that a hit asked for (engine/tracer/instance_dump.h).
 *
 * A hit runs no Python code. So the main thread prints it, between two instructions, where handlers of
 * signals run, too. */
#ifndef FG_CPYTHON_DUMP_H
#define FG_CPYTHON_DUMP_H

/* The process's dump (root.h). */
void fg_dump_note(int handle, int tid);

#endif
