/* Telling somebody of threads of the module threading: which thread started which, and that one has ended.
 * As the kernel's tracepoints sched_process_fork and sched_process_exit are for its pid filters. */
#ifndef FG_CPYTHON_THREAD_WATCH_H
#define FG_CPYTHON_THREAD_WATCH_H

/* Called with the GIL, outside of the guard. No exception is set, and none may be left set. */
struct fg_thread_watch {
    void (*begins)(int parent_tid, int tid); /* in the new thread, before it runs any code of the program */
    void (*ends)(int tid);                   /* in the thread, which runs no code of the program any longer */
};

/**
 * fg_thread_watch_start() - Have a watch notified of threads.
 * @watch: stays where it is until it is stopped
 *
 * Return: 0; -EBUSY: there is a watch; -EOPNOTSUPP: this build has no call hooks, or threading is not
 * imported.
 * Context: with the GIL.
 */
int fg_thread_watch_start(const struct fg_thread_watch *watch);
/* Does nothing if there is no watch. */
void fg_thread_watch_stop(void);

#endif
