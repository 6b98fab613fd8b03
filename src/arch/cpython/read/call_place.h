/* Where a call in progress is: the interpreter's frames of a call on the shadow stack and of its caller. */
#ifndef FG_CPYTHON_CALL_PLACE_H
#define FG_CPYTHON_CALL_PLACE_H

#include "arch/cpython/base/compat/frame.h"
#include "engine/graph/frame.h"

/* The interpreter's frames of a call and of its caller. */
struct fg_call_place {
    bool is_known;              /* false: the call is over, and CPython never reported its end */
    fg_pyframe *frame, *caller; /* `frame` is NULL: not linked to the thread, or a C function has none */
};

/* The newest frame of a thread, which stands still: the caller holds the GIL. NULL: no such thread. */
fg_pyframe *fg_newest_pyframe_of(int tid);

/* Searches from @from outwards. */
struct fg_call_place fg_call_place_find(fg_pyframe *from, const struct fg_frame_info *info);

#endif
