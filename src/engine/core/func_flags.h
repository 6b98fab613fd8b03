/* Kinds of functions. The values are part of the ring-buffer file's format. */
#ifndef FG_FUNC_FLAGS_H
#define FG_FUNC_FLAGS_H

enum fg_func_flags {
    FG_FUNC_GENERATOR = 1,       /* generator function */
    FG_FUNC_COROUTINE = 2,       /* async def */
    FG_FUNC_ASYNC_GENERATOR = 4, /* async def with yield */
    FG_FUNC_SUSPENDS = 7,        /* any of these */
    FG_FUNC_C = 8,               /* implemented in C */
    FG_FUNC_VARARGS = 16,        /* the argument before the last (or the last) is *args */
    FG_FUNC_VARKEYWORDS = 32,    /* the last argument is **kwargs */
    /* machine code: `line` is its size in bytes, `module` the file it was loaded from */
    FG_FUNC_NATIVE = 64,
    /* imports a module: its arguments, of which the first is the module's name, are always recorded */
    FG_FUNC_IMPORTS = 128,
    /* an instruction within machine code; also FG_FUNC_NATIVE. It is entered, and never returns */
    FG_FUNC_PLACE = 256,
    /* a C function that takes little time at each call, whatever its arguments are */
    FG_FUNC_BRIEF = 512,
};
#endif
