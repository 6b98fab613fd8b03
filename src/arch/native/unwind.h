/* Exceptions, pthread_exit() and cancellation that unwind a native call whose return is traced: they
 * end it. */
#ifndef FG_NATIVE_UNWIND_H
#define FG_NATIVE_UNWIND_H

#include <stdbool.h>

#include "arch/native/entry.h"

/* Finds the unwinder of the process, if it has one. Before anything is hooked. */
void fg_native_unwind_prepare(void);

/* The call of the entry was unwound. @is_exception: by one; else the thread ends. */
void fg_native_unwound(struct fg_native_entry *entry, bool is_exception);

#endif
