/* Searching a stack for return addresses, where unwinding cannot go on. */
#ifndef FG_INJECT_UNWIND_SEARCH_H
#define FG_INJECT_UNWIND_SEARCH_H

#include "inject/unwind/frame.h"
#include "inject/unwind/visit.h"

/**
 * fg_search() - Visit each function that a thread may return to.
 * @below: the frame of the code that nothing describes
 * @visit: called for each, as FG_STACK_POSSIBLE
 *
 * Return: 0. -EINTR: the thread may be in a signal handler. -EFAULT: its stack cannot be read. -ENOMEM.
 */
int fg_search(struct fg_unwinder *unwinder, const struct fg_frame *below, fg_stack_visit_fn visit,
              void *data);

#endif
