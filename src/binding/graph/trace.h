/* GraphEnt and GraphRet: what the callbacks of an FgraphOps learn about a call. */
#ifndef FG_BINDING_TRACE_H
#define FG_BINDING_TRACE_H

#include "binding/core/callback.h"
#include "binding/core/spare.h"
#include "binding/graph/regs.h"
#include "engine/core/function.h"
#include "engine/core/public.h"
#include "engine/core/task.h"

/* Of a call; an entry has no rettime, overrun and end. */
struct fg_trace_facts {
    uint64_t calltime, start, rettime, overrun;
    uint32_t depth;
    enum fg_end end;
};

struct fg_trace {
    PyObject_HEAD const struct fg_callback
        *callback;        /* NULL: it is over, and `facts` has what can be asked */
    struct fg_regs *regs; /* the callback's other argument; NULL once it is over */
    PyObject *func;
    PyObject *parent;            /* NULL until asked for */
    struct fg_trace_facts facts; /* once the callback is over */
};

extern PyType_Spec fg_ent_spec, fg_ret_spec;

/**
 * fg_trace_about - set the function that an object is about
 * @trace: the object, whose reference is stolen; NULL: a new object with its regs is made
 *
 * Return: a new reference, or NULL with an exception.
 */
struct fg_trace *fg_trace_about(struct fg_trace *trace, const struct fg_callback *callback,
                                struct fg_func *func);

/* The callback is over, and has asked the object for something or kept it or its regs. Steals the
 * reference. */
void fg_trace_settle(struct fg_trace *trace, fg_spare *spare);

#endif
