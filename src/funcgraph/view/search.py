"""Searching a trace: for functions by name, and for calls by what they were given or returned."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Any

from funcgraph import _tracedata
from funcgraph.tracedata.call_index import Lane, Span
from funcgraph.tracedata.description import Function, encodable
from funcgraph.tracedata.events import Columns
from funcgraph.tracedata.selection import Selection
from funcgraph.tracedata.values import decode_values
from funcgraph.view.call_detail import head_of, time_text
from funcgraph.view.parameters import Parameters
from funcgraph.view.request_error import RequestError
from funcgraph.view.served import Served

__all__ = ["matching_functions", "search"]

_MAX = 2**32 - 1
_MOST_HITS = 10_000
_MOST_VALUES = 200_000  # recorded values that one search looks at
_MOST_EVENTS = 20_000_000
_BATCH = 16384
_FIELDS = ("lane", "begin_ns", "end_ns", "depth", "function")


def search(served: Served, parameters: Parameters) -> dict[str, Any]:
    """Return the functions whose names have a text, and their calls; or the calls whose values have it."""
    text = parameters.text("text")
    if not text:
        raise RequestError(400, "text must not be empty")
    lane = served.lane(parameters.integer("lane", 0, _MAX)) if "lane" in parameters else None
    begin_ns, end_ns = served.part_or_all(parameters)
    most = parameters.integer("most", 1, _MOST_HITS, 1000)
    if parameters.switch("values"):
        return _search_values(served, text, lane, (begin_ns, end_ns), most)
    found = matching_functions(served.functions, text)
    hits: list[dict[str, Any]] = []
    is_complete = True
    for span in _calls_of(served, [served.functions[number] for number in found], lane, begin_ns, end_ns):
        if len(hits) == most:
            is_complete = False
            break
        hits.append(_hit(served, span))
    is_all = lane is None and not ("begin" in parameters or "end" in parameters)
    count = len(hits) if is_complete or not is_all else _calls(served, found)
    return {"functions": found, "hits": hits, "count": count, "complete": is_complete}


def matching_functions(functions: Sequence[Function], text: str) -> list[int]:
    """Return the numbers of the functions whose names have a text, in any case; `*` and `?` are a pattern."""
    if any(c in text for c in "*?["):
        names = [(encodable(function.name), encodable(function.module)) for function in functions]
        try:
            marks = _tracedata.match_functions(encodable(text), names)
        except ValueError as error:
            raise RequestError(400, f"text {text[:40]!r} is no pattern: {error}") from None
        return [number for number, mark in enumerate(marks) if mark]
    lower = text.casefold()
    return [number for number, function in enumerate(functions) if lower in function.name.casefold()]


def _calls(served: Served, numbers: list[int]) -> int:
    index = served.index()
    bins = (bin for number in numbers for bin in index.histogram(served.functions[number]))
    return sum(count for _, count in bins)


def _calls_of(
    served: Served, functions: list[Function], lane: Lane | None, begin_ns: int, end_ns: int
) -> Iterator[Span]:
    """Yield the spans of functions that begin in a part, in order of time."""
    index = served.index()
    heap: list[tuple[int, int, Function, Span]] = []

    def add(number: int, function: Function, after_ns: int) -> None:
        span = index.next_call(function, after_ns, lane)
        if span is not None and span.begin_ns < end_ns:
            heapq.heappush(heap, (span.begin_ns, number, function, span))

    for number, function in enumerate(functions):
        add(number, function, max(begin_ns - 1, 0))
    while heap:
        time_ns, number, function, span = heapq.heappop(heap)
        yield span
        add(number, function, time_ns)


def _hit(served: Served, span: Span) -> dict[str, Any]:
    head = head_of(served, span)
    return {name: head[name] for name in _FIELDS}


def _search_values(
    served: Served, text: str, lane: Lane | None, part: tuple[int, int], most: int
) -> dict[str, Any]:
    """Look at the values of a part, up to a number of them."""
    lower = text.casefold()
    lanes = {one.task: one for one in served.index().lanes()}
    hits: list[dict[str, Any]] = []
    values = events = 0
    for batch in _batches(served, lane, part):
        offsets = batch.data_offsets.tolist()
        events += len(batch)
        for place in range(len(batch)):
            begin, end = offsets[place], offsets[place + 1]
            if begin == end or batch.KINDS[batch.kind[place]] in ("mark", "stack", "event", "other"):
                continue
            values += 1
            payload = batch.data[begin:end].tobytes()
            if any(lower in str(value).casefold() for value in decode_values(payload)):
                hits.append(_hit_of_event(served, lanes[batch.tasks[batch.task[place]]], batch, place))
            if len(hits) > most or values > _MOST_VALUES:
                return _found_values(hits[:most], False)
        if events > _MOST_EVENTS:
            return _found_values(hits, False)
    return _found_values(hits, True)


def _found_values(hits: list[dict[str, Any]], is_complete: bool) -> dict[str, Any]:
    functions = sorted({hit["function"] for hit in hits if hit["function"] is not None})
    return {"functions": functions, "hits": hits, "count": len(hits), "complete": is_complete}


def _batches(served: Served, lane: Lane | None, part: tuple[int, int]) -> Iterator[Columns]:
    tasks = None if lane is None else served.tasks_of([lane])
    if tasks is not None and not tasks:
        return iter(())
    begin, end = (time_text(served, time_ns) for time_ns in part)
    return served.trace.columns(size=_BATCH, tasks=tasks, select=Selection(begin=begin, end=end))


def _hit_of_event(served: Served, lane: Lane, batch: Columns, place: int) -> dict[str, Any]:
    """Return the call of an event: of an end, that which began at its call time."""
    begin_ns = batch.calltime_ns[place] or batch.time_ns[place]
    index = served.index()
    innermost = index.call_at(lane, begin_ns)
    around = [] if innermost is None else [innermost, *index.parents(innermost)]
    span = next((span for span in around if span.depth == batch.depth[place]), None)
    if span is not None:
        return _hit(served, span)
    time_ns, function = begin_ns - served.begin_ns, batch.function[place]
    known = function if function < len(served.functions) else None
    return dict(zip(_FIELDS, (lane.number, time_ns, time_ns, batch.depth[place], known), strict=True))
