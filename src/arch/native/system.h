/* System calls of code that runs while functions of the C library may be changing, or while every other
 * thread stands still and may hold any lock: none of it calls the C library. */
#ifndef FG_NATIVE_SYSTEM_H
#define FG_NATIVE_SYSTEM_H

#include <stdint.h>
#include <sys/syscall.h>

#include "arch/native/machine.h"

#define FG_SYSCALL(number, a, b, c, d, e, f)                                                                 \
    fg_machine_syscall((number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#endif
