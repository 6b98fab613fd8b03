"""The calls of a trace as an expectation looks at them: trees of the chosen functions' calls, by thread."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, cast

from funcgraph import _engine, _tracedata
from funcgraph.answers.expectation import (
    ANY_STEPS,
    TOO_MANY_WAYS,
    CallEnd,
    Difference,
    Expectation,
    ExpectationError,
    LineTable,
    RecordedCall,
    match_calls,
)
from funcgraph.names import printable
from funcgraph.tracedata.call_columns import CallColumns
from funcgraph.tracedata.description import SelectionError, Task, TraceError, encodable
from funcgraph.tracedata.selection import Selection

if TYPE_CHECKING:
    from funcgraph._tracedata import ExpectTuple, MatchDifferenceTuple
    from funcgraph.tracedata.opened import Trace

_UNNAMED = "<unknown>"  # a function that the trace does not name


class ThreadDifference(NamedTuple):
    """Where a thread's calls differ from an expectation.

    Attributes:
        task: the thread.
        difference: where.
    """

    task: Task
    difference: Difference


class CheckedTrace(NamedTuple):
    """What a trace is to an expectation.

    Attributes:
        difference: where they first differ; None: the trace meets it.
        calls: how many calls were looked at.
        threads: how many threads made them.
        functions: how many functions were called.
    """

    difference: ThreadDifference | None
    calls: int
    threads: int
    functions: int


def check_trace(
    expectation: Expectation, trace: Trace, tasks: Sequence[str] = (), buffers: Sequence[str] = ()
) -> ThreadDifference | None:
    """Compare a trace's calls with an expectation; return where they first differ, None if they meet it.

    The calls of a difference are without those that they made.

    Args:
        expectation: what is expected.
        trace: the trace.
        tasks: only these threads: ids or names.
        buffers: only what these instances recorded.

    Raises:
        SelectionError: a thread of the expectation is not in the trace, or several are; the trace has no
            function that the expectation looks at.
        TraceError, OSError: as `Trace.columns`.

    Example:
        >>> with funcgraph.open("trace.fg") as trace:
        ...     assert check_trace(parse_expectation(text), trace) is None
    """
    return checked_trace(expectation, trace, tasks, buffers).difference


def checked_trace(
    expectation: Expectation,
    trace: Trace,
    tasks: Sequence[str] = (),
    buffers: Sequence[str] = (),
    most_steps: int | None = None,
) -> CheckedTrace:
    """Compare as `check_trace`, and count what was looked at.

    Args:
        expectation, trace, tasks, buffers: as of `check_trace`.
        most_steps: as of `match_calls`, for all threads.

    Raises:
        ExpectationError: it would take more steps.
        SelectionError, TraceError, OSError: as `check_trace`.
    """
    select = _selection(trace, expectation.functions, tasks, buffers)
    table = LineTable(section.calls for section in expectation.sections)
    names = [*(encodable(function.name) for function in trace.functions), _UNNAMED]
    known, found = _compared(expectation, trace, select, table, names, most_steps)
    threads, _, _, calls, called = found
    differences = {known[task]: row for _, task, row in sorted(threads)}
    first = _first_difference(expectation, list(differences), differences)
    difference = None
    if first is not None:
        task, one = first
        by_number = _calls_of(trace, select, one)
        difference = ThreadDifference(task, table.difference(one, by_number.__getitem__))
    functions = {name for name, was_called in zip(names, called, strict=True) if was_called}
    return CheckedTrace(difference, calls, len(threads), len(functions))


def _compared(
    expectation: Expectation,
    trace: Trace,
    select: Selection,
    table: LineTable,
    names: Sequence[str],
    most_steps: int | None,
) -> tuple[list[Task], ExpectTuple]:
    """Return the tasks, by number, and what C found.

    The trace is read once more if it has tasks that its description lacks, as after a kill; or outermost
    calls that end in other threads than they began in.
    """
    lines = table.expectation(names)
    known = list(trace.tasks)
    moved: tuple[tuple[int, int], ...] = ()
    while True:
        threads, sections = _threads(expectation, trace, known)
        reading = trace.reading(select)
        try:
            found = reading.reader.expect(
                reading.functions,
                reading.tasks,
                reading.select_unknown,
                reading.selection,
                lines,
                threads,
                sections,
                max(threads, default=-1) + 1,
                moved,
                ANY_STEPS if most_steps is None else most_steps,
            )
        except OverflowError:
            raise ExpectationError(TOO_MANY_WAYS) from None
        except ValueError as error:
            raise TraceError(str(error)) from None
        _, now_moved, unknown, _, _ = found
        tasks = trace.tasks_with(unknown)
        if len(tasks) > len(known):
            known = tasks
        elif now_moved and not moved:
            moved = tuple(now_moved)
        else:
            return known, found


def _threads(expectation: Expectation, trace: Trace, tasks: Sequence[Task]) -> tuple[array[int], bytes]:
    """Return the number of each task's thread, and for each thread which sections are of it."""
    numbers: dict[object, int] = {}
    threads = array("I")
    marks: list[bytearray] = []
    for task in tasks:
        number = numbers.setdefault(_thread_key(trace, task), len(numbers))
        threads.append(number)
        if number == len(marks):
            marks.append(bytearray(len(expectation.sections)))
        for place, section in enumerate(expectation.sections):
            marks[number][place] |= not section.thread or _is_named(task, section.thread)
    return threads, b"".join(marks)


