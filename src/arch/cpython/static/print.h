/* The event ftrace/print: the program has written a text into a trace. */
#ifndef FG_CPYTHON_STATIC_PRINT_H
#define FG_CPYTHON_STATIC_PRINT_H

#include <stddef.h>
#include <stdint.h>

/* 
 * fg_static_print() - Put a text into the trace of an instance, and hit its event.
 *
 * Arguments and return: as fg_instance_mark(). The event is hit after the text, as in the kernel, also if
 * there was no room for it. */
int fg_static_print(int handle, uint32_t func, const char *text, size_t bytes);

#endif
