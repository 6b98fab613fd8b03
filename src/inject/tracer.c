/* See tracer.h. */
#include "inject/tracer.h"

#include <pthread.h>
#include <signal.h>

struct run {
    int (*work)(void *data);
    void *data;
    int result;
};

static void *run(void *data)
{
    struct run *run = data;

    run->result = run->work(run->data);
    return NULL;
}

int fg_tracer_run(int (*work)(void *data), void *data)
{
    struct run what = {.work = work, .data = data};
    sigset_t all, before;
    pthread_t thread;
    int error;

    /* This process's signals stay with the threads that are there for them. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&thread, NULL, run, &what);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        return -error;
    pthread_join(thread, NULL);
    return what.result;
}
