"""The function profiler of an instance: function_profile_enabled and trace_stat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from funcgraph import _engine
from funcgraph.instance.filters import profiled
from funcgraph.instance.state import State

if TYPE_CHECKING:
    from funcgraph.instance.profile import FunctionProfile

__all__ = ["is_enabled", "set_enabled", "trace_stat"]


def is_enabled(state: State) -> bool:
    """Return whether the profiler counts."""
    return state.profile is not None and state.profile.enabled


def set_enabled(state: State, on: bool) -> None:
    """Start the profiler from zero, or stop it. The caller holds the lock.

    Raises:
        OSError: ENOSPC: all slots for users are taken.
        RuntimeError: no hook is free.
    """
    if on and not is_enabled(state):
        profile = _engine.untraced(_profile, state)
        profile.start()
        state.profile = profile
    elif not on and state.profile is not None and state.profile.enabled:
        state.profile.stop()


def trace_stat(state: State, thresh_us: int, tid: int | None) -> str:
    """Return the profiler's table, without functions whose calls take less than `thresh_us` on average.

    Raises:
        OSError: ESRCH: nothing was counted in that thread, or it has ended.
    """
    profile = state.profile
    if profile is None:
        return _engine.untraced(_empty_stat)
    profile.thresh_us = thresh_us
    return _engine.untraced(profile.trace_stat, tid)


# The profiler is imported when somebody enables it, or reads its table.


def _profile(state: State) -> FunctionProfile:
    from funcgraph.instance.profile import FunctionProfile

    patterns = profiled(state.patterns)
    return FunctionProfile(
        filter=patterns["filter"],
        notrace=patterns["notrace"],
        graph=patterns["graph"],
        graph_notrace=patterns["graph_notrace"],
        graph_time=state.options["graph-time"],
        sleep_time=state.options["sleep-time"],
    )


def _empty_stat() -> str:
    from funcgraph.instance.profile import stat_text

    return stat_text(())
