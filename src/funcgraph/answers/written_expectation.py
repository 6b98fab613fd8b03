"""Expectations written from a trace: of all of it, of a part of the time, or of one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from funcgraph.answers.expectation import RecordedCall
from funcgraph.answers.expectation_writing import expectation_text, name_glob
from funcgraph.answers.part_calls import calls_of_part
from funcgraph.answers.recorded_calls import all_calls, calls_below, recorded_calls
from funcgraph.names import printable
from funcgraph.tracedata.description import SelectionError, Task, encodable
from funcgraph.tracedata.selection import Selection, pattern_names, select

if TYPE_CHECKING:
    from funcgraph.answers.named_call import NamedCall
    from funcgraph.tracedata.opened import Trace

#: An expectation is for people. So many calls take less than 300 MB.
MOST_CALLS = 500_000


def write_expectation(
    trace: Trace,
    functions: Sequence[str] = (),
    tasks: Sequence[str] = (),
    buffers: Sequence[str] = (),
    depth: int | None = None,
    *,
    begin: str | None = None,
    end: str | None = None,
) -> str:
    """Return an expectation that a trace meets.

    Args:
        trace: the trace.
        functions: patterns of the functions that are looked at; empty: all, and of a part of the time those
            whose calls are written.
        tasks, buffers: as of `check_trace`.
        depth: only so many levels of calls; None: all.
        begin, end: only calls that begin in this time, as of a selection. Other calls are `...`.

    Raises:
        ExpectationError: the calls are too deep.
        SelectionError: there are more than MOST_CALLS of them; or as `check_trace`.
        TraceError, OSError: as `check_trace`.

    Example:
        >>> text = write_expectation(trace, ["shop.*"], begin="12.5", end="12.6")
    """
    if begin is None and end is None:
        functions = functions or ["*"]
        threads = recorded_calls(trace, functions, tasks, buffers, most=MOST_CALLS)
        return expectation_text(functions, _sections(list(threads), threads), depth)
    functions = functions or functions_of_time(trace, tasks, buffers, begin=begin, end=end)
    part = _time(trace, begin, end)
    threads = calls_of_part(trace, functions, tasks, buffers, part, MOST_CALLS)
    return _written(trace, threads, functions, depth, _begins_in(part))


def functions_of_time(
    trace: Trace, tasks: Sequence[str], buffers: Sequence[str], *, begin: str | None, end: str | None
) -> list[str]:
    """Return patterns for the functions of calls that begin in a time. Only that part is read."""
    near = recorded_calls(trace, (), tasks, buffers, begin=begin, end=end, most=MOST_CALLS)
    return _patterns(trace, filter(_begins_in(_time(trace, begin, end)), all_calls(near)))


def _time(trace: Trace, begin: str | None, end: str | None) -> tuple[int, int]:
    """Return the first and the last nanosecond of a part."""
    chosen = select(trace, Selection(begin=begin, end=end)).events
    assert chosen is not None  # one of both is given
    return chosen[3], chosen[4]


def _begins_in(part: tuple[int, int]) -> Callable[[RecordedCall], bool]:
    first_ns, last_ns = part
    return lambda call: first_ns <= call.time_ns <= last_ns


def write_call(trace: Trace, call: NamedCall, functions: Sequence[str] = (), depth: int | None = None) -> str:
    """Return an expectation of one call, with what it calls; what is around it is `...`.

    Args:
        trace: the trace.
        call: the call, as of `find_call`.
        functions: patterns of the functions that are looked at; empty: that of the call, and those below it.
        depth: only so many levels of calls, of which the call is the first; None: all.

    Raises:
        SelectionError: the call is of none of these functions; or it has more than MOST_CALLS below it.
        ExpectationError, TraceError, OSError: as `write_expectation`.

    Example:
        >>> text = write_call(trace, find_call(trace, "shop.checkout:3"))
    """
    functions = functions or functions_of_call(trace, call)
    tasks, part = [str(call.task.tid)], (call.begin_ns, call.end_ns)
    threads = calls_of_part(trace, functions, tasks, [call.buffer], part, MOST_CALLS)
    written = {id(one) for one in calls_below([_found(threads, call)])}
    return _written(trace, threads, functions, depth, lambda one: id(one) in written)


def functions_of_call(trace: Trace, call: NamedCall) -> list[str]:
    """Return patterns for the functions of a call, and of all that it calls. Only that part is read."""
    begin, end = call.times()
    tasks, buffers = [str(call.task.tid)], [call.buffer]
    near = recorded_calls(trace, (), tasks, buffers, begin=begin, end=end, most=MOST_CALLS)
    return _patterns(trace, calls_below([_found(near, call)]))


def _written(
    trace: Trace,
    threads: Mapping[Task, list[RecordedCall]],
    functions: Sequence[str],
    depth: int | None,
    is_written: Callable[[RecordedCall], bool],
) -> str:
    """Return the expectation of a part: with the threads alone that have one of its calls."""
    with_calls = [task for task, calls in threads.items() if any(map(is_written, calls_below(calls)))]
    if not with_calls:
        raise SelectionError("no call of these functions begins in this part")
    sections = _sections(trace.tasks, {task: threads[task] for task in with_calls})
    return expectation_text(functions, sections, depth, is_written)


def _sections(
    tasks: Iterable[Task], threads: Mapping[Task, list[RecordedCall]]
) -> list[tuple[str, list[RecordedCall]]]:
    """Return the calls of threads with the names that tell these from others; "": there is only one."""
    names = {(task.tid, task.pid): task.name for task in tasks}
    others = list(names.values())

    def name_of(task: Task) -> str:
        if len(names) == 1:
            return ""
        return task.name if task.name and others.count(task.name) == 1 else str(task.tid)

    return [(name_of(task), calls) for task, calls in threads.items()]


def _patterns(trace: Trace, calls: Iterable[RecordedCall]) -> list[str]:
    """Return patterns for the functions of calls."""
    names = {call.function for call in calls}
    found = (pattern_names(one)[0] for one in trace.functions if encodable(one.name) in names)
    return list(dict.fromkeys(name_glob(name) for name in found))


def _found(threads: Mapping[Task, list[RecordedCall]], named: NamedCall) -> RecordedCall:
    for call in all_calls(threads):
        if call.time_ns == named.begin_ns and call.function == encodable(named.function):
            return call
    raise SelectionError(f"{printable(str(named))}: its function is none of those that are looked at")
