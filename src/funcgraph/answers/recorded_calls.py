"""The calls of a trace as an expectation looks at them: trees of the chosen functions' calls, by thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from funcgraph import _tracedata
from funcgraph.answers.expectation import CallEnd, RecordedCall
from funcgraph.tracedata.description import SelectionError, Task, encodable
from funcgraph.tracedata.selection import Selection

if TYPE_CHECKING:
    from funcgraph.tracedata.call_columns import CallColumns
    from funcgraph.tracedata.opened import Trace

_UNNAMED = "<unknown>"  # a function that the trace does not name


def recorded_calls(
    trace: Trace,
    functions: Sequence[str] = (),
    tasks: Sequence[str] = (),
    buffers: Sequence[str] = (),
    *,
    begin: str | None = None,
    end: str | None = None,
    most: int | None = None,
) -> dict[Task, list[RecordedCall]]:
    """Return the calls of functions by thread: the outermost ones, in the order of their beginnings.

    A call of a coroutine is in the thread in which it ended. Memory grows with the calls. A pattern that
    matches no function of the trace is left out if another matches one: that function was not called.

    Args:
        trace: the trace.
        functions: patterns of these functions; empty: all of them.
        tasks, buffers: as of `check_trace`.
        begin, end: only this part of the time, as of a selection: calls around it are left out. With all
            functions only that part is read.
        most: how many calls there may be; None: any number.

    Raises:
        SelectionError: there are more; or as `check_trace`.
        TraceError, OSError: as `check_trace`.

    Example:
        >>> for task, calls in recorded_calls(trace, ["shop.*"]).items():
        ...     print(task.name, [call.function for call in calls])
    """
    select = selection_of(trace, functions, tasks, buffers, begin, end)
    forest = CallForest(trace, most)
    for batch in trace.call_columns(select=select):
        forest.take(batch, range(len(batch)))
    return forest.threads()


class CallForest:
    """Calls that are put together as trees.

    Args:
        trace: the trace.
        most: how many there may be; None: any number.

    Attributes:
        trace: the trace.
        calls: the calls, by number.
        parents: the number of the call that each was made from, or 0.
    """

    def __init__(self, trace: Trace, most: int | None = None) -> None:
        self.calls: dict[int, RecordedCall] = {}
        self.parents: dict[int, int] = {}
        self.trace = trace
        self._most = most
        self._tasks: dict[int, Task] = {}

    def take(self, batch: CallColumns, rows: Iterable[int]) -> None:
        """Add calls of a batch.

        Raises:
            SelectionError: there are more than `most`.
        """
        for row in rows:
            number, parent = batch.id[row], batch.parent[row]
            self.calls[number] = recorded_call(self.trace, batch, row)
            self.parents[number] = parent
            if not parent:
                self._tasks[number] = batch.tasks[batch.task[row]]
        if self._most is not None and len(self.calls) > self._most:
            raise SelectionError(
                f"more than {self._most:,} calls: choose functions, or a shorter part of the trace"
            )

    def threads(self) -> dict[Task, list[RecordedCall]]:
        """Return the outermost calls of each thread with what they call, in the order of beginnings."""
        groups: dict[object, list[int]] = {}
        first: dict[object, Task] = {}
        for number in sorted(self.calls):
            owner: object = self.parents[number]
            if owner not in self.calls:
                task = self._tasks[number]
                owner = thread_key(self.trace, task)
                first.setdefault(owner, task)
            groups.setdefault(owner, []).append(number)
        for number, call in self.calls.items():
            call.children += self.in_order(number, groups.get(number, ()))
        return {task: self.in_order(owner, groups[owner]) for owner, task in first.items()}

    def in_order(self, _owner: object, numbers: Sequence[int]) -> list[RecordedCall]:
        """Return calls that one call made, or a thread's outermost ones, by their numbers in order."""
        return [self.calls[number] for number in numbers]


def selection_of(
    trace: Trace,
    functions: Sequence[str],
    tasks: Sequence[str],
    buffers: Sequence[str],
    begin: str | None = None,
    end: str | None = None,
) -> Selection:
    """Return the selection of functions, by patterns of which those that match none are left out."""
    known = [pattern for pattern in functions if _matches(trace, pattern)] or functions
    return Selection(functions=known, tasks=tasks, buffers=buffers, begin=begin, end=end)


def thread_key(trace: Trace, task: Task) -> object:
    """Return what tells a thread from others: in a kernel's trace it has a task for each CPU."""
    return (task.buffer, task.tid) if trace.is_kernel else task


def all_calls(threads: Mapping[Task, list[RecordedCall]]) -> Iterator[RecordedCall]:
    """Yield all calls of threads, in no order."""
    for calls in threads.values():
        yield from calls_below(calls)


def calls_below(calls: Iterable[RecordedCall]) -> Iterator[RecordedCall]:
    """Yield calls, and all that they call."""
    waiting = list(calls)
    while waiting:
        call = waiting.pop()
        yield call
        waiting += call.children


def _matches(trace: Trace, pattern: str) -> bool:
    """Return whether a pattern matches a function of a trace, or is none, which the selection then says."""
    try:
        named = [(function.name, function.module) for function in trace.functions]
        return any(_tracedata.match_functions(pattern, named))
    except ValueError:
        return True


def function_name(trace: Trace, index: int) -> str:
    """Return the name of a function by its index; that after the last one is of those without a name."""
    return encodable(trace.functions[index].name) if index < len(trace.functions) else _UNNAMED


def recorded_call(trace: Trace, batch: CallColumns, row: int) -> RecordedCall:
    """Return a call of a batch, without those that it made."""
    arguments, result = (
        bytes(data[offsets[row] : offsets[row + 1]]).decode("utf-8", "backslashreplace")
        for offsets, data in (
            (batch.arguments_offsets, batch.arguments),
            (batch.result_offsets, batch.result),
        )
    )
    end = cast(CallEnd, batch.ENDS[batch.ended[row]])
    name = function_name(trace, batch.function[row])
    if end == "raise":
        result = result.strip("'")
    return RecordedCall(name, arguments, result, end, batch.begin_ns[row])
