"""Promise: which events are one call is what src/tracedata/calls/assembler.h says, whatever events are lost,
late, resumed twice or without an end: for every short order of events, and random long ones."""

from __future__ import annotations

from array import array
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funcgraph import _tracedata
from tests.support.call_model import (
    BEGIN,
    CLOSE,
    RAISE,
    RESUME,
    RETURN,
    SUSPEND,
    SUSPENDED,
    WAIT,
    Calls,
    Event,
    Row,
)

pytestmark = pytest.mark.one_python

PIDS = [7, 7, 8]
COLUMNS = (
    "what",
    "time_ns",
    "thread",
    "depth",
    "id",
    "function",
    "above",
    "call_ns",
    "ran_ns",
    "self_ns",
    "resumes",
)
FORMATS = {
    **dict.fromkeys(("time_ns", "start_ns", "calltime_ns", "rettime_ns", "lost", "number"), "Q"),
    **dict.fromkeys(("function", "caller", "caller_line", "task", "depth"), "I"),
    **dict.fromkeys(("kind", "irq", "data"), "B"),
    "data_offsets": "i",
}


def columns_of(events: list[Event]) -> tuple[memoryview, ...]:
    ends = [event.kind in (RETURN, RAISE, SUSPEND, CLOSE) for event in events]
    columns: dict[str, list[int]] = {
        "time_ns": [event.time for event in events],
        "start_ns": [event.start for event in events],
        "calltime_ns": [event.calltime if is_end else 0 for event, is_end in zip(events, ends, strict=True)],
        "rettime_ns": [event.time if is_end else 0 for event, is_end in zip(events, ends, strict=True)],
        "number": [event.waited for event in events],
        "function": [event.function for event in events],
        "task": [event.thread for event in events],
        "depth": [event.depth for event in events],
        "kind": [event.kind for event in events],
        "data_offsets": [0] * (len(events) + 1),
        "data": [],
    }
    return tuple(
        memoryview(array(FORMATS[name], columns.get(name, [0] * len(events)))) for name in _tracedata.COLUMNS
    )


def row_of(slices: dict[str, list[int]], i: int) -> Row:
    flags = slices["flags"][i]
    return Row(
        *(slices[name][i] for name in COLUMNS),
        bool(flags & _tracedata.SLICE_WHOLE),
        bool(flags & _tracedata.SLICE_ONLY_END),
        bool(flags & _tracedata.SLICE_LOST_END),
    )


def rows_of(batch: tuple[memoryview, ...]) -> list[Row]:
    slices = dict(zip(_tracedata.SLICES, (column.tolist() for column in batch), strict=True))
    return [row_of(slices, i) for i in range(len(slices["time_ns"]))]


def in_order(rows: list[Row]) -> list[Row]:
    """Calls that are suspended at the end come last, in no order."""
    return sorted(rows, key=lambda row: row.id if row.what == SUSPENDED else 0)


def check(events: list[Event], has_times: bool = True) -> None:
    slicer, calls = _tracedata.Slicer(has_times), Calls(PIDS, has_times)
    batch = slicer.add(columns_of(events), array("I", range(len(PIDS))), array("i", PIDS))
    for event in events:
        calls.add(event)
    assert rows_of(batch) == calls.rows
    calls.rows.clear()
    calls.finish()
    assert in_order(rows_of(slicer.finish())) == in_order(calls.rows)


# Two threads of one process, two depths; a generator that began at 5; a function that is none.
SHORT = [
    Event(0, thread, kind, function, depth, start)
    for thread, depth in product((0, 1), (0, 1))
    for kind, function, start in (
        (BEGIN, 0, 0),
        (RETURN, 0, 0),
        (RESUME, 1, 5),
        (SUSPEND, 1, 5),
        (RETURN, 1, 5),
        (CLOSE, 1, 5),
    )
]


def timed(events: tuple[Event, ...]) -> list[Event]:
    """Give events their times, 10 ns apart. Ends say that their stretch began 7 ns before."""
    return [
        Event(
            10 * (n + 1), event.thread, event.kind, event.function, event.depth, event.start, 10 * (n + 1) - 7
        )
        for n, event in enumerate(events)
    ]


@pytest.mark.parametrize("length", [1, 2, 3])
def test_every_short_order_of_events(length: int) -> None:
    for events in product(SHORT, repeat=length):
        check(timed(events))


@st.composite
def programs(draw: st.DrawFn) -> list[Event]:
    events, time = [], 100
    for _ in range(draw(st.integers(1, 60))):
        time += draw(st.integers(0, 20))
        thread, kind = draw(st.integers(0, 2)), draw(st.sampled_from((*range(6), WAIT)))
        starts = (
            (5, 6, 7, time)
            if kind == RESUME
            else (0,)
            if kind in (BEGIN, WAIT)
            else (0, 5, 6, draw(st.integers(1, time)))
        )
        events.append(
            Event(
                time,
                thread,
                kind,
                draw(st.integers(0, 2)),
                draw(st.integers(0, 3)),
                draw(st.sampled_from(starts)),
                draw(st.integers(0, time)),
                draw(st.integers(0, 30)) if kind == WAIT else 0,
            )
        )
    return events


@settings(max_examples=600, deadline=None)
@given(events=programs(), has_times=st.booleans())
def test_any_order_of_events(events: list[Event], has_times: bool) -> None:
    check(events, has_times)
