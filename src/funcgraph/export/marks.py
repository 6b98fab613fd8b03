"""Events of a trace that are no calls: as instants with a name and values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from funcgraph.export.source import Source
from funcgraph.export.values import Plain, plain
from funcgraph.tracedata.description import Function
from funcgraph.tracedata.events import LOST_UNKNOWN, Columns, Event, events_of

_FUNCTION = Columns.KINDS.index("function")
# All kinds after the ends of calls, but the function tracer's.
_OTHERS = re.compile(b"[%b-\xff]" % re.escape(bytes([_FUNCTION + 1])))


class Mark(NamedTuple):
    """An event that is no call.

    Attributes:
        task: number of its task in the batch.
        begin_ns: when it began; before time_ns only of a wait for the recorder.
        time_ns: when it was, or ended.
        kind: as of `Event`; `lost`: records were lost before it.
        name: what to show.
        values: what it says, by name.
    """

    task: int
    begin_ns: int
    time_ns: int
    kind: str
    name: str
    values: Mapping[str, Plain]


def marks_of(source: Source, batch: Columns) -> Iterator[Mark]:
    """Yield the events of a batch that are no calls, and where records were lost, in order of time."""
    rows = [found.start() for found in _OTHERS.finditer(bytes(batch.kind))]
    if not rows and batch.lost.tobytes().count(b"\0") == batch.lost.nbytes:
        return
    lost = {row: number for row, number in enumerate(batch.lost.tolist()) if number}
    for row in sorted({*rows, *lost}):
        if row in lost:
            yield _loss(batch, row, lost[row])
        if batch.kind[row] > _FUNCTION:
            yield _mark(source, batch, row)


def _loss(batch: Columns, row: int, number: int) -> Mark:
    time = batch.time_ns[row]
    known = number != LOST_UNKNOWN
    text = f"{number:,} records lost" if known else "records lost"
    return Mark(batch.task[row], time, time, "lost", text, {"records": number} if known else {})


def _mark(source: Source, batch: Columns, row: int) -> Mark:
    event = next(events_of(_row(batch, row), source.functions, source.event_types))
    begin = event.time_ns
    name, values = _described(source, event)
    if event.kind == "wait":
        begin = max(begin - event.number, 0)
    return Mark(batch.task[row], begin, event.time_ns, event.kind, name, values)


def _row(batch: Columns, row: int) -> Columns:
    """Return a batch of one event."""
    one = Columns()
    for name in Columns.__slots__:
        setattr(one, name, getattr(batch, name) if name == "tasks" else getattr(batch, name)[row : row + 1])
    offsets = batch.data_offsets[row : row + 2].tolist()
    one.data = batch.data[offsets[0] : offsets[1]]
    one.data_offsets = memoryview(bytes(_offsets(offsets[1] - offsets[0]))).cast("i")
    return one


def _offsets(size: int) -> bytes:
    return (0).to_bytes(4, "little") + size.to_bytes(4, "little")


def _described(source: Source, event: Event) -> tuple[str, dict[str, Plain]]:
    """Return an event's name and values."""
    name = event.function.name if event.function else "<unknown>"
    match event.kind:
        case "mark":
            return event.text or "", {"function": name} if event.function else {}
        case "wait":
            return "waiting for the recorder", {}
        case "overrun":
            return "calls not traced: shadow stack full", {"calls": event.number}
        case "stack":
            callers = [caller.name if caller else "<unknown>" for caller in event.stack]
            return "stack", {str(place): caller for place, caller in enumerate(callers)}
        case "repeats":
            return name, {"repeats": event.number}
        case "event":
            return _defined(event, event.function)
    form = source.trace.formats.get(event.number)
    if form is None:
        return f"event {event.number}", {}
    values = form.values(event.payload)
    return f"{form.system}:{form.name}", {name: plain(value) for name, value in values.items()}


def _defined(event: Event, function: Function | None) -> tuple[str, dict[str, Plain]]:
    kind = event.type
    values = {name: plain(value) for name, value in event.fields.items()}
    if function:
        values["function"] = function.name
    return f"{kind.system}:{kind.name}" if kind else "event", values
