"""Answers to the simple questions: the traces, their lanes, functions, spans and marks."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any

from funcgraph.page.rows import function_row, trace_row
from funcgraph.tracedata.call_index import Mark, SpanColumns
from funcgraph.version import installed_version
from funcgraph.view import task_lanes
from funcgraph.view.parameters import Parameters
from funcgraph.view.request_error import RequestError
from funcgraph.view.served import Served

__all__ = ["functions", "lanes", "marks", "pack_spans", "spans", "traces"]

_MAGIC = b"FGS1"
_MOST_PIXELS, _MOST_DEPTHS, _MOST_MARKS = 16384, 512, 10_000
_MAX_DEPTH = 2**32 - 1


def traces(served: Sequence[Served]) -> dict[str, Any]:
    """Return what there is."""
    return {"version": installed_version(), "traces": [_trace(one) for one in served]}


def _trace(one: Served) -> dict[str, Any]:
    trace = one.trace
    state, message = one.state()
    calls = sum(lane.calls for lane in one.index().lanes()) if state == "ready" else None
    return {
        **trace_row(trace, one.path),
        "number": one.number,
        "begin_ns": str(one.begin_ns),
        "duration_ns": one.duration_ns,
        "calls": calls,
        "state": state,
        "progress": one.progress(),
        "version": one.version,
        "first_ns": one.first_ns,
        "growing": one.is_growing,
        "base": one.base.number if one.base else None,
        "message": message,
    }


def lanes(served: Served, _parameters: Parameters) -> dict[str, Any]:
    """Return the threads of a trace, and the tasks and greenlets in them."""
    names = [buffer.name for buffer in served.trace.buffers]
    rows = [
        {
            "number": lane.number,
            "kind": "thread",
            "process": lane.task.process,
            "pid": lane.task.pid,
            "name": lane.task.name,
            "tid": lane.task.tid,
            "begin_ns": lane.begin_ns - served.begin_ns,
            "end_ns": lane.end_ns - served.begin_ns,
            "calls": lane.calls,
            "spans": lane.spans,
            "depths": lane.depths,
            "instance": names[lane.task.buffer] if lane.task.buffer < len(names) else "",
        }
        for lane in served.index().lanes()
    ]
    tasks = task_lanes.rows(served)
    return {"lanes": [*rows, *tasks["lanes"]], "left_out": tasks["left_out"]}


def functions(served: Served, _parameters: Parameters) -> dict[str, Any]:
    """Return the functions of a trace."""
    return {"functions": function_rows(served, range(len(served.functions)))}


def function_rows(served: Served, numbers: Iterable[int]) -> list[dict[str, Any]]:
    """Return what a page needs to know of functions."""
    index = served.index()
    totals = {row.function: row.total_ns for row in index.functions() if row.function}
    rows = []
    for number in numbers:
        function = served.functions[number]
        calls = sum(count for _, count in index.histogram(function))
        total_ns = totals.get(function, 0)
        rows.append(function_row(function, number, calls, total_ns, is_kernel=served.trace.is_kernel))
    return rows


def spans(served: Served, parameters: Parameters) -> bytes:
    """Return what a picture of a part of a lane shows, in the page's own layout."""
    number = parameters.integer("lane", 0, _MAX_DEPTH)
    begin, end = served.part(parameters)
    pixels = parameters.integer("pixels", 1, _MOST_PIXELS)
    first = parameters.integer("first", 0, _MAX_DEPTH, 0)
    last = min(parameters.integer("last", 0, _MAX_DEPTH, _MAX_DEPTH), first + _MOST_DEPTHS - 1)
    if last < first:
        raise RequestError(400, f"last must not be less than first, got {last} and {first}")
    if task_lanes.is_task(number):
        lane = task_lanes.task_lane(served, number)
        rows = task_lanes.spans(served, lane, begin, end, pixels, (first, last))
    else:
        rows = served.index().spans(served.lane(number), begin, end, pixels, (first, last))
    return pack_spans(rows, served.begin_ns)


def pack_spans(rows: SpanColumns, begin_ns: int) -> bytes:
    """Return columns one after another, each padded to 8 bytes, after a magic number and their length.

    Args:
        rows: the columns.
        begin_ns: to which times are relative.
    """
    columns: list[array[float] | memoryview[int] | memoryview[bool]] = [
        array("d", [time - begin_ns for time in rows.begin_ns]),
        array("d", [time - begin_ns for time in rows.end_ns]),
        array("d", rows.busy_ns),
        rows.count,
        rows.function,
        rows.depth,
        rows.ended,
        rows.resumed,
    ]
    parts = [_MAGIC + len(rows).to_bytes(4, "little")]
    for column in columns:
        data = column.tobytes()
        parts.append(data + bytes(-len(data) % 8))
    return b"".join(parts)


def marks(served: Served, parameters: Parameters) -> dict[str, Any]:
    """Return the marks of a part of a lane."""
    number = parameters.integer("lane", 0, _MAX_DEPTH)
    begin, end = served.part(parameters)
    most = parameters.integer("most", 1, _MOST_MARKS, 1000)
    found = [
        {
            "kind": mark.kind,
            "time_ns": mark.time_ns - served.begin_ns,
            "count": mark.count,
            "function": served.number_of(mark.function),
        }
        for mark in _marks_of(served, number, begin, end, most)
    ]
    return {"marks": found}


def _marks_of(served: Served, number: int, begin_ns: int, end_ns: int, most: int) -> list[Mark]:
    if task_lanes.is_task(number):
        return task_lanes.marks(served, task_lanes.task_lane(served, number), begin_ns, end_ns, most)
    return served.index().marks(served.lane(number), begin_ns, end_ns, most=most)
