/* Callbacks of the hooks for functions that are met and freed. Reading the program is a layer below
 * hooking it, so the hooks register here. */
#ifndef FG_CPYTHON_DISCOVERY_H
#define FG_CPYTHON_DISCOVERY_H

#include "arch/cpython/base/compat/python.h"

struct fg_func;

struct fg_discovery_ops {
    /* Called before a function of the module gets its record. */
    void (*meet_module)(const char *name);
    /* Called when a new record has users, or its entry is hooked without any (FG_CAN_DISABLE). No other
     * thread can find a code object's record yet. Under FG_LOCK_DISCOVERY. */
    void (*meet_func)(struct fg_func *func);
    /* Called for each new record of a Python function, after meet_func. Also under FG_LOCK_DISCOVERY, and
     * no other thread can find the record yet. */
    void (*meet_code)(PyCodeObject *code, struct fg_func *func);
    /* Called when the code object is freed. The record is freed after it. */
    void (*forget_func)(struct fg_func *func);
};

/* Set once in a process, before the first record is made. */
extern const struct fg_discovery_ops *fg_discovery_ops;

#endif
