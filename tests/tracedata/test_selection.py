"""Selections: what report, summary and the iterators read equals a slow model in Python, for random programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracefile import Task

import funcgraph
from funcgraph.tracedata import Event, Selection, SelectionError
from tracedata.programs import STEPS, Program, Step

pytestmark = pytest.mark.one_python

S = 1_000_000_000
ENTRIES, EXITS = ("entry", "resume"), ("return", "raise", "suspend", "close")

SELECTIONS = st.builds(
    Selection,
    functions=st.sampled_from([(), (), ("m.a",), ("m.[ab]", "m.gen"), ("*",)]),
    graph=st.sampled_from([(), (), ("m.b",), ("m.gen", "m.c")]),
    begin=st.sampled_from([None, None, "+0.001", "+0.02"]),
    end=st.sampled_from([None, None, "+0.01", "-0.005"]),
    max_depth=st.sampled_from([None, None, 1, 2, 4]),
    longer_us=st.sampled_from([None, None, 0.5, 300, 2000]),
)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("selection") / "trace.dat"


@dataclass
class Line:
    """An event of one task, and what the model says of it."""

    event: Event
    depth: int = 0
    wanted: bool = True  # by function, callers and depth
    long: bool = True


@dataclass
class Open:
    line: Line
    inside: bool
    waited: int = 0


class Model:
    """What a selection leaves of one task's events. It goes over them once with the whole past in hand."""

    def __init__(self, selection: Selection, names: dict[str, set[str]]) -> None:
        self.selection, self.names = selection, names
        self.stack: list[Open | None] = []

    def lines(self, events: list[Event]) -> Iterator[Line]:
        lines = [Line(event) for event in events]
        for line in lines:
            if line.event.kind in ENTRIES:
                self.enter(line)
            elif line.event.kind in EXITS:
                self.leave(line)
            elif line.event.kind == "wait":
                for call in filter(None, self.stack):
                    call.waited += line.event.number
        if events:
            self.cut(0, events[-1].time_ns)
        return iter(lines)

    def around(self) -> list[Open]:
        return [call for call in self.stack if call is not None]

    def place(self, line: Line) -> bool:
        """Decide about the call of a line, which is at the top of the stack. Return whether it is inside."""
        selection, name = self.selection, line.event.function.name if line.event.function else ""
        around = self.around()
        inside = name in self.names["graph"] or any(call.inside for call in around)
        renumbers = bool(selection.functions or selection.graph)
        line.depth = sum(call.line.wanted for call in around) if renumbers else line.event.depth
        line.wanted = (
            (not selection.functions or name in self.names["functions"])
            and (not selection.graph or inside)
            and (not selection.max_depth or line.depth < selection.max_depth)
        )
        return inside

    def enter(self, line: Line) -> None:
        self.cut(line.event.depth, line.event.time_ns)
        self.stack += [None] * (line.event.depth - len(self.stack))
        line.long = False
        self.stack.append(Open(line, self.place(line)))

    def leave(self, line: Line) -> None:
        depth = line.event.depth
        self.cut(depth + 1, line.event.time_ns)
        top = self.stack[depth] if len(self.stack) > depth else None
        line.long = self.is_long(line.event.duration_ns or 0)
        if top is None or top.line.event.function != line.event.function:
            self.cut(depth, line.event.time_ns)
            self.stack += [None] * (depth - len(self.stack))
            self.place(line)
        else:
            line.depth, line.wanted = top.line.depth, top.line.wanted
            top.line.long = line.long = line.long or top.line.long
            self.stack.pop()
        if line.long:
            for call in self.around():
                call.line.long = True

    def cut(self, depth: int, now: int) -> None:
        """End the calls at `depth` and deeper, whose ends are not in the trace."""
        while len(self.stack) > depth:
            call = self.stack[-1]
            if call and self.is_long(max(now - call.line.event.time_ns - call.waited, 0)):
                for one in self.around():
                    one.line.long = True
            self.stack.pop()

    def is_long(self, ran_ns: int) -> bool:
        return ran_ns >= (self.selection.longer_us or 0) * 1000


def expected(trace: funcgraph.Trace, selection: Selection) -> list[tuple[Any, ...]]:
    """Return the model's events of the trace, in the trace's order."""
    matching = {
        "m.a": {"m.a"}, "m.[ab]": {"m.a", "m.b"}, "*": {f.name for f in trace.functions},
    }  # fmt: skip
    names = {
        which: {name for pattern in patterns for name in matching.get(pattern, {pattern})}
        for which, patterns in (("functions", selection.functions), ("graph", selection.graph))
    }
    events = list(trace.events())
    first, last = events[0].time_ns, max(event.time_ns for event in events)
    begin = first + int(float(selection.begin) * S) if selection.begin else 0
    end = 2**64
    if selection.end:
        end = max((first if selection.end[0] == "+" else last) + int(float(selection.end) * S), 0)
    if begin > end:
        raise SelectionError
    lines = {}
    for task in trace.tasks:
        mine = [event for event in events if event.task == task]
        lines[task] = Model(selection, names).lines(mine)
    return [
        (event.time_ns, event.kind, event.function, event.task, line.depth if is_call else 0)
        for event in events
        for line in [next(lines[event.task])]
        for is_call in [event.kind in ENTRIES + EXITS]
        if begin <= event.time_ns <= end and line.wanted and line.long
    ]


@contextmanager
def lost_records(places: set[int]) -> Iterator[None]:
    """Let the records at these places of each task be lost."""
    seen: Counter[int] = Counter()

    def add(task: Task, time: int, payload: bytes, lost: int = 0) -> None:
        seen[task.tid] += 1
        if seen[task.tid] - 1 not in places:
            keep(task, time, payload, lost)

    keep = Task.add
    with patch.object(Task, "add", add):
        yield


@settings(max_examples=250, deadline=None)
@given(steps=STEPS, selection=SELECTIONS, dropped=st.sets(st.integers(0, 60), max_size=3))
def test_a_selection_leaves_the_models_events(
    scratch: Path, steps: list[Step], selection: Selection, dropped: set[int]
) -> None:
    """`dropped`: records of a task that were lost, in the middle of calls."""
    with lost_records(dropped):
        program = Program(steps)
    program.trace.save(scratch)
    with funcgraph.open(scratch) as trace:
        if not any(task.records for task in trace.tasks):
            return
        try:
            model = expected(trace, selection)
        except SelectionError:
            with pytest.raises(SelectionError, match="is later than"):
                trace.events(select=selection)
            return
        found = [(e.time_ns, e.kind, e.function, e.task, e.depth) for e in trace.events(select=selection)]
        assert found == model
