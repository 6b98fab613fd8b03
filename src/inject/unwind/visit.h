/* What is reported of each function that a thread is in. */
#ifndef FG_INJECT_UNWIND_VISIT_H
#define FG_INJECT_UNWIND_VISIT_H

#include <stdint.h>

/* How a function was found. */
enum fg_stack_find {
    FG_STACK_SURE,     /* the thread is in it */
    FG_STACK_POSSIBLE, /* it may be */
};

/* Called for each function, with an address in it. */
typedef void (*fg_stack_visit_fn)(void *data, uint64_t place, enum fg_stack_find find);

#endif
