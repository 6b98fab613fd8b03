/* ftrace_regs: what a hook saw at a function's entry or return. Partial by design: the arguments at
 * entry, the result at return. Valid only while the callback runs. */
#ifndef FG_REGS_H
#define FG_REGS_H

#include <stddef.h>
#include <stdint.h>

struct ftrace_regs;
struct fg_func;

/* Where a call was made: the calling function, and the place in it. */
struct fg_caller {
    uint32_t func;  /* its id; 0: not known, as memory was short */
    uint32_t place; /* its line; in native code the offset of the instruction after the call */
};

/* How an arch reads its own frames. Nothing here may run code of the traced program. What reads callers may
 * make records of functions (fg_func_meet), so it is called without locks. */
struct ftrace_regs_ops {
    /* Encode as record.h's values into out[0..room); return the bytes used. */
    size_t (*encode_arguments)(const struct ftrace_regs *regs, uint8_t *out, size_t room);
    size_t (*encode_value)(const struct ftrace_regs *regs, uint8_t *out, size_t room);
    size_t (*encode_exception)(const struct ftrace_regs *regs, uint8_t *out, size_t room);
    /* The return address: the caller's instruction that runs after the return. 0: not known. */
    uintptr_t (*return_address)(const struct ftrace_regs *regs);
    /* Optional. At an entry: stores where the call was made, then where the caller was called, and so on,
     * up to @n. Returns how many were stored. */
    size_t (*callers)(const struct ftrace_regs *regs, struct fg_caller *callers, size_t n);
    /* Optional. At an entry: the calling function; NULL: there is none, or memory was short. */
    struct fg_func *(*caller)(const struct ftrace_regs *regs);
};

struct ftrace_regs {
    const struct ftrace_regs_ops *ops;
    void *frame;  /* the arch's frame, or NULL */
    void *value;  /* at return: the result or the exception; NULL if there is none */
    void *thread; /* the arch's identity of the thread; NULL: the arch did not look it up */
};

/* Returns the return address; 0: not known. */
static inline uintptr_t fg_regs_return_address(const struct ftrace_regs *regs)
{
    return regs->ops && regs->ops->return_address ? regs->ops->return_address(regs) : 0;
}

/* Returns the calling function, as ftrace_regs_ops.caller does; NULL: not known. */
static inline struct fg_func *fg_regs_calling_func(const struct ftrace_regs *regs)
{
    return regs->ops && regs->ops->caller ? regs->ops->caller(regs) : NULL;
}

/* Stores where the call was made, as ftrace_regs_ops.callers does; 0: not known. */
static inline size_t fg_regs_callers(const struct ftrace_regs *regs, struct fg_caller *callers, size_t n)
{
    return regs->ops && regs->ops->callers ? regs->ops->callers(regs, callers, n) : 0;
}

#endif
