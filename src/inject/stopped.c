/* See stopped.h. */
#include "inject/stopped.h"

#include "inject/tracer.h"

struct visit {
    const struct fg_process *process;
    pid_t tid;
    int (*act)(const struct fg_thread *thread, void *data);
    void *data;
};

static int visit(void *data)
{
    const struct visit *visit = data;
    struct fg_thread thread;
    int result = fg_thread_stop(&thread, visit->process, visit->tid);

    if (result < 0)
        return result;
    result = visit->act(&thread, visit->data);
    fg_thread_go(&thread);
    return result;
}

int fg_while_stopped(const struct fg_process *process, pid_t tid,
                     int (*act)(const struct fg_thread *thread, void *data), void *data)
{
    struct visit what = {process, tid, act, data};

    return fg_tracer_run(visit, &what);
}