def _first_difference(
    expectation: Expectation,
    threads: Sequence[Task],
    differences: Mapping[Task, Sequence[MatchDifferenceTuple | None]],
) -> tuple[Task, MatchDifferenceTuple] | None:
    for place, section in enumerate(expectation.sections):
        for task in _threads_of(section.thread, threads):
            difference = differences[task][place]
            if difference is not None:
                return task, difference
    return None


def _calls_of(trace: Trace, select: Selection, difference: MatchDifferenceTuple) -> dict[int, RecordedCall]:
    """Return the calls that a difference has, by number. The trace is read once more."""
    around, _, _, before, got = difference
    calls: dict[int, RecordedCall] = {}
    numbers = {*around, *before, got} - {0}
    if numbers:
        for batch in trace.call_columns(select=select, numbers=numbers):
            _take(trace, batch, calls, {}, {})
    return calls


def check_calls(
    expectation: Expectation, threads: Mapping[Task, list[RecordedCall]], most_steps: int | None = None
) -> ThreadDifference | None:
    """Compare calls with an expectation that is about their functions; return where they first differ.

    Args:
        expectation: what is expected.
        threads: the calls of each thread, as `recorded_calls` returns them.
        most_steps: as of `match_calls`, for each thread.

    Raises:
        ExpectationError: it would take more steps.
        SelectionError: a thread of the expectation has no calls, or several have.

    Example:
        >>> expectation = parse_expectation("shop.load x3")
        >>> check_calls(expectation, recorded_calls(trace, expectation.functions))
    """
    for section in expectation.sections:
        for task in _threads_of(section.thread, list(threads)):
            difference = match_calls(section.calls, threads[task], most_steps)
            if difference is not None:
                return ThreadDifference(task, difference)
    return None


def recorded_calls(
    trace: Trace,
    functions: Sequence[str] = (),
    tasks: Sequence[str] = (),
    buffers: Sequence[str] = (),
    *,
    begin: str | None = None,
    end: str | None = None,
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

    Raises:
        SelectionError, TraceError, OSError: as `check_trace`.

    Example:
        >>> for task, calls in recorded_calls(trace, ["shop.*"]).items():
        ...     print(task.name, [call.function for call in calls])
    """
    select = _selection(trace, functions, tasks, buffers, begin, end)
    calls: dict[int, RecordedCall] = {}
    parents: dict[int, int] = {}
    places: dict[int, Task] = {}
    for batch in trace.call_columns(select=select):
        _take(trace, batch, calls, parents, places)
    threads: dict[Task, list[RecordedCall]] = {}
    first: dict[object, Task] = {}
    for number in sorted(calls):  # in the order of beginnings
        parent = calls.get(parents[number])
        if parent is not None:
            parent.children.append(calls[number])
        else:
            task = places[number]
            threads.setdefault(first.setdefault(_thread_key(trace, task), task), []).append(calls[number])
    return threads


def _selection(
    trace: Trace,
    functions: Sequence[str],
    tasks: Sequence[str],
    buffers: Sequence[str],
    begin: str | None = None,
    end: str | None = None,
) -> Selection:
    known = [pattern for pattern in functions if _matches(trace, pattern)] or functions
    return Selection(functions=known, tasks=tasks, buffers=buffers, begin=begin, end=end)


def _thread_key(trace: Trace, task: Task) -> object:
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


def _take(
    trace: Trace,
    batch: CallColumns,
    calls: dict[int, RecordedCall],
    parents: dict[int, int],
    places: dict[int, Task],
) -> None:
    count = len(trace.functions)
    texts = [
        [bytes(data[begin:end]).decode("utf-8", "backslashreplace") for begin, end in pairwise(offsets)]
        for offsets, data in (
            (batch.arguments_offsets, batch.arguments),
            (batch.result_offsets, batch.result),
        )
    ]
    rows = zip(
        batch.id, batch.parent, batch.function, batch.ended, batch.begin_ns, batch.task, *texts, strict=True
    )
    for number, parent, function, ended, begin_ns, task, arguments, result in rows:
        name = encodable(trace.functions[function].name) if function < count else _UNNAMED
        end = cast(CallEnd, batch.ENDS[ended])
        calls[number] = RecordedCall(name, arguments, result.strip("'"), end, begin_ns)
        if end != "raise":
            calls[number].result = result
        parents[number] = parent
        if not parent:
            places[number] = batch.tasks[task]


def _threads_of(pattern: str, threads: Sequence[Task]) -> list[Task]:
    """Return the threads that a section is about: at least one."""
    names = ", ".join(f"{printable(task.name)} ({task.tid})" for task in threads[:8])
    if not pattern:
        if len(threads) > 1:
            raise SelectionError(
                f"calls of several threads: {names}; choose one with --task or 'thread NAME:'"
            )
        if not threads:
            raise SelectionError("no call of the functions that the expectation looks at")
        return list(threads)
    found = [task for task in threads if _is_named(task, pattern)]
    if not found:
        raise SelectionError(
            f"no thread '{printable(pattern)}' with such calls; there are: {names or 'none'}"
        )
    return found


def _is_named(task: Task, pattern: str) -> bool:
    return pattern == str(task.tid) or _engine.glob_match(pattern, encodable(task.name))
