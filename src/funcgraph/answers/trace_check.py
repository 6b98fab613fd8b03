"""Checks of a trace, or of its calls in memory, against an expectation."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from funcgraph import _engine
from funcgraph.answers.expectation import (
    ANY_STEPS,
    TOO_MANY_WAYS,
    Difference,
    Expectation,
    ExpectationError,
    LineTable,
    RecordedCall,
    match_calls,
)
from funcgraph.answers.recorded_calls import function_name, recorded_call, selection_of, thread_key
from funcgraph.names import printable
from funcgraph.tracedata.description import SelectionError, Task, TraceError, encodable
from funcgraph.tracedata.selection import Selection

if TYPE_CHECKING:
    from funcgraph._tracedata import ExpectTuple, MatchDifferenceTuple
    from funcgraph.tracedata.opened import Trace


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
    select = selection_of(trace, expectation.functions, tasks, buffers)
    table = LineTable(section.calls for section in expectation.sections)
    names = [function_name(trace, index) for index in range(len(trace.functions) + 1)]
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
        number = numbers.setdefault(thread_key(trace, task), len(numbers))
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
            calls |= {batch.id[row]: recorded_call(trace, batch, row) for row in range(len(batch))}
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
