"""The filters of an instance: which functions and threads its tracer and its profiler see."""

from __future__ import annotations

import errno
import sys
from collections.abc import Mapping

from funcgraph.instance.native import hook_selected
from funcgraph.instance.state import State

__all__ = ["check_native", "profiled", "release_native", "set_event_tids", "set_filters"]

# Instances never trace their own functions, which the program calls while tracers run.
_OWN = ("funcgraph.instance.*", "funcgraph.settings.*", "funcgraph.tracefs.*")


def set_filters(
    state: State,
    patterns: Mapping[str, tuple[str, ...]] | None = None,
    tids: Mapping[str, tuple[int, ...]] | None = None,
) -> None:
    """Change some of the filters, all at once. Those that are not given stay.

    Args:
        patterns: setting -> its patterns.
        tids: setting -> its thread ids.
    """
    with state.lock:
        new_patterns = {**state.patterns, **(patterns or {})}
        new_tids = {**state.tids, **(tids or {})}
        hook_selected(_owner(state), new_patterns)
        _set_in_engine(state, new_patterns, new_tids)
        try:
            check_native(new_patterns)
        except OSError:
            _set_in_engine(state, state.patterns, state.tids)
            raise
        state.patterns, state.tids = new_patterns, new_tids
        for name, profiled_patterns in profiled(new_patterns).items():
            if state.profile and getattr(state.profile, name) != profiled_patterns:
                getattr(state.profile, f"set_{name}")(profiled_patterns, reset=True)


def _set_in_engine(
    state: State, patterns: Mapping[str, tuple[str, ...]], tids: Mapping[str, tuple[int, ...]]
) -> None:
    state.engine.set_filter(
        filter=patterns["filter"],
        notrace=patterns["notrace"] + _OWN,
        graph=patterns["graph"] or (state.latency.graph if state.latency else ()),
        graph_notrace=patterns["graph_notrace"],
        tids=tids["tids"] or None,
        notrace_tids=tids["notrace_tids"] or None,
        c_calls=state.c_calls,
    )


def check_native(patterns: Mapping[str, tuple[str, ...]]) -> None:
    """Check that native functions that now have users are hooked.

    Raises:
        OSError: of an object, no function is.
    """
    hooking = sys.modules.get("funcgraph.native.hooking")
    if hooking and (problems := hooking.refusals(patterns["filter"], is_total=True)):
        raise OSError(errno.EOPNOTSUPP, "; ".join(problems))


def release_native(state: State) -> None:
    """Look no longer for the native functions of an instance in objects that are loaded."""
    if hooking := sys.modules.get("funcgraph.native.hooking"):
        hooking.release(_owner(state))


def _owner(state: State) -> str:
    return f"instance {state.name}"


def profiled(patterns: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Return an instance's patterns as the function profiler takes them."""
    return {**patterns, "notrace": patterns["notrace"] + _OWN}


def set_event_tids(state: State, **tids: tuple[int, ...]) -> None:
    """Change the threads whose events an instance sees.

    Args:
        tids: file -> the thread ids that it holds. The other file stays.
    """
    all_tids = {**state.event_tids, **tids}
    state.engine.set_event_tids(all_tids["set_event_pid"] or None, all_tids["set_event_notrace_pid"] or None)
    state.event_tids = all_tids
