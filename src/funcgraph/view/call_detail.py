"""Answers about single calls: which one is there, its arguments and result, what it was called from, and its
neighbours among the calls of its function."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from funcgraph.tracedata.call_index import Lane, Span, SpanColumns
from funcgraph.tracedata.events import Event
from funcgraph.tracedata.selected_time import exact_time
from funcgraph.tracedata.selection import Selection
from funcgraph.view import task_lanes
from funcgraph.view.parameters import Parameters, rounding_ns
from funcgraph.view.served import Served
from funcgraph.view.source_lines import source_around, source_of
from funcgraph.view.task_lanes import TaskLane

__all__ = [
    "Place",
    "arguments_of",
    "call",
    "entry_of",
    "head_of",
    "histogram",
    "located",
    "longest",
    "report_command",
    "shown_value",
    "source",
    "step",
    "time_text",
]

_MAX = 2**32 - 1
_MOST_PARENTS = 1000
_MOST_CALLERS = 16  # of which the line of the call is looked up
_MOST_AT_ONCE = 1000  # events that a thread may have at one time
_MOST_LONGEST = 1000
_CHILD_PIXELS = 4096


class Place(NamedTuple):
    """Where a call is.

    Attributes:
        lane: that of its thread.
        span: the call's stretch.
        parents: those around it in the thread, the nearest first.
        task: the task in whose lane it was asked for.
    """

    lane: Lane
    span: Span
    parents: list[Span]
    task: TaskLane | None


def located(served: Served, parameters: Parameters) -> Place | None:
    """Return the call in a lane at a time: the innermost one, or that at a depth; None: there is none."""
    number = parameters.integer("lane", 0, _MAX)
    time_ns = parameters.time("time")
    depth = parameters.integer("depth", 0, _MAX) if "depth" in parameters else None
    place = _place_at(served, number, served.begin_ns + time_ns, depth)
    if place is None and (later_ns := rounding_ns(time_ns)):  # a begin may have been rounded to before it
        place = _place_at(served, number, served.begin_ns + time_ns + later_ns, depth)
    return place


def _place_at(served: Served, number: int, time_ns: int, depth: int | None) -> Place | None:
    task = task_lanes.task_lane(served, number) if task_lanes.is_task(number) else None
    lane = None if task else served.lane(number)
    if task is not None:
        run = task.run_at(time_ns)
        if run is None:
            return None
        lane, depth = run[1], None if depth is None else depth + run[0].depth
    assert lane is not None
    span = served.index().call_at(lane, time_ns)
    parents = served.index().parents(span) if span else []
    while span and depth is not None and span.depth > depth:
        span = parents.pop(0) if parents else None
    if span is None or (depth is not None and span.depth != depth):
        return None
    return Place(lane, span, parents, task)


def call(served: Served, parameters: Parameters) -> dict[str, Any]:
    """Return the call in a lane at a time: the innermost one, or that at a depth."""
    place = located(served, parameters)
    if place is None:
        return {"call": None}
    detail = _detail(served, place.lane, place.span, place.parents)
    detail["thread"] = place.lane.number
    if place.task is not None:
        detail = task_lanes.span_head(place.task, place.span, detail)
        detail["parents"] = [
            task_lanes.span_head(place.task, parent, row)
            for parent, row in zip(place.parents, detail["parents"], strict=False)
        ]
    return {"call": detail}


def entry_of(served: Served, lane: Lane, span: Span) -> Event | None:
    """Return the event with which a stretch of a call begins, read from the file; None: there is none."""
    return _event_at(served, lane, span, span.begin_ns, ("entry",))


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


def step(served: Served, parameters: Parameters) -> dict[str, Any]:
    """Return the next or previous call of a function; only of those that raised, if that is wanted."""
    function = served.function(parameters.integer("function", 0, _MAX))
    lane = served.lane(parameters.integer("lane", 0, _MAX)) if "lane" in parameters else None
    time_ns = served.begin_ns + parameters.time("time")
    index = served.index()
    is_next = parameters.choice("direction", ("next", "previous"), "next") == "next"
    find = index.next_call if is_next else index.previous_call
    span = find(function, time_ns, lane, raised=parameters.switch("raised"))
    return {"call": head_of(served, span) if span else None}


def longest(served: Served, parameters: Parameters) -> dict[str, Any]:
    """Return the longest calls of a function."""
    function = served.function(parameters.integer("function", 0, _MAX))
    least_ns = parameters.time("least", 0)
    most = parameters.integer("most", 1, _MOST_LONGEST, 20)
    spans = served.index().longest_calls(function, least_ns, most)
    return {"calls": [head_of(served, span) for span in spans]}


def histogram(served: Served, parameters: Parameters) -> dict[str, Any]:
    """Return how many calls of a function took how long."""
    function = served.function(parameters.integer("function", 0, _MAX))
    return {"bins": served.index().histogram(function)}


def source(served: Served, parameters: Parameters) -> dict[str, Any]:
    """Return the source of a function."""
    function = served.function(parameters.integer("function", 0, _MAX))
    return {"source": source_of(function)}


def time_text(served: Served, time_ns: int) -> str:
    """Return a time as a selection takes it, exact."""
    return exact_time(served.trace.clock, time_ns)


def report_command(served: Served, lane: Lane, begin_ns: int, end_ns: int) -> str:
    """Return the command that prints a part of a lane; "": its trace has no name."""
    if served.is_live:
        return ""
    words = ["funcgraph", "report", "--task", str(lane.task.tid), "--imports"]
    buffers = served.trace.buffers
    if len(buffers) > 1 and lane.task.buffer < len(buffers):
        words += ["-B", buffers[lane.task.buffer].name]
    words += ["--from", time_text(served, begin_ns), "--to", time_text(served, end_ns), served.path]
    return shlex.join(words)


def _detail(served: Served, lane: Lane, span: Span, parents: list[Span]) -> dict[str, Any]:
    """Return what there is to say about a call."""
    entry = entry_of(served, lane, span)
    end = _event_at(served, lane, span, span.end_ns, ("return", "raise", "suspend", "close"))
    bins = served.index().histogram(span.function) if span.function else []
    callers = _parents(served, lane, entry, parents)
    return {
        **head_of(served, span),
        "arguments": arguments_of(entry),
        "result": shown_value(end.result) if end and end.values and end.kind != "raise" else None,
        "exception": end.exception if end else None,
        "total_ns": span.end_ns - span.begin_ns,
        "own_ns": _own_ns(served, span),
        "parents": callers,
        "nth": served.index().number_of(span),
        "of": sum(count for _, count in bins),
        "source": source_of(span.function) if span.function else None,
        "caller_source": _caller_source(parents, callers),
        "report": report_command(served, lane, span.begin_ns, span.end_ns),
    }


def _caller_source(parents: list[Span], callers: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the lines around that of the call, in the function that made it; None: they are not there."""
    function = parents[0].function if parents else None
    return source_around(function, callers[0]["line"]) if function and callers[0]["line"] else None


