"""Selections: which part of a trace a command, an iterator or an export reads.

One description for all of them: docs/reference/trace-text.md, "Selections". What a selection means for one
trace is worked out here; its events are picked in C (src/tracedata/select).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from funcgraph import _tracedata
from funcgraph.names import did_you_mean, nearest_names, printable
from funcgraph.tracedata.description import (
    FLAT_TRACERS,
    NATIVE,
    Function,
    SelectionError,
    Task,
    encodable,
    shown_buffers,
    tasks_named,
)
from funcgraph.tracedata.selected_time import TimeScale, select_times

if TYPE_CHECKING:
    from funcgraph.tracedata.selected_events import Named

_TASKS_LISTED = 8
_NAMED, _ROOT = 1, 2  # enum fg_selection_mark
_MAX_DEPTH = (1 << 18) - 1
_MAX_LONGER_US = 1 << 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which part of a trace is read: what meets all that is given here.

    Attributes:
        tasks: thread ids, or names of threads, in which `*`, `?` and `[...]` match (`--task`).
        buffers: names of instances, "" for the top one (`-B`).
        functions: patterns, as of `funcgraph record -l`: only calls of functions that match one (`-l`).
        graph: patterns: only calls of functions that match one, and all that these call (`-g`).
        begin: the first time: seconds on the trace's clock as a report prints them, `+SECONDS` after the
            first event, or `-SECONDS` before the last one (`--from`).
        end: the last time, likewise (`--to`).
        max_depth: only the first so many levels of calls; 0 or None: all (`--max-depth`).
        longer_us: only calls that ran for at least so many microseconds; None: all (`--longer`).
        where: an event filter over the values of calls: only calls that it accepts (`--where`).
        callers: with `where`: so many calls around each of these, too (`--callers`).
        below: with `where`: all that these calls call, too (`--below`).
        events: of events that are not calls only these: `NAME` or `SYSTEM/NAME`, each
            also with `: FILTER` after it. Calls are hidden, unless
            calls are chosen, too (`-F`).

    Example:
        >>> slow = Selection(graph=("shop.checkout",), longer_us=500)
        >>> with funcgraph.open("trace.fg") as trace:
        ...     calls = list(trace.calls(select=slow))
    """

    tasks: Sequence[str] = ()
    buffers: Sequence[str] = ()
    functions: Sequence[str] = ()
    graph: Sequence[str] = ()
    begin: str | None = None
    end: str | None = None
    max_depth: int | None = None
    longer_us: float | None = None
    where: str | None = None
    callers: int = 0
    below: bool = False
    events: Sequence[str] = ()

    @property
    def chooses_calls(self) -> bool:
        """Whether it has a choice of calls: by function, values, depth or duration."""
        return bool(self.max_depth or self.longer_us) or self.chooses_functions

    @property
    def chooses_functions(self) -> bool:
        """Whether it leaves calls out by their functions or values: imports are not folded then."""
        return bool(self.functions or self.graph or self.where is not None)

    @property
    def chooses_events(self) -> bool:
        """Whether it leaves events of a task out."""
        return self.chooses_calls or bool(self.events or self.begin is not None or self.end is not None)


class Selected(NamedTuple):
    """What a selection is in one trace.

    Attributes:
        tasks: the tasks whose events are read; None: all, also those that the trace's description lacks.
        buffers: the numbers of the buffers that are read; None: all.
        events: what a Reader takes; None: all events of these tasks.
    """

    tasks: list[Task] | None
    buffers: list[int] | None
    events: _tracedata.SelectionTuple | None


def select(trace: Named, selection: Selection) -> Selected:
    """Work out what a selection is in a trace.

    Raises:
        SelectionError: the trace has no such task, instance, function or event, or a value is impossible.
    """
    buffers = find_buffers(trace, selection.buffers)
    tasks = find_tasks(trace, selection.tasks)
    return Selected(tasks, buffers, _events(trace, selection, buffers))


def find_tasks(trace: Named, names: Iterable[str]) -> list[Task] | None:
    """Return the tasks that words name, None for all.

    Raises:
        SelectionError: none has the name or thread id.
    """
    words = list(names)
    found = [tasks_named(trace.tasks, word) for word in words]
    for word, tasks in zip(words, found, strict=True):
        if not tasks:
            names = [f"{printable(task.name)} ({task.tid})" for task in trace.tasks[:_TASKS_LISTED]]
            more = len(trace.tasks) - len(names)
            listing = ", ".join(names) + (f" and {more} more" if more else "")
            hint = did_you_mean(word, [task.name for task in trace.tasks])
            raise SelectionError(f"no task '{printable(word)}'; it has: {listing or 'none'}{hint}")
    return list(dict.fromkeys(task for tasks in found for task in tasks)) if words else None


