/* The check that objects are laid out as fetch programs read them. */
#ifndef FG_CPYTHON_FETCH_CHECK_H
#define FG_CPYTHON_FETCH_CHECK_H

/**
 * fg_fetch_check() - Compare what we read of some objects with what CPython's public functions return.
 *
 * Once in a process. Runs no code of the program.
 *
 * Return: 0; -1 with an exception: the assumption OBJECTS (base/assumptions.h) does not hold.
 * Context: the GIL.
 */
int fg_fetch_check(void);

#endif
