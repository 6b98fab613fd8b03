"""Which functions wait: for time, locks, processes, or sockets to be ready."""

from __future__ import annotations

from funcgraph.tracedata.description import NATIVE, Function

__all__ = ["is_waiting"]

#: C functions and Python functions, as module and qualified name without the class's module.
_WAITING = {
    "time": ("sleep",),
    "select": ("select", "poll.poll", "epoll.poll", "devpoll.poll"),
    "selectors": (
        "SelectSelector.select",
        "PollSelector.select",
        "EpollSelector.select",
        "_PollLikeSelector.select",
        "SelectSelector._select",
    ),
    "_thread": (
        "lock.acquire",
        "RLock.acquire",
        "lock.__enter__",
        "RLock.__enter__",
        "allocate_lock.acquire",
    ),
    "threading": (
        "Condition.wait",
        "Condition.wait_for",
        "Event.wait",
        "Barrier.wait",
        "Semaphore.acquire",
        "Thread.join",
        "Thread._wait_for_tstate_lock",
        "_RLock.acquire",
        "_shutdown",
    ),
    "queue": ("Queue.get", "Queue.put", "Queue.join"),
    "_queue": ("SimpleQueue.get",),
    "posix": ("wait", "waitpid", "wait3", "wait4", "waitid", "sched_yield"),
    "signal": ("sigwait", "sigwaitinfo", "sigtimedwait", "pause"),
    "_signal": ("sigwait", "sigwaitinfo", "sigtimedwait", "pause"),
    "subprocess": ("Popen.wait", "Popen._wait", "Popen._try_wait"),
    "multiprocessing.connection": ("wait",),
    "_multiprocessing": ("SemLock.acquire", "SemLock.__enter__"),
}
#: Of libraries in C.
_WAITING_NATIVE = frozenset(
    (
        "poll", "ppoll", "select", "pselect", "epoll_wait", "epoll_pwait", "nanosleep", "clock_nanosleep",
        "usleep", "sleep", "pause", "sem_wait", "sem_timedwait", "sem_clockwait", "pthread_cond_wait",
        "pthread_cond_timedwait", "pthread_cond_clockwait", "pthread_mutex_lock", "pthread_join",
        "pthread_mutex_timedlock", "wait", "waitpid", "waitid", "wait4", "sigwait", "sigwaitinfo", "futex",
        "sigtimedwait", "schedule", "do_nanosleep", "do_epoll_wait", "do_sys_poll", "do_select",
        "futex_wait", "do_futex",
    )
)  # fmt: skip


def is_waiting(function: Function) -> bool:
    """Return whether a function does nothing but wait."""
    if function.flags & NATIVE:
        return function.qualname.lstrip("_") in _WAITING_NATIVE
    return function.qualname in _WAITING.get(function.module, ())