def find_buffers(trace: Named, names: Sequence[str]) -> list[int] | None:
    """Return the numbers of the buffers with these names, None for all.

    Raises:
        SelectionError: none has the name.
    """
    if not names:
        return None
    return sorted({number for name in names for number in _buffers_named(trace, name)})


def _buffers_named(trace: Named, name: str) -> list[int]:
    """Return the buffer of an instance; of a host in a merged trace all that have events."""
    names = [buffer.name for buffer in trace.buffers]
    shown = shown_buffers(trace.buffers)
    of_host = [number for number in shown if name in trace.hosts and names[number].startswith(f"{name}/")]
    if name in names:
        exact = names.index(name)
        return [exact] if trace.buffers[exact].events or not of_host else of_host
    if of_host:
        return of_host
    there = [names[number] for number in shown]
    if name in trace.hosts:
        raise SelectionError(f"the host {name!r} recorded no events")
    listing = ", ".join(repr(name) if name else "'' (the top one)" for name in there)
    what = "instance or host" if trace.hosts else "instance"
    raise SelectionError(f"no {what} {name!r}; it has: {listing}{did_you_mean(name, there)}")


def time_range(trace: Named, text: str) -> tuple[int, int]:
    """Return the first and the last nanosecond that a time stands for, given as that of a selection.

    Raises:
        SelectionError: it is no time.
    """
    return select_times(_time_scale(trace, None), text, text)


# ---- events


def _events(
    trace: Named, selection: Selection, buffers: Collection[int] | None
) -> _tracedata.SelectionTuple | None:
    depth, longer_ns = _limits(trace, selection)
    if selection.where is None and (selection.callers or selection.below):
        raise SelectionError("--callers N and --below need --where")
    if not selection.chooses_events:
        return None
    named = _mark(trace, selection.functions, _NAMED)
    roots = _mark(trace, selection.graph, _ROOT)
    begin, end = select_times(_time_scale(trace, buffers), selection.begin, selection.end)
    values = None
    if selection.where is not None:
        from funcgraph.tracedata.selected_values import choose_values

        values = choose_values(trace, selection.where, selection.callers, selection.below)
    chosen = None
    if selection.events:  # only now: filters are not needed otherwise
        from funcgraph.tracedata.selected_events import choose

        chosen = choose(trace, selection.events)
    marks = bytes(a | b for a, b in zip(named, roots, strict=True))
    hides_calls = chosen is not None and not selection.chooses_calls
    functions = (marks, bool(selection.functions), bool(selection.graph))
    return (*functions, begin, end, depth, longer_ns, hides_calls, chosen, values)


def _limits(trace: Named, selection: Selection) -> tuple[int, int]:
    """Return the levels of calls, 0 for all, and nanoseconds that a call ran at least."""
    depth, longer_us = selection.max_depth or 0, selection.longer_us or 0
    if not 0 <= depth <= _MAX_DEPTH:
        raise SelectionError(f"--max-depth {depth}: must be 0 to {_MAX_DEPTH}")
    if not 0 <= longer_us <= _MAX_LONGER_US:
        raise SelectionError(f"--longer {longer_us}: must be 0 to {_MAX_LONGER_US} microseconds")
    return depth, round(longer_us * 1000)


def _mark(trace: Named, patterns: Iterable[str], mark: int) -> bytes:
    """Return a byte for each function: the mark if one of the patterns matches it."""
    marks = bytearray(len(trace.functions))
    names = [pattern_names(function) for function in trace.functions] if patterns else []
    for pattern in patterns:
        flag = "-l" if mark == _NAMED else "-g"
        try:
            matches = _tracedata.match_functions(encodable(pattern), names)
        except ValueError as error:
            raise SelectionError(f"{flag} '{printable(pattern)}': {error}") from None
        if not any(matches):
            near = nearest_names(pattern, [name for name, _ in names])
            hint = f"; similar names: {', '.join(map(printable, near))}" if near else ""
            raise SelectionError(f"{flag} '{printable(pattern)}': no function of the trace matches{hint}")
        marks = bytearray(old | mark * new for old, new in zip(marks, matches, strict=True))
    return bytes(marks)


def pattern_names(function: Function) -> tuple[str, str]:
    """Return a function's name in patterns, and its module: of native code the symbol alone."""
    name = function.qualname if function.flags & NATIVE else function.name
    return encodable(name), encodable(function.module)


def _time_scale(trace: Named, buffers: Collection[int] | None) -> TimeScale:
    """Return how the trace's times are printed, and where it begins and ends."""
    shown = [b for n, b in enumerate(trace.buffers) if buffers is None or n in buffers]
    rounded = [trace.is_kernel or buffer.tracer in FLAT_TRACERS for buffer in shown]
    tasks = [task for task in trace.tasks if task.records]
    return TimeScale(
        clock=trace.clock,
        first=min((task.first_ns for task in tasks), default=0),
        last=max((task.last_ns for task in tasks), default=0),
        rounds=any(rounded),
        truncates=not all(rounded),
    )
