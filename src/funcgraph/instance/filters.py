"""The filters of an instance: which functions and threads its tracer and its profiler see."""

from __future__ import annotations

from collections.abc import Mapping

from funcgraph.instance.native import hook_selected
from funcgraph.instance.state import State

__all__ = ["profiled", "set_event_tids", "set_filters"]

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
        hook_selected(new_patterns)
        state.engine.set_filter(
            filter=new_patterns["filter"],
            notrace=new_patterns["notrace"] + _OWN,
            graph=new_patterns["graph"] or (state.latency.graph if state.latency else ()),
            graph_notrace=new_patterns["graph_notrace"],
            tids=new_tids["tids"] or None,
            notrace_tids=new_tids["notrace_tids"] or None,
            c_calls=state.c_calls,
        )
        state.patterns, state.tids = new_patterns, new_tids
        for name, profiled_patterns in profiled(new_patterns).items():
            if state.profile and getattr(state.profile, name) != profiled_patterns:
                getattr(state.profile, f"set_{name}")(profiled_patterns, reset=True)


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
