"""The filters of an instance: which functions and threads its tracer and its profiler see."""

from __future__ import annotations

from typing import Any

from funcgraph.instance.state import State

__all__ = ["profiled", "set_event_tids", "set_filters"]

# Instances never trace their own functions, which the program calls while tracers run.
_OWN = ("funcgraph.instance.*", "funcgraph.settings.*", "funcgraph.tracefs.*")


def set_filters(state: State, **filters: tuple[Any, ...]) -> None:
    """Change some of the filters, all at once.

    Args:
        filters: setting -> patterns, or thread ids. Filters that are not given stay.
    """
    with state.lock:
        wanted = {**state.filters, **filters}
        state.engine.set_filter(
            filter=wanted["filter"],
            notrace=wanted["notrace"] + _OWN,
            graph=wanted["graph"] or (state.latency.graph if state.latency else ()),
            graph_notrace=wanted["graph_notrace"],
            tids=wanted["tids"] or None,
            notrace_tids=wanted["notrace_tids"] or None,
            c_calls=state.c_calls,
        )
        state.filters = wanted
        for name, patterns in profiled(wanted).items():
            if state.profile and getattr(state.profile, name) != patterns:
                getattr(state.profile, f"set_{name}")(patterns, reset=True)


def profiled(filters: dict[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
    """Return an instance's patterns as the function profiler takes them."""
    patterns = {name: filters[name] for name in ("filter", "notrace", "graph", "graph_notrace")}
    patterns["notrace"] += _OWN
    return patterns


def set_event_tids(state: State, **tids: tuple[int, ...]) -> None:
    """Change the threads whose events an instance sees.

    Args:
        tids: file -> the thread ids that it holds. The other file stays.
    """
    wanted = {**state.event_tids, **tids}
    state.engine.set_event_tids(wanted["set_event_pid"] or None, wanted["set_event_notrace_pid"] or None)
    state.event_tids = wanted
