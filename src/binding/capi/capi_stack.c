/* The C API: threads and their calls in progress. */
#include <errno.h>

#include "arch/cpython/base/tstate.h"
#include "arch/cpython/read/call_place.h"
#include "arch/cpython/read/regs.h"
#include "binding/capi/capi.h"
#include "engine/core/task.h"
#include "engine/graph/frame.h"

/* ---- of the calling thread; nothing is needed */

struct stack_copy {
    struct fgraph_ret_frame *frames;
    size_t n, room;
};

static bool copy_frame(const struct fg_frame_info *frame, void *arg)
{
    struct stack_copy *copy = arg;

    if (copy->n == copy->room)
        return false;
    copy->frames[copy->n++] = (struct fgraph_ret_frame){frame->func, frame->calltime, frame->bitmap};
    return true;
}

size_t fg_capi_get_ret_stack(struct fgraph_ret_frame frames[], size_t room)
{
    struct stack_copy copy = {frames, 0, room};

    if (fg_task_self)
        fg_walk(fg_task_self, copy_frame, &copy);
    return copy.n;
}

/* ---- one call of any thread, with its places; with the GIL */

struct search {
    const struct fg_task *task;
    unsigned idx;       /* how many calls to pass over */
    fg_pyframe *newest; /* the frame from which to search for the next call's frame */
    bool is_callbacks;  /* the next call is that whose callback runs */
    struct ftrace_ret_stack *found;
    bool is_found;
};

/* The call whose callback runs has no frame of its own if it is of a C function, and on 3.11. */
static struct fg_call_place place_of(const struct search *search, const struct fg_frame_info *info)
{
    struct fg_call_place place = fg_call_place_find(search->newest, info);

    if (!place.is_known && search->is_callbacks)
        place = (struct fg_call_place){.is_known = true, .caller = search->newest};
    return place;
}

static bool look_at(const struct fg_frame_info *info, void *arg)
{
    struct search *search = arg;
    struct fg_call_place place = place_of(search, info);

    search->is_callbacks = false;
    if (!place.is_known)
        return true;
    search->newest = place.caller;
    if (search->idx-- > 0)
        return true;
    *search->found = (struct ftrace_ret_stack){info->func, info->calltime, info->bitmap, {0}, {0}};
    fg_pyframe_locate(place.frame, &search->found->location);
    fg_pyframe_locate(fg_complete_pyframe(place.caller), &search->found->parent);
    search->is_found = true;
    return false;
}

#ifndef Py_GIL_DISABLED

struct task_lookup {
    const struct fg_task *task;
    int tid;
};

static void look_up(struct fg_task *task, void *arg)
{
    struct task_lookup *lookup = arg;

    if (task == lookup->task)
        lookup->tid = task->tid;
}

static void walk_if_meant(struct fg_task *task, void *arg)
{
    struct search *search = arg;

    if (task == search->task)
        fg_walk(task, look_at, search);
}

/* The task may have ended, so it is only compared with the list of tasks. */
static int walk_other(struct search *search)
{
    struct task_lookup lookup = {.task = search->task};

    fg_task_for_each(look_up, &lookup);
    if (!lookup.tid)
        return -ESRCH;
    search->newest = fg_newest_pyframe_of(lookup.tid);
    fg_task_for_each(walk_if_meant, search);
    return 0;
}

#else

/* The other thread may change its stack while we read it. */
static int walk_other(struct search *search)
{
    (void)search;
    return -EOPNOTSUPP;
}

#endif

int fg_capi_graph_get_ret_stack(const struct fg_task *task, unsigned idx, struct ftrace_ret_stack *call)
{
    struct search search = {.task = task ? task : fg_task_self, .idx = idx, .found = call};
    int error = 0;

    if (!search.task)
        return -ENOENT;
    if (search.task == fg_task_self) {
        search.newest = fg_current_pyframe(fg_tstate());
        search.is_callbacks = fg_task_guard(fg_task_self) & fg_task_self->context;
        fg_walk(fg_task_self, look_at, &search);
    } else {
        error = walk_other(&search);
    }
    if (error)
        return error;
    return search.is_found ? 0 : -ENOENT;
}

/* ---- tasks */

struct tid_lookup {
    int tid;
    struct fg_task *task;
};

static void look_up_tid(struct fg_task *task, void *arg)
{
    struct tid_lookup *lookup = arg;

    if (task->tid == lookup->tid)
        lookup->task = task;
}

struct fg_task *fg_capi_task_of(int tid)
{
    struct tid_lookup lookup = {.tid = tid};

    fg_task_for_each(look_up_tid, &lookup);
    return lookup.task;
}
