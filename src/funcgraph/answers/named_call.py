"""Names of single calls: `FUNCTION:N`, a function's N-th call, and `THREAD@TIME`, the innermost call then."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

from funcgraph import _tracedata
from funcgraph.names import nearest_names, printable
from funcgraph.tracedata.call_columns import CallColumns
from funcgraph.tracedata.description import FLAT_TRACERS, SelectionError, Task
from funcgraph.tracedata.events import Columns
from funcgraph.tracedata.selected_time import exact_time
from funcgraph.tracedata.selection import Selection, find_tasks, pattern_names, time_range

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from funcgraph.tracedata.call_index import Lane, Span
    from funcgraph.tracedata.opened import Trace

_NUMBERED = re.compile(r"(.+):(-?[1-9]\d{0,18})", re.DOTALL | re.ASCII)
_TIMED = re.compile(r"(.+)@([+-]?[\d.]+)", re.DOTALL | re.ASCII)
_OPEN = CallColumns.ENDS.index("open")
_RESUME = Columns.KINDS.index("resume")


class NamedCall(NamedTuple):
    """A call of a trace.

    Attributes:
        function: the name of its function.
        number: the how many-th call of the function it is, in the order of beginnings, from 1.
        task: the thread in which it ended, or was last.
        buffer: the name of the instance that recorded it.
        clock: the name of the clock of its times.
        begin_ns, end_ns: when it began and ended; of a call that is open: its last event.
        is_open: its end is not in the trace.
        resumes: how often it was resumed after it was suspended.
    """

    function: str
    number: int
    task: Task
    buffer: str
    clock: str
    begin_ns: int
    end_ns: int
    is_open: bool
    resumes: int = 0

    def __str__(self) -> str:
        return f"{self.function}:{self.number}"

    def times(self) -> tuple[str, str]:
        """Return when it began and ended, as a selection takes it."""
        return exact_time(self.clock, self.begin_ns), exact_time(self.clock, self.end_ns)

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "call": str(self),
            "function": self.function,
            "number": self.number,
            "tid": self.task.tid,
            "thread": self.task.name,
            "instance": self.buffer,
            "begin_ns": self.begin_ns,
            "end_ns": self.end_ns,
            "is_open": self.is_open,
        }

    def window(self) -> Selection:
        """Return what selects the events of its thread while it was in progress."""
        begin, end = self.times()
        return Selection(tasks=(str(self.task.tid),), buffers=(self.buffer,), begin=begin, end=end)


def find_call(trace: Trace, name: str, buffers: Sequence[str] = ()) -> NamedCall:
    """Return the call that a person names.

    Args:
        trace: the trace.
        name: `FUNCTION:N`: the N-th call of a function, in the order of beginnings, from 1; from -1 on
            backwards, the last one first. `THREAD@TIME`: the innermost call that was in progress in a thread,
            given by its id or name, at a time as reports print it, or `+SECONDS` after the first event.
            `FUNCTION` alone: its only call. A function may be a pattern, as of `-l`.
        buffers: names of instances; empty: the first one with calls of the function.

    Raises:
        SelectionError: the text is no such name, or the trace has no such call.

    Example:
        >>> call = find_call(trace, "shop.checkout:3")
    """
    return find_calls(trace, [name], buffers)[0]


def find_calls(trace: Trace, names: Sequence[str], buffers: Sequence[str] = ()) -> list[NamedCall]:
    """Return the calls that a person names: as `find_call`, but the trace is read once for those of one
    function.

    Raises:
        SelectionError: as `find_call`, of the first one that is not there.

    Example:
        >>> one, other = find_calls(trace, ["shop.checkout:3", "shop.checkout:4"])
    """
    numbered = [_NUMBERED.fullmatch(name) for name in names]
    numbers: dict[str, list[int]] = {}
    for match in filter(None, numbered):
        numbers.setdefault(match[1], []).append(int(match[2]))
    found = {pattern: _numbered(trace, pattern, some, buffers) for pattern, some in numbers.items()}
    return [
        found[match[1]][int(match[2])] if match else _without_number(trace, name, buffers)
        for name, match in zip(names, numbered, strict=True)
    ]


def function_named(trace: Trace, pattern: str) -> tuple[str, list[int]]:
    """Return the name of the one function that a name or pattern means, and its numbers.

    Raises:
        SelectionError: it means none, or several.
    """
    names = [function.name for function in trace.functions]
    if pattern in names:
        return pattern, [number for number, name in enumerate(names) if name == pattern]
    try:
        marks = _tracedata.match_functions(pattern, [pattern_names(one) for one in trace.functions])
    except ValueError as error:
        raise SelectionError(f"'{printable(pattern)}': {error}") from None
    found = sorted({name for name, mark in zip(names, marks, strict=True) if mark})
    if len(found) == 1:
        return found[0], [number for number, name in enumerate(names) if name == found[0]]
    if found:
        listing = ", ".join(map(printable, found[:4])) + (", ..." if len(found) > 4 else "")
        raise SelectionError(f"'{printable(pattern)}': {len(found):,} functions match: {listing}")
    near = nearest_names(pattern, names)
    hint = f"; similar names: {', '.join(map(printable, near))}" if near else ""
    raise SelectionError(f"'{printable(pattern)}': no function of the trace matches{hint}")


def call_batches_of(
    trace: Trace, pattern: str, buffers: Sequence[str] = (), tasks: Sequence[str] = ()
) -> tuple[str, str, Iterator[CallColumns]]:
    """Return a function's name, the instance whose calls of it are read, and these calls.

    Args:
        trace: the trace.
        pattern: the function's name, or a pattern that only this one matches.
        buffers: names of instances; empty: all. The first one with calls of the function is read.
        tasks: only calls that ended in these threads: ids or names.

    Raises:
        SelectionError: there is no such function, or no call of it.
        TraceError, OSError: as `Trace.columns`; also from the iterator.

    Example:
        >>> name, buffer, batches = call_batches_of(trace, "shop.checkout")
    """
    name, _ = function_named(trace, pattern)
    select = selection_of(trace, name, tasks)
    for buffer in graph_buffers(trace, buffers):
        batches = trace.call_columns(select=select, buffers=[buffer], texts=False)
        first = next(batches, None)
        if first is not None:
            return name, buffer, _chained(first, batches)
    raise no_call(name, tasks)


def selection_of(trace: Trace, name: str, tasks: Sequence[str] = ()) -> Selection:
    """Return what selects the calls of the functions that have this very name."""
    return Selection(functions=(exact_pattern(trace, name),), tasks=tasks)


def exact_pattern(trace: Trace, name: str) -> str:
    """Return a pattern that matches the functions of this very name alone. Native ones are matched without
    the name of their object; all patterns are compared with what can be encoded of names."""
    function = next(function for function in trace.functions if function.name == name)
    return re.sub(r"([*?\[\]\\])", r"\\\1", pattern_names(function)[0])


def graph_buffers(trace: Trace, names: Sequence[str] = ()) -> list[str]:
    """Return the instances that recorded calls with their ends.

    Raises:
        SelectionError: one of these names is none of them.
    """
    there = [buffer.name for buffer in trace.buffers if buffer.tracer not in FLAT_TRACERS]
    if unknown := [name for name in names if name not in there]:
        raise SelectionError(f"no instance {unknown[0]!r} with calls; it has: {', '.join(map(repr, there))}")
    return [name for name in there if not names or name in names]


def no_call(name: str, tasks: Sequence[str] = ()) -> SelectionError:
    """Return the error of a function without a call, in these threads."""
    where = f" in {', '.join(tasks)}" if tasks else ""
    return SelectionError(f"'{printable(name)}' has no call{where} of which the trace has the duration")


def calls_of(trace: Trace, pattern: str, buffers: Sequence[str] = ()) -> Iterator[NamedCall]:
    """Yield the calls of a function, in the order of their ends."""
    name, buffer, batches = call_batches_of(trace, pattern, buffers)
    for batch in batches:
        for place in range(len(batch)):
            yield call_of(trace, batch, place, name, buffer)


# ----


def _chained(first: CallColumns, others: Iterator[CallColumns]) -> Iterator[CallColumns]:
    yield first
    yield from others


def call_of(trace: Trace, batch: CallColumns, place: int, name: str, buffer: str) -> NamedCall:
    """Return a call of a batch."""
    return NamedCall(
        name,
        batch.id[place],
        batch.tasks[batch.task[place]],
        buffer,
        trace.clock,
        batch.begin_ns[place],
        batch.end_ns[place],
        batch.ended[place] == _OPEN,
        batch.resumes[place],
    )


def _numbered(
    trace: Trace, pattern: str, numbers: Sequence[int], buffers: Sequence[str]
) -> dict[int, NamedCall]:
    """Return calls of a function by their numbers; negative ones count from the last call on."""
    calls = 0
    if min(numbers) < 0:
        _, _, batches = call_batches_of(trace, pattern, buffers)
        calls = max(max(batch.id) for batch in batches)
    due = {number: number if number > 0 else number + calls + 1 for number in numbers}
    found: dict[int, NamedCall] = {}
    name, buffer, batches = call_batches_of(trace, pattern, buffers)
    count = 0
    for batch in batches:
        for number, from_first in list(due.items()):
            if (place := next(_places(batch.id, from_first), None)) is not None:
                found[number] = call_of(trace, batch, place, name, buffer)
                del due[number]
        if not due:
            return found
        count += len(batch)
    raise SelectionError(f"'{printable(name)}' has {count:,} calls")


def _without_number(trace: Trace, name: str, buffers: Sequence[str]) -> NamedCall:
    if timed := _TIMED.fullmatch(name):
        return _timed(trace, timed[1], timed[2], buffers)
    calls = list(calls_of(trace, name, buffers))
    if len(calls) == 1:
        return calls[0]
    function = printable(name)
    raise SelectionError(f"'{function}' has {len(calls):,} calls: {function}:1 is the first one")


def _places(words: memoryview, word: int) -> Iterator[int]:
    """Yield where a word is among 64-bit words. Most batches do not have it: no object is made of each."""
    if not 0 <= word < 2**64:
        return
    data, searched = bytes(words), struct.pack("=Q", word)
    at = data.find(searched)
    while at >= 0:
        if at % len(searched) == 0:
            yield at // len(searched)
        at = data.find(searched, at + 1)


def _timed(trace: Trace, thread: str, time: str, buffers: Sequence[str]) -> NamedCall:
    tasks = find_tasks(trace, [thread]) or []
    begin_ns, end_ns = time_range(trace, time)
    index = trace.index()
    names = graph_buffers(trace, buffers)
    for lane in index.lanes():
        buffer = trace.buffers[lane.task.buffer].name
        span = index.call_at(lane, end_ns) if lane.task in tasks and buffer in names else None
        if span is None or span.function is None:
            continue
        call = call_of_span(trace, lane, span)
        if call is not None:
            return call
    raise SelectionError(f"no call is in progress in '{printable(thread)}' at {begin_ns / 1e9:.6f}")


def call_of_span(trace: Trace, lane: Lane, span: Span) -> NamedCall | None:
    """Return the call of which a stretch in a thread is; None: the trace has not all that names it."""
    if span.function is None:
        return None
    name, buffer = span.function.name, trace.buffers[lane.task.buffer].name
    if span.resumed:
        start_ns = _start_of(trace, lane.task, span.begin_ns)
        return next(_calls_beginning(trace, name, start_ns, [buffer]), None)
    calls = _calls_beginning(trace, name, span.begin_ns, [buffer])
    return next((call for call in calls if call.task.tid == lane.task.tid), None)


def call_beginning(trace: Trace, name: str, begin_ns: int, tasks: Sequence[str] = ()) -> NamedCall:
    """Return the call of a function that began at a time.

    Args:
        trace: the trace.
        name: the function's name.
        begin_ns: the time.
        tasks: the threads that it may be in: ids or names; empty: any.

    Raises:
        SelectionError: there is none.
        TraceError, OSError: as `Trace.columns`.
    """
    chosen = find_tasks(trace, tasks)
    for call in _calls_beginning(trace, name, begin_ns):
        if chosen is None or call.task in chosen:
            return call
    raise no_call(name, tasks)


def _calls_beginning(
    trace: Trace, name: str, begin_ns: int, buffers: Sequence[str] = ()
) -> Iterator[NamedCall]:
    _, buffer, batches = call_batches_of(trace, name, buffers)
    for batch in batches:
        for place in _places(batch.begin_ns, begin_ns):
            yield call_of(trace, batch, place, name, buffer)


def _start_of(trace: Trace, task: Task, time_ns: int) -> int:
    """Return when the call began that was resumed then."""
    text = exact_time(trace.clock, time_ns)
    for batch in trace.columns(tasks=[task], select=Selection(begin=text, end=text)):
        for kind, start_ns in zip(batch.kind, batch.start_ns, strict=True):
            if kind == _RESUME:
                found = start_ns
    return found
