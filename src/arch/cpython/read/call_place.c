/* See call_place.h. */
#include "arch/cpython/read/call_place.h"

#include "arch/cpython/read/code.h"

fg_pyframe *fg_newest_pyframe_of(int tid)
{
    PyThreadState *tstate = PyInterpreterState_ThreadHead(PyInterpreterState_Get());

    while (tstate && tstate->native_thread_id != (unsigned long)tid)
        tstate = PyThreadState_Next(tstate);
    return tstate ? fg_current_pyframe(tstate) : NULL;
}

static bool is_frame_of(fg_pyframe *frame, const struct fg_frame_info *info)
{
    return (uintptr_t)frame == info->fp && fg_complete_pyframe(frame) == frame &&
           fg_code_func(fg_pyframe_code(frame)) == info->func;
}

struct fg_call_place fg_call_place_find(fg_pyframe *from, const struct fg_frame_info *info)
{
    while (from && !is_frame_of(from, info))
        from = from->previous;
    return (struct fg_call_place){from, from, from ? from->previous : NULL};
}
