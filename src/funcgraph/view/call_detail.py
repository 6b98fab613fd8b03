"""Answers about one call: where it is, what it was called from, and its source."""

from __future__ import annotations

from typing import Any

from funcgraph.tracedata.call_index import Span
from funcgraph.view.parameters import Parameters
from funcgraph.view.served import Served

__all__ = ["call", "head_of"]

_MAX_LANE = 2**32 - 1
_MOST_PARENTS = 1000


def call(served: Served, parameters: Parameters) -> dict[str, Any]:
    """Return the call in a lane at a time: the innermost one, or that at a depth."""
    lane = served.lane(parameters.integer("lane", 0, _MAX_LANE))
    time_ns = served.begin_ns + parameters.time("time")
    span = served.index().call_at(lane, time_ns)
    parents = served.index().parents(span) if span else []
    if "depth" in parameters:
        depth = parameters.integer("depth", 0, _MAX_LANE)
        while span and span.depth > depth:
            span = parents.pop(0) if parents else None
        span = span if span and span.depth == depth else None
    return {"call": detail(served, span, parents) if span else None}


def head_of(served: Served, span: Span) -> dict[str, Any]:
    """Return what the index knows of a call."""
    return {
        "lane": span.lane,
        "function": served.number_of(span.function),
        "begin_ns": span.begin_ns - served.begin_ns,
        "end_ns": span.end_ns - served.begin_ns,
        "depth": span.depth,
        "ended": span.ended,
        "resumed": span.resumed,
    }


def detail(served: Served, span: Span, parents: list[Span]) -> dict[str, Any]:
    """Return what there is to say about a call."""
    return {
        **head_of(served, span),
        "arguments": None,
        "result": None,
        "exception": None,
        "total_ns": span.end_ns - span.begin_ns,
        "own_ns": None,
        "parents": [{**head_of(served, parent), "line": None} for parent in parents[:_MOST_PARENTS]],
        "nth": None,
        "of": 0,
        "source": None,
        "report": "",
    }
