"""The calls of a part of a trace, with those around them. The rest of the trace takes no memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from funcgraph.answers.expectation import ANYTHING, RecordedCall
from funcgraph.answers.recorded_calls import CallForest, selection_of, thread_key
from funcgraph.tracedata.description import Task

if TYPE_CHECKING:
    from funcgraph.tracedata.call_columns import CallColumns
    from funcgraph.tracedata.opened import Trace

#: Stands for calls that are left out: some, or none.
LEFT_OUT = RecordedCall(ANYTHING, time_ns=-1)
_Span: TypeAlias = tuple[int, int]
_ANY = 2**64  # no call has this number, nor a greater one


def calls_of_part(
    trace: Trace,
    functions: Sequence[str],
    tasks: Sequence[str],
    buffers: Sequence[str],
    part: tuple[int, int],
    most: int,
) -> dict[Task, list[RecordedCall]]:
    """Return the calls that begin in a part of the time, and those around them, by thread.

    Where others are left out there is LEFT_OUT.

    Args:
        trace, functions, tasks, buffers: as of `recorded_calls`.
        part: the first and the last nanosecond, on the trace's clock.
        most: how many calls there may be.

    Raises:
        SelectionError, TraceError, OSError: as `recorded_calls`.
    """
    select = selection_of(trace, functions, tasks, buffers)
    forest = _PartForest(trace, part, most)
    for batch in trace.call_columns(select=select):
        forest.take_kept(batch)
    while missing := forest.missing():
        for batch in trace.call_columns(select=select, numbers=missing):
            forest.take_missing(batch)
    return forest.threads()


class _PartForest(CallForest):
    """The calls that are kept, of a trace's calls in the order of their ends.

    A call ends after those that it made, so it is known then whether one of these is kept. A generator may
    end later than what made it: its parent is missing then, and read once more.
    """

    def __init__(self, trace: Trace, part: tuple[int, int], most: int) -> None:
        super().__init__(trace, most)
        self._first_ns, self._last_ns = part
        self._around: set[int] = set()  # made a call that is kept
        # Of calls and threads: the first and the last number of what they lack that began before the part,
        # and of what began after it.
        self._before: dict[object, _Span] = {}
        self._after: dict[object, _Span] = {}

    def take_kept(self, batch: CallColumns) -> None:
        """Take the calls of a batch that are in the part, or around one."""
        if not self._around.isdisjoint(batch.id):
            self._take_rows(batch)
        elif max(batch.begin_ns) < self._first_ns:
            self._leave_out(batch, self._before)
        elif min(batch.begin_ns) > self._last_ns:
            self._leave_out(batch, self._after)
        else:
            self._take_rows(batch)

    def _take_rows(self, batch: CallColumns) -> None:
        kept: list[int] = []
        rows = zip(batch.id, batch.parent, batch.begin_ns, strict=True)
        for row, (number, parent, begin_ns) in enumerate(rows):
            if self._first_ns <= begin_ns <= self._last_ns or number in self._around:
                kept.append(row)
                self._around.add(parent)
                continue
            owner = parent or self._thread(batch, batch.task[row])
            _extend(self._before if begin_ns < self._first_ns else self._after, owner, number, number)
            self._before.pop(number, None)
            self._after.pop(number, None)
        self.take(batch, kept)

    def _leave_out(self, batch: CallColumns, spans: dict[object, _Span]) -> None:
        """Leave out all calls of a batch, as of most batches of a large trace.

        Each call that goes on, and each thread, is said to lack all numbers of the batch: where it lacks
        none of its calls, LEFT_OUT stands for none.
        """
        ids, parents = set(batch.id), set(batch.parent)
        owners: set[object] = {*(parents - ids - {0})}
        if 0 in parents:
            outermost = {task for parent, task in zip(batch.parent, batch.task, strict=True) if not parent}
            owners |= {self._thread(batch, task) for task in outermost}
        for owner in owners:
            _extend(spans, owner, min(ids), max(ids))
        for known in (self._before, self._after):
            for number in known.keys() & ids:
                del known[number]

    def _thread(self, batch: CallColumns, task: int) -> object:
        return thread_key(self.trace, batch.tasks[task])

    def missing(self) -> set[int]:
        """Return the numbers of calls that made one that is kept, and are not."""
        return set(self.parents.values()) - self.calls.keys() - {0}

    def take_missing(self, batch: CallColumns) -> None:
        """Take calls that were missing: what else they made was forgotten."""
        self.take(batch, range(len(batch)))
        self._before |= dict.fromkeys(batch.id, (0, _ANY))

    def in_order(self, owner: object, numbers: Sequence[int]) -> list[RecordedCall]:
        """Return calls, with LEFT_OUT between those between which others were."""
        spans = [span for span in (self._before.get(owner), self._after.get(owner)) if span]
        calls: list[RecordedCall] = []
        for last, number in pairwise((0, *numbers, _ANY)):
            if any(first < number and end > last for first, end in spans):
                calls.append(LEFT_OUT)
            calls += [self.calls[number]] if number != _ANY else []
        return calls


def _extend(spans: dict[object, _Span], owner: object, first: int, last: int) -> None:
    known = spans.get(owner)
    spans[owner] = (min(first, known[0]), max(last, known[1])) if known else (first, last)
