/* KprobeMultiCtx: what the program of a link learns about a call. */
#ifndef FG_BINDING_KPROBE_MULTI_CTX_H
#define FG_BINDING_KPROBE_MULTI_CTX_H

#include "binding/core/callback.h"
#include "binding/core/spare.h"
#include "binding/core/state.h"
#include "binding/probe/ret_ip.h"
#include "engine/probe/kprobe_multi.h"

/* One object serves call after call. An object that the program keeps goes on telling about its call. */
struct fg_kprobe_multi_ctx {
    PyObject_HEAD const struct fg_callback *callback; /* NULL: it is over */
    uint64_t *session_word;   /* NULL: the callback is over, or the link is no session */
    PyObject *link, *func;    /* the link is borrowed while the callback runs, then owned */
    struct fg_ret_ip *ret_ip; /* with the regs; the same */
    uint64_t cookie, session_cookie;
    bool is_return, is_session;
};

extern PyType_Spec fg_kprobe_multi_ctx_spec;

/* A new object, or NULL with an exception. */
struct fg_kprobe_multi_ctx *fg_kprobe_multi_ctx_new(struct fg_engine_state *state);

/* The callback is over and the program kept the object, which becomes the owner of what it had borrowed.
 * Steals the reference. */
FG_COLD void fg_kprobe_multi_ctx_keep(struct fg_kprobe_multi_ctx *ctx);

#endif
