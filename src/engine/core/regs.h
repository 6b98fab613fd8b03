/* ftrace_regs: what a hook saw at a function's boundary. Partial by design: the arguments at entry, the
 * result at the end. Valid only while the callback runs. */
#ifndef FG_REGS_H
#define FG_REGS_H

#include <stddef.h>
#include <stdint.h>

struct ftrace_regs;
struct fg_func;

/* A function in which a call was made, and where in it. */
struct fg_caller {
    uint32_t func;  /* its id; 0: it was not met yet */
    uint32_t place; /* the line; in native code the offset after the call */
};

/* How an arch reads its own frames. Nothing here may run code of the traced program. */
struct ftrace_regs_ops {
    /* Encode as record.h's values into out[0..room); return the bytes used. */
    size_t (*encode_arguments)(const struct ftrace_regs *regs, uint8_t *out, size_t room);
    size_t (*encode_value)(const struct ftrace_regs *regs, uint8_t *out, size_t room);
    size_t (*encode_exception)(const struct ftrace_regs *regs, uint8_t *out, size_t room);
    /* The return address: of the instruction in the caller that runs next; 0: it is not known. */
    uintptr_t (*return_address)(const struct ftrace_regs *regs);
    /* Where the call was made, where the call was made that runs there, and so on: the nearest first, up
     * to `n`; returns how many. At an entry. Optional. */
    size_t (*callers)(const struct ftrace_regs *regs, struct fg_caller *callers, size_t n);
    /* At an entry: the function that calls it; NULL: there is none, or it was not met yet. Optional. */
    struct fg_func *(*caller)(const struct ftrace_regs *regs);
};

struct ftrace_regs {
    const struct ftrace_regs_ops *ops;
    void *frame;  /* the arch's frame, or NULL */
    void *value;  /* at the end: the result, or the exception; NULL if there is none */
    void *thread; /* what the arch knows the thread by; NULL: it did not look */
};

/* 0: not known. */
static inline uintptr_t fg_regs_return_address(const struct ftrace_regs *regs)
{
    return regs->ops && regs->ops->return_address ? regs->ops->return_address(regs) : 0;
}

/* As the op; NULL: not known. */
static inline struct fg_func *fg_regs_calling_func(const struct ftrace_regs *regs)
{
    return regs->ops && regs->ops->caller ? regs->ops->caller(regs) : NULL;
}

/* As the op; 0: not known. */
static inline size_t fg_regs_callers(const struct ftrace_regs *regs, struct fg_caller *callers, size_t n)
{
    return regs->ops && regs->ops->callers ? regs->ops->callers(regs, callers, n) : 0;
}

#endif
