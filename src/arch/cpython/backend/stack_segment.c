/* See stack_segment.h. A segment is entered with makecontext(3). */
#define _GNU_SOURCE
#include "arch/cpython/backend/stack_segment.h"

#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/tstate.h"

#if !FG_HAVE_MONITORING

#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>

#define SEGMENT_BYTES (8u << 20)
/* Reserved for C functions that the last evaluation calls, and for the guard page. */
#define RESERVE_BYTES (512u << 10)

_Thread_local uintptr_t fg_stack_low __attribute__((tls_model("initial-exec"))) = UINTPTR_MAX;

/* The thread's own stack. Its lower half is used only if further segments are possible. If they are
 * not, the program runs untraced from there on and has the lower half for itself. */
static _Thread_local struct {
    uintptr_t half, low;
} own;

struct call {
    fg_eval_frame_func eval;
    PyThreadState *tstate;
    fg_pyframe *frame;
    int throwflag;
    PyObject *result;
    ucontext_t caller, callee;
};

static void run_on_segment(unsigned high, unsigned low)
{
    struct call *call = (struct call *)(((uintptr_t)high << 32) | low);

    call->result = call->eval(call->tstate, call->frame, call->throwflag);
}

/* If the bounds of a stack are unknown, it never counts as low. */
static void find_own(void)
{
    struct fg_thread_stack stack = fg_thread_stack();

    own.half = stack.low + stack.bytes / 2;
    own.low = stack.bytes / 2 < RESERVE_BYTES ? own.half : stack.low + RESERVE_BYTES;
    fg_stack_low = own.half;
}

static int is_greenlet(struct dl_phdr_info *library, size_t bytes, void *arg)
{
    (void)bytes, (void)arg;
    return library->dlpi_name && strstr(library->dlpi_name, "_greenlet.");
}

/* Asks the dynamic linker: sys.modules is emptied while greenlets still run. */
static bool has_greenlet(void)
{
    return dl_iterate_phdr(is_greenlet, NULL);
}

static PyObject *call_below(uintptr_t low, fg_eval_frame_func eval, PyThreadState *tstate, fg_pyframe *frame,
                            int throwflag)
{
    uintptr_t outer_low = fg_stack_low;
    PyObject *result;

    fg_stack_low = low;
    result = eval(tstate, frame, throwflag);
    fg_stack_low = outer_low;
    return result;
}

static PyObject *call_on_segment(struct call *call, void *segment)
{
    uintptr_t address = (uintptr_t)call, outer_low = fg_stack_low;

    getcontext(&call->callee);
    call->callee.uc_stack.ss_sp = segment;
    call->callee.uc_stack.ss_size = SEGMENT_BYTES;
    call->callee.uc_link = &call->caller;
    makecontext(&call->callee, (void (*)(void))run_on_segment, 2, (unsigned)(address >> 32),
                (unsigned)address);
    fg_stack_low = (uintptr_t)segment + RESERVE_BYTES;
    swapcontext(&call->caller, &call->callee);
    fg_stack_low = outer_low;
    return call->result;
}

PyObject *fg_stack_segment_call(fg_eval_frame_func eval, fg_eval_frame_func otherwise, PyThreadState *tstate,
                                fg_pyframe *frame, int throwflag)
{
    struct call call = {.eval = eval, .tstate = tstate, .frame = frame, .throwflag = throwflag};
    PyObject *result;
    void *segment;

    if (!own.half)
        find_own();
    if (!fg_stack_is_low())
        return eval(tstate, frame, throwflag);
    if (has_greenlet())
        return otherwise(tstate, frame, throwflag);
    if (fg_stack_low == own.half && own.low < own.half)
        return call_below(own.low, eval, tstate, frame, throwflag);
    segment = mmap(NULL, SEGMENT_BYTES, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (segment == MAP_FAILED)
        return otherwise(tstate, frame, throwflag);
    result = call_on_segment(&call, segment);
    munmap(segment, SEGMENT_BYTES);
    return result;
}

#endif
