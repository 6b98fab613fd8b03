"""Where two runs of one thread each first differ: in a call, its arguments or its result.

Memory does not grow with the traces.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import compress, islice
from typing import TYPE_CHECKING, Literal

from funcgraph.diff.first_value import first_value
from funcgraph.names import printable
from funcgraph.tracedata.description import SelectionError
from funcgraph.tracedata.events import Columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from funcgraph.tracedata.opened import Trace
    from funcgraph.tracedata.selection import Selection

_ENTRY = Columns.KINDS.index("entry")
_DEPTH_BITS = 18  # FG_RECORD_MAX_DEPTH
_CONTEXT = 3


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """Where two runs part.

    Attributes:
        what: what differs: which `call` comes, its `arguments`, or its `result`.
        calls: how many calls both made before, in the same nesting; of a result with the one that ended.
        path: the calls that may be in progress then, from the outermost one on. A call of depth n is made
            from the n-th of them.
        before: the last calls before, as (depth, name).
        a, b: what each calls then, as (depth, name, time in ns); None: it calls nothing more. Of arguments
            and results: the call with its values in place of the name.
    """

    what: Literal["call", "arguments", "result"]
    calls: int
    path: tuple[str, ...]
    before: tuple[tuple[int, str], ...]
    a: tuple[int, str, int] | None
    b: tuple[int, str, int] | None


def first_difference(
    a: Trace,
    b: Trace,
    select: Selection | None = None,
    select_b: Selection | None = None,
    *,
    values: bool = True,
) -> FirstDifference | None:
    """Compare what two runs call, call by call: functions by name, their depths, and the values that both
    recorded.

    Args:
        a, b: the runs; may be one trace.
        select: what is compared of them.
        select_b: what is of `b`, if that is something else. Depths count from the first call of each then.
        values: compare arguments and results too.

    Raises:
        SelectionError: one has calls of several threads.
        TraceError, OSError: as `Trace.columns`. Traces are compared up to where the damage begins.
    """
    names: dict[str, int] = {}
    from_first = select_b is not None
    selects = select, select_b or select
    sides = [
        CallCodes(*side, from_first=from_first) for side in ((a, names, selects[0]), (b, names, selects[1]))
    ]
    calls = 0
    while True:
        first, second = (side.peek() for side in sides)
        count = min(len(first), len(second))
        if not count or first[:count] != second[:count]:
            break
        calls += count
        for side in sides:
            side.skip(count)
    place = next((i for i in range(count) if first[i] != second[i]), count)
    for side in sides:
        side.skip(place)
    calls += place
    value = first_value(a, b, calls, select, select_b) if values else None
    if value is not None:
        path, before = _context(
            CallCodes(a, names, select, from_first=from_first), value.calls, value.a[0], list(names)
        )
        return FirstDifference(value.kind, value.calls, path, before, value.a, value.b)
    ends = [side.current(list(names)) for side in sides]
    if ends[0] is None and ends[1] is None:
        return None
    depth = max(end[0] for end in ends if end is not None)
    path, before = _context(CallCodes(a, names, select, from_first=from_first), calls, depth, list(names))
    return FirstDifference("call", calls, path, before, *ends)


class CallCodes:
    """The calls of a trace's only thread: a code for each, of function and depth.

    Args:
        trace: the trace.
        names: gets the names of functions, with their numbers; several traces may share it.
        select: what is read of the trace.
        from_first: depths count from that of the first call.
    """

    def __init__(
        self, trace: Trace, names: dict[str, int], select: Selection | None, *, from_first: bool = False
    ) -> None:
        self._outer = None if from_first else 0  # levels that are not counted
        self._codes = [names.setdefault(f.name, len(names)) << _DEPTH_BITS for f in trace.functions]
        self._unknown = names.setdefault("<unknown>", len(names)) << _DEPTH_BITS
        self._path, self._task = trace.path, -1
        self._batches = trace.columns(select=select)
        self._batch: Columns | None = None
        self._calls: list[int] = []
        self._at = 0

    def peek(self) -> list[int]:
        """Return the next calls, at least one; empty at the end."""
        while self._at >= len(self._calls):
            self._batch = next(self._batches, None)
            if self._batch is None:
                return []
            self._take(self._batch)
        return self._calls[self._at :] if self._at else self._calls

    def skip(self, count: int) -> None:
        """Go on after so many of the calls that `peek` returned."""
        self._at += count

    def current(self, names: Sequence[str]) -> tuple[int, str, int] | None:
        """Return depth, name and time of the next call; None at the end."""
        calls = self.peek()
        if not calls or self._batch is None:
            return None
        times = compress(self._batch.time_ns.tolist(), _entries(self._batch))
        return (*decoded(calls[0], names), next(islice(times, self._at, None)))

    def codes(self) -> Iterator[int]:
        """Return an iterator over all calls from here on."""
        while calls := self.peek():
            yield from calls
            self.skip(len(calls))

    def _take(self, batch: Columns) -> None:
        entries = _entries(batch)
        functions = compress(batch.function.tolist(), entries)
        depths = list(compress(batch.depth.tolist(), entries))
        codes, count, unknown = self._codes, len(self._codes), self._unknown
        if self._outer is None and depths:
            self._outer = depths[0]
        outer = self._outer or 0
        self._calls = [
            (codes[function] if function < count else unknown) | max(depth - outer, 0)
            for function, depth in zip(functions, depths, strict=True)
        ]
        self._at = 0
        tasks = set(compress(batch.task.tolist(), entries)) | ({self._task} - {-1})
        if len(tasks) > 1:
            shown = ", ".join(
                f"{printable(batch.tasks[task].name)} ({batch.tasks[task].tid})" for task in sorted(tasks)
            )
            raise SelectionError(
                f"{self._path} has calls of several threads: {shown}; choose one with --task"
            )
        self._task = min(tasks, default=-1)


def _entries(batch: Columns) -> list[bool]:
    """Return which events of a batch begin a call."""
    return [kind == _ENTRY for kind in batch.kind.tolist()]


def decoded(code: int, names: Sequence[str]) -> tuple[int, str]:
    """Return the depth and the function's name of a code, by the list of all names."""
    return code & (1 << _DEPTH_BITS) - 1, names[code >> _DEPTH_BITS]


def _context(
    calls: CallCodes, count: int, depth: int, names: Sequence[str]
) -> tuple[tuple[str, ...], tuple[tuple[int, str], ...]]:
    """Return the calls around the one with this number, and the last ones before it."""
    stack: list[int] = []
    before: list[int] = []
    for code in islice(calls.codes(), count):
        place = code & (1 << _DEPTH_BITS) - 1
        del stack[place:]
        stack += [code] * (place + 1 - len(stack))  # callers whose beginnings were lost have no names
        before = [*before[-_CONTEXT + 1 :], code]
    path = tuple(decoded(code, names)[1] for code in stack[:depth])
    return path, tuple(decoded(code, names) for code in before)
