/* Ends of generators that CPython 3.13 and later may not tell of: close() of one suspended outside of any `try`
 * drops its frame without running it, and without an event (gh-140373). */
#ifndef FG_CPYTHON_GEN_CLOSE_H
#define FG_CPYTHON_GEN_CLOSE_H

void fg_gen_close_install(void);
void fg_gen_close_remove(void);

#endif
