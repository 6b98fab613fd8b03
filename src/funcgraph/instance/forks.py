"""The options function-fork and event-fork: threads that listed threads start are listed as well.

The kernel follows its tracepoints sched_process_fork and sched_process_exit (Documentation/trace/ftrace.rst,
"function-fork"). A fork is here Thread.start() of the module threading. Child processes are none: an instance
records in its own process alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from funcgraph import _engine
from funcgraph.instance.filters import set_event_tids, set_filters
from funcgraph.instance.living import STATES
from funcgraph.instance.state import State

__all__ = ["OPTIONS", "after_fork", "watch"]

#: The options.
OPTIONS = ("function-fork", "event-fork")

_ONLY = ("tids", "set_event_pid")  # when they are empty, they mean all threads


class _Watch:
    """Whether threads are watched."""

    is_on = False


def watch() -> None:
    """Watch the threads of this process while an instance has one of the options, and no longer than that.

    Raises:
        OSError: EOPNOTSUPP: this Python cannot tell which thread starts another.
    """
    has_option = any(state.options[option] for state in list(STATES.values()) for option in OPTIONS)
    if has_option != _Watch.is_on:
        if has_option:
            import threading  # noqa: F401 - whose methods are watched
        _engine.watch_threads(_note_thread if has_option else None)
        _Watch.is_on = has_option


def after_fork() -> None:
    """Forget, in a fork's child, the threads of its parent."""
    if _Watch.is_on:
        _engine.watch_threads(_note_thread)


def _note_thread(parent_tid: int, tid: int) -> None:
    """Add a thread that begins to the lists that have its parent; take one that ends (parent 0) away."""
    for state in list(STATES.values()):
        with state.lock:
            _change_lists(state, parent_tid, tid)


def _change_lists(state: State, parent_tid: int, tid: int) -> None:
    if state.options["function-fork"] and (changed := _changed(state.tids, parent_tid, tid)):
        set_filters(state, tids=changed)
    if state.options["event-fork"] and (changed := _changed(state.event_tids, parent_tid, tid)):
        set_event_tids(state, **changed)


def _changed(lists: Mapping[str, tuple[int, ...]], parent_tid: int, tid: int) -> dict[str, tuple[int, ...]]:
    """Return the lists that have changed when a thread has begun or ended."""
    after = {name: _after(name, tids, parent_tid, tid) for name, tids in lists.items()}
    return {name: tids for name, tids in after.items() if tids != lists[name]}


def _after(name: str, tids: tuple[int, ...], parent_tid: int, tid: int) -> tuple[int, ...]:
    """Return what a list has then. The last thread stays: the empty list would select all."""
    if parent_tid:
        return (*tids, tid) if parent_tid in tids and tid not in tids else tids
    if tids == (tid,) and name in _ONLY:
        return tids
    return tuple(one for one in tids if one != tid)
