/* Exceptions that Python code raises: CPython's reports of them, while somebody wants them. */
#ifndef FG_CPYTHON_RAISES_H
#define FG_CPYTHON_RAISES_H

#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/interp.h"

/* What to report; the indices of struct fg_interp's `raises`, as bits. */
#define FG_RAISES 1u
#define FG_RERAISES 2u /* not before 3.12 */

/* A report: an exception is in a frame. */
struct fg_raise {
    fg_pyframe *frame;   /* the running one */
    PyObject *exception; /* an instance */
    PyObject *traceback; /* or NULL; the frame's entry is the first, where it has one */
    int offset;          /* of the instruction in the code, in bytes */
    bool is_reraise;
};

/* No exception is set; none is left set. */
typedef void (*fg_on_raise)(const struct fg_raise *raise);

/**
 * fg_raises_follow() - Report exceptions of an interpreter, or end that.
 * @on_raise: always the same function
 * @kinds: FG_RAISES and FG_RERAISES; each is counted, and reported while its count is not 0
 *
 * The caller keeps the hooks installed meanwhile.
 *
 * Return: 0, or -EIO with an exception.
 */
int fg_raises_follow(struct fg_interp *interp, fg_on_raise on_raise, unsigned kinds, bool on);

/* Calls the function. */
void fg_raises_report(const struct fg_raise *raise);

static inline bool fg_raises_has(const struct fg_interp *interp, unsigned kind)
{
    return interp->raises[kind - 1] != 0;
}

#endif
