/* Printing an instance's trace that a hit asked for (engine/tracer/instance_dump.h).
 *
 * A hit runs no Python code. So the main thread prints it, between two instructions, where handlers of
 * signals run, too. A hit in native code cannot ask for that: the interpreter's queue of pending calls has a
 * lock, and the program may hold it, or one that its unlocking needs. It leaves a note, and wakes a thread
 * that waits for notes. */
#ifndef FG_CPYTHON_DUMP_H
#define FG_CPYTHON_DUMP_H

#include <stdbool.h>

/* The process's dump (root.h). */
void fg_dump_note(int handle, int tid);

/* Waits until there is a note of a hit in native code, or a signal comes. Without the GIL. */
void fg_dump_wait(void);
/* Takes a note. False: there is none. */
bool fg_dump_take(int *handle, int *tid);

#endif
