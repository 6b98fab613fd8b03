"""The function profiler of an instance: function_profile_enabled and trace_stat."""

from __future__ import annotations

from typing import Any

from funcgraph import _engine
from funcgraph.instance.filters import profiled
from funcgraph.instance.state import State

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
        profile = _engine.untraced(_profiler).FunctionProfile(
            **profiled(state.filters),
            graph_time=state.options["graph-time"],
            sleep_time=state.options["sleep-time"],
        )
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
        empty: str = _engine.untraced(_profiler).stat_text(())
        return empty
    profile.thresh_us = thresh_us
    text: str = _engine.untraced(profile.trace_stat, tid)
    return text


def _profiler() -> Any:
    """Import the profiler, when somebody enables it."""
    from funcgraph.instance import profile

    return profile
