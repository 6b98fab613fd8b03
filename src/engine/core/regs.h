/* ftrace_regs: what a hook saw at a function's entry or return. Partial by design: the arguments at
 * entry, the result at return. Valid only while the callback runs. */
#ifndef FG_REGS_H
#define FG_REGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/compiler.h"
#include "engine/core/public.h"

struct fg_func;
struct fg_value_style;

/* Where a call was made: the calling function, and the place in it. */
struct fg_caller {
    uint32_t func;  /* its id; 0: not known, as memory was short */
    uint32_t place; /* its line; in native code the offset of the instruction after the call */
};

/* Words that a call of native code has in registers: arguments at its entry, results at its return. */
enum fg_word {
    FG_WORD_ARGUMENT,      /* argument n, from 0, of those that are integers or pointers */
    FG_WORD_ARGUMENT_AT,   /* the address of such an argument that is passed on the stack */
    FG_WORD_REAL_ARGUMENT, /* argument n of those in vector registers: its low 64 bits */
    FG_WORD_RESULT,        /* word n of the result */
    FG_WORD_REAL_RESULT,   /* word n of a result in vector registers */
    FG_WORD_REGISTER,      /* register n, in the machine's order */
    FG_WORD_SP,            /* the stack pointer: at an entry that of the function, at a return the caller's */
    FG_WORD_IP,            /* the address of the function */
};

/* Encodes values of a call as record.h has them into out[0..room); returns the bytes used. */
typedef size_t (*fg_encode_func)(const struct ftrace_regs *regs, const struct fg_value_style *style,
                                 uint8_t *out, size_t room);

/* How an arch reads its own frames. Nothing here may run code of the traced program. What reads callers may
 * make records of functions (fg_func_meet), so it is called without locks. */
struct ftrace_regs_ops {
    /* The first two or none; the third if an exception can be in ftrace_regs.value. */
    fg_encode_func encode_arguments;
    fg_encode_func encode_value;
    fg_encode_func encode_exception;
    /* The return address: the caller's instruction that runs after the return. 0: not known. */
    uintptr_t (*return_address)(const struct ftrace_regs *regs);
    /* Optional. At an entry: stores where the call was made, then where the caller was called, and so on,
     * up to @n. Returns how many were stored. */
    size_t (*callers)(const struct ftrace_regs *regs, struct fg_caller *callers, size_t n);
    /* Optional. At an entry: the calling function; NULL: there is none, or memory was short. */
    struct fg_func *(*caller)(const struct ftrace_regs *regs);
    /* Optional: of native calls. False: the hook has no such word. Reads no memory of the program, and is
     * safe in any thread and in a handler of a signal. */
    bool (*word)(const struct ftrace_regs *regs, enum fg_word word, uint32_t n, uint64_t *out);
    /* Optional: of native calls. Returns the regs for a user with FTRACE_OPS_FL_SAVE_REGS. */
    struct ftrace_regs *(*full)(struct ftrace_regs *regs);
    /* Only of what that returns. Stores all registers; as safe as `word`. */
    void (*all)(const struct ftrace_regs *regs, struct ftrace_native_regs *out);
};

/* The last three are of arches that know values (fg_regs_has_values), and not set by others. */
struct ftrace_regs {
    const struct ftrace_regs_ops *ops;
    void *frame;  /* the arch's frame, or NULL */
    void *value;  /* at return: the result or the exception, or what has it; NULL if there is none */
    void *thread; /* the arch's identity of the thread; NULL: the arch did not look it up */
};

/* True if the hook knows the values of a call as records have them: arguments, the result, the exception. */
static inline bool fg_regs_has_values(const struct ftrace_regs *regs)
{
    return regs->ops && regs->ops->encode_arguments;
}

/* Stores a word of a native call, as ftrace_regs_ops.word does. False: not known. */
static inline bool fg_regs_word(const struct ftrace_regs *regs, enum fg_word word, uint32_t n, uint64_t *out)
{
    return regs->ops && regs->ops->word && regs->ops->word(regs, word, n, out);
}

/* Returns the regs for the callbacks of a user or an fprobe with these flags: the full set is for those that
 * asked for it, whoever else sees the call. */
static inline struct ftrace_regs *fg_regs_for(struct ftrace_regs *regs, uint64_t flags)
{
    return fg_unlikely(flags & FTRACE_OPS_FL_SAVE_REGS) && regs->ops && regs->ops->full
               ? regs->ops->full(regs)
               : regs;
}

/* Stores all registers of a native call. False: the regs are partial. */
static inline bool fg_regs_all(const struct ftrace_regs *regs, struct ftrace_native_regs *out)
{
    if (!regs->ops || !regs->ops->all)
        return false;
    regs->ops->all(regs, out);
    return true;
}

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