def _parents(served: Served, lane: Lane, entry: Event | None, parents: list[Span]) -> list[dict[str, Any]]:
    """Return the calls around a call, with the lines at which they made the next one."""
    rows = []
    for place, parent in enumerate(parents[:_MOST_PARENTS]):
        rows.append({**head_of(served, parent), "line": entry.caller_line or None if entry else None})
        looks_on = entry is not None and entry.caller_line and place < _MOST_CALLERS
        entry = entry_of(served, lane, parent) if looks_on else None
    return rows


def _event_at(served: Served, lane: Lane, span: Span, time_ns: int, kinds: tuple[str, ...]) -> Event | None:
    """Return the event of a call at a time, read from the file; None: it has none."""
    for event in islice(_events_at(served, lane, time_ns), _MOST_AT_ONCE):
        is_same = event.depth == span.depth and event.function == span.function
        if is_same and event.kind in kinds:
            return event
    return None


def _events_at(served: Served, lane: Lane, time_ns: int) -> Iterator[Event]:
    tasks = served.tasks_of([lane])
    if not tasks or not served.can_seek:
        return iter(())
    text = time_text(served, time_ns)
    return served.trace.events(tasks=tasks, select=Selection(begin=text, end=text))


def arguments_of(entry: Event | None) -> list[list[str]] | None:
    """Return the names and values of what a call was given; None: that was not recorded."""
    if entry is None or not entry.values:
        return None
    return [[name, shown_value(value)] for name, value in entry.arguments.items()]


def shown_value(value: object) -> str:
    """Return a value as a report prints it."""
    is_of_python = isinstance(value, str | bytes | tuple | bool | int | float) or value is None
    return repr(value) if is_of_python else str(value)


def _own_ns(served: Served, span: Span) -> int | None:
    """Return the time of a stretch of a call without its callees; None: not known, as they are so short that
    they cannot be told from those of its neighbours."""
    if span.end_ns <= span.begin_ns:
        return 0
    part = (span.lane, span.begin_ns, span.end_ns, _CHILD_PIXELS)
    rows = served.index().spans(*part, (span.depth + 1, span.depth + 1))
    ends = len(SpanColumns.ENDS)
    for begin_ns, end_ns, ended in zip(rows.begin_ns, rows.end_ns, rows.ended, strict=True):
        if ended == ends and (begin_ns < span.begin_ns or end_ns > span.end_ns):
            return None
    return max(span.end_ns - span.begin_ns - sum(rows.busy_ns), 0)
