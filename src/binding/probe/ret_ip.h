/* ReturnAddress: where a probed call returns to. */
#ifndef FG_BINDING_RET_IP_H
#define FG_BINDING_RET_IP_H

#include <stdint.h>

#include "binding/core/spare.h"
#include "binding/core/state.h"
#include "binding/graph/regs.h"

struct fg_ret_ip {
    PyObject_HEAD const struct fg_callback *callback; /* NULL: it is over */
    struct fg_regs *regs;                             /* of the same callback; NULL once it is over */
    uintptr_t address;
    PyObject *location; /* NULL until asked for */
};

extern PyType_Spec fg_ret_ip_spec;

/* The slow paths of the two functions below: a new object with its regs, or NULL with an exception; an
 * object that the callback kept, or asked for the location. */
struct fg_ret_ip *fg_ret_ip_new(struct fg_engine_state *state);
void fg_ret_ip_settle_used(struct fg_ret_ip *ret_ip, fg_spare *spare);

/**
 * fg_ret_ip_take - the ReturnAddress of a callback that begins
 * @spare: where its probe keeps one
 *
 * Return: a new reference, or NULL with an exception.
 */
static inline struct fg_ret_ip *fg_ret_ip_take(struct fg_engine_state *state, fg_spare *spare,
                                               const struct fg_callback *callback, uintptr_t address)
{
    struct fg_ret_ip *ret_ip = fg_spare_take(spare);

    if (fg_unlikely(!ret_ip))
        ret_ip = fg_ret_ip_new(state);
    if (fg_likely(ret_ip != NULL)) {
        ret_ip->callback = ret_ip->regs->callback = callback;
        ret_ip->address = address;
    }
    return ret_ip;
}

/* The callback is over. Steals the reference. */
static inline void fg_ret_ip_settle(struct fg_ret_ip *ret_ip, fg_spare *spare)
{
    if (fg_likely(Py_REFCNT(ret_ip) == 1 && Py_REFCNT(ret_ip->regs) == 1 && !ret_ip->location))
        fg_spare_put(spare, ret_ip);
    else
        fg_ret_ip_settle_used(ret_ip, spare);
}

#endif
