/* The C API: register sets, the frame object and the callers of a call. capi_general.c has the registers of
 * native calls. */
#include <string.h>

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/base/tstate.h"
#include "arch/cpython/read/code.h"
#include "arch/cpython/read/regs.h"
#include "binding/capi/capi.h"
#include "binding/capi/capi_general.h"
#include "engine/probe/fprobe.h"

/* ---- the frame object; register sets; callers */

/* The frame that was the thread's newest when the hook ran. On 3.11 a frame at its entry is not linked yet;
 * a kprobe's own frame is the newest. */
static fg_pyframe *newest_outside(PyThreadState *tstate, const fg_pyframe *frame)
{
    fg_pyframe *newest = fg_current_pyframe(tstate);

    return newest == frame ? frame->previous : newest;
}

PyObject *fg_capi_get_regs(const struct ftrace_regs *regs)
{
    fg_pyframe *frame = fg_regs_frame(regs);
    struct fg_func *func = frame ? fg_code_func(fg_pyframe_code(frame)) : NULL;
    PyThreadState *tstate;
    fg_exception aside;
    PyObject *object;

    if (!func || !(fg_regs_is_full(regs) || fg_func_saves_regs(func)))
        return NULL;
    tstate = fg_tstate();
    aside = fg_exception_set_aside();
    object = fg_regs_frame_object(regs, tstate, newest_outside(tstate, frame));
    fg_exception_put_back(aside);
    return object;
}

/* Arguments on the stack are not in registers. */
static unsigned native_words(const struct ftrace_regs *regs, uint64_t words[FTRACE_PT_REGS_ARGUMENTS])
{
    unsigned n = 0;

    while (n < FTRACE_PT_REGS_ARGUMENTS && (fg_regs_word(regs, FG_WORD_ARGUMENT, n, &words[n]) ||
                                            fg_regs_word(regs, FG_WORD_RESULT, n, &words[n])))
        n++;
    return n;
}

struct ftrace_pt_regs *fg_capi_partial_regs(const struct ftrace_regs *regs, struct ftrace_pt_regs *out)
{
    unsigned n = fg_regs_argument_count(regs);

    memset(out, 0, sizeof(*out));
    fg_regs_location(regs, &out->location);
    out->ip = fg_capi_regs_get_instruction_pointer(regs);
    out->sp = fg_capi_regs_get_stack_pointer(regs);
    out->fp = fg_regs_frame_pointer(regs);
    out->nr_arguments = n < FTRACE_PT_REGS_ARGUMENTS ? n : FTRACE_PT_REGS_ARGUMENTS;
    for (unsigned i = 0; i < out->nr_arguments; i++)
        out->arguments[i] = fg_regs_argument(regs, i);
    out->nr_words = native_words(regs, out->words);
    out->return_value = fg_regs_result(regs);
    out->exception = fg_regs_exception(regs);
    return out;
}

int fg_capi_fill_perf_regs(const struct ftrace_regs *regs, struct ftrace_perf_regs *out)
{
    fg_pyframe *frame = fg_regs_frame(regs);

    *out = (struct ftrace_perf_regs){
        .ip = fg_capi_regs_get_instruction_pointer(regs),
        .sp = fg_capi_regs_get_stack_pointer(regs),
        .fp = fg_regs_frame_pointer(regs),
        .flags = frame ? (uint64_t)fg_pyframe_code(frame)->co_flags : 0,
    };
    return out->ip != 0;
}

size_t fg_capi_regs_get_callchain(const struct ftrace_regs *regs, struct ftrace_location places[],
                                  size_t room)
{
    fg_pyframe *caller = fg_regs_caller(regs);
    size_t n = room && fg_regs_location(regs, &places[0]);

    for (; caller && n < room; caller = fg_complete_pyframe(caller->previous))
        fg_pyframe_locate(caller, &places[n++]);
    return n;
}
