/* Generators that end without an event. From CPython 3.13 on, close() of a generator that is suspended
 * outside any `try` drops its frame without running it and fires no event (gh-140373). */
#ifndef FG_CPYTHON_GEN_CLOSE_H
#define FG_CPYTHON_GEN_CLOSE_H

void fg_gen_close_install(void);
void fg_gen_close_remove(void);

#endif
