/* What the hooks do when a function is met and when it goes. Reading the program stands below hooking it,
 * so the hooks register here. */
#ifndef FG_CPYTHON_DISCOVERY_H
#define FG_CPYTHON_DISCOVERY_H

struct fg_func;

struct fg_discovery_ops {
    /* A function of the module is about to get its record. */
    void (*meet_module)(const char *name);
    /* The function has its record, and a user. No other thread finds the record of a code object yet. Under
     * FG_LOCK_DISCOVERY. */
    void (*meet_func)(struct fg_func *func);
    /* The code object is being freed, and the record after it. */
    void (*forget_func)(struct fg_func *func);
};

/* Set once in a process, before the first record is made. */
extern const struct fg_discovery_ops *fg_discovery_ops;

#endif
