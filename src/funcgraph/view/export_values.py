"""The recorded values of a selection, for an exported page: as texts, up to a size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from funcgraph.tracedata.call_index import Lane
from funcgraph.tracedata.events import Event, events_of
from funcgraph.tracedata.selection import Selection
from funcgraph.view.call_detail import arguments_of, shown_value, time_text
from funcgraph.view.served import Served

__all__ = ["Values", "values_of"]

_BATCH = 65536
_MOST_CHARACTERS = 2000  # of one value
_BEGINS, _ENDS = ("entry",), ("return", "raise", "suspend", "close")


class Values:
    """Values by the place that they belong to.

    Args:
        most_bytes: how much text is kept.

    Attributes:
        rows: [key, value]: "b" (of a begin) or "e" (of an end), lane, time and depth; and what
            embedded_calls.js shows.
        is_full: there was no room for one.
        shortened: how many texts were cut.
    """

    def __init__(self, most_bytes: int) -> None:
        self.rows: list[tuple[str, dict[str, Any]]] = []
        self.is_full = False
        self.shortened = 0
        self._room = most_bytes

    def remarks(self) -> Iterator[str]:
        """Yield what is not there."""
        if self.is_full:
            yield f"only the first {len(self.rows):,} arguments and results are in it"
        if self.shortened:
            yield f"{self.shortened:,} values are cut to {_MOST_CHARACTERS:,} characters"

    def add(self, key: str, value: dict[str, Any]) -> None:
        """Keep a value, if there is room."""
        self._room -= len(key) + sum(map(_size, value.values())) + 30
        self.is_full = self.is_full or self._room < 0
        if not self.is_full:
            self.rows.append((key, value))

    def text(self, text: str) -> str:
        """Return a text that is not too long."""
        if len(text) <= _MOST_CHARACTERS:
            return text
        self.shortened += 1
        return f"{text[:_MOST_CHARACTERS]}..."


def values_of(
    served: Served,
    lanes: Sequence[Lane],
    part: tuple[int, int],
    patterns: Sequence[str],
    most_bytes: int,
) -> Values:
    """Return the values of lanes in a part of the time, of functions that match (none given: of all)."""
    values = Values(most_bytes)
    places = {lane.task: place for place, lane in enumerate(lanes)}
    tasks = [task for task in places if task in served.tasks]
    begin, end = time_text(served, part[0]), time_text(served, part[1] - 1)
    select = Selection(begin=begin, end=end, functions=patterns)
    trace = served.trace
    for batch in trace.columns(size=_BATCH, tasks=tasks, select=select):
        if not len(batch.data):  # decoding events one by one takes time
            continue
        for number, event in enumerate(events_of(batch, trace.functions, trace.event_types)):
            if values.is_full:
                return values
            if event.kind not in (*_BEGINS, *_ENDS) or not (event.values or event.caller_line):
                continue
            lane = places[batch.tasks[batch.task[number]]]
            _add(values, event, f"{lane},{event.time_ns - part[0]},{event.depth}")
    return values


def _add(values: Values, event: Event, place: str) -> None:
    if event.kind in _BEGINS:
        shown = arguments_of(event)
        texts = None if shown is None else [[name, values.text(text)] for name, text in shown]
        values.add(f"b{place}", {"arguments": texts, "line": event.caller_line or None})
    elif not event.values:
        return
    elif event.kind == "raise":
        values.add(f"e{place}", {"exception": values.text(event.exception or "")})
    else:
        values.add(f"e{place}", {"result": values.text(shown_value(event.result))})


def _size(value: object) -> int:
    if isinstance(value, str):
        return len(value)
    return sum(map(_size, value)) if isinstance(value, list) else 8
