"""Reading a trace: its text, and its figures."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from funcgraph import _tracedata
from funcgraph.tracedata.description import (
    FLAT_TRACERS,
    Description,
    EventType,
    Function,
    Task,
    TraceError,
    decode_description,
    large_functions,
    reading_error,
    shown_buffers,
    tasks_named,
)
from funcgraph.tracedata.large_json import MOST_MADE
from funcgraph.tracedata.option_words import option_bits

if TYPE_CHECKING:
    from funcgraph.kernel_format.event_format import EventFormat
    from funcgraph.tracedata.call_tree import CallTree, TreeGroup
    from funcgraph.tracedata.flaw import Flaw
    from funcgraph.tracedata.kernel import KernelHead
    from funcgraph.tracedata.links import Links
    from funcgraph.tracedata.selection import Selection
    from funcgraph.tracedata.summary import EventSummary, FunctionSummary

_T = TypeVar("_T")


class TraceFile:
    """An opened trace.

    Args:
        path: a file that `funcgraph record` wrote, or a trace.dat that trace-cmd recorded on a kernel; or the
            descriptor of one, which stays open as long as the trace is read.
        known: its description, if it was decoded before: that of many functions takes much memory.
        reader: with `known`: what has the file open already, and told the events of it.
        progress: called now and then while the trace is read, with the share of this pass that is done.

    Raises:
        TraceError: the file is not a trace, or is truncated or damaged.
        OSError: it cannot be opened or read.

    Example:
        >>> for row in TraceFile("trace.fg").summary():
        ...     print(row.function.name, row.calls, row.self_ns)
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | int,
        *,
        known: Description | None = None,
        reader: _tracedata.Reader | None = None,
        progress: Callable[[float], object] | None = None,
    ) -> None:
        self.path = path if isinstance(path, int) else os.fspath(path)
        self._progress = progress
        self._kernel: KernelHead | None
        if known is not None and reader is not None:
            self._opened, self._kernel, description = reader, None, known
        else:
            self._opened = _open(self.path, progress)
            self._kernel, description = describe(self._opened, known)
        self.meta = description.meta
        self.functions = description.functions
        self.event_types = description.event_types
        self.tasks = description.tasks
        self.clock = description.clock
        self.lost, self.overrun = description.lost, description.overrun
        self.waits, self.wait_ns = description.waits, description.wait_ns
        self.events = description.events
        self.buffers = description.buffers
        self.killed = description.killed
        self.hosts = description.hosts

    @property
    def flaw(self) -> Flaw | None:
        """What the trace lacks as a whole; None: nothing."""
        from funcgraph.tracedata.flaw import flaw_of  # not where a program reads its own buffer

        return flaw_of(self._opened, self.meta)

    @property
    def is_kernel(self) -> bool:
        """Whether trace-cmd recorded it on a kernel."""
        return self._kernel is not None

    @property
    def has_cpu_time(self) -> bool:
        """Whether its durations leave out the time in which a thread did not run (nosleep-time)."""
        recorded = [self.meta.get("instances", {}).get(buffer.name, {}) for buffer in self.buffers]
        return any(recorded) and all(one.get("no_sleep_time", False) for one in recorded if one)

    @property
    def formats(self) -> Mapping[int, EventFormat]:
        """The events of a kernel's trace, by id; else empty."""
        return self._kernel.formats if self._kernel else {}

    def find_buffers(self, names: Sequence[str]) -> list[int]:
        """Return the numbers of buffers.

        Args:
            names: none: all buffers, but the top instance's only if it has events, since a
                recording may do without that instance.

        Raises:
            KeyError: no buffer has this name.
        """
        own = [buffer.name for buffer in self.buffers]
        if names:
            return sorted({own.index(name) if name in own else _no_buffer(name) for name in names})
        return shown_buffers(self.buffers)

    def find_tasks(self, word: str) -> list[Task]:
        """Return the tasks that a word names.

        Args:
            word: a thread id, or a thread's name, in which `*`, `?` and `[...]` match as in a shell.
        """
        return tasks_named(self.tasks, word)

    def report(
        self,
        options: Mapping[str, bool] | None = None,
        *,
        tasks: Sequence[Task] | None = None,
        buffers: Sequence[int] | None = None,
        color: bool = False,
        select: Selection | None = None,
        fold_imports: bool = False,
        links: Links | None = None,
    ) -> Iterator[bytes]:
        """Return the trace as text, each buffer in the kernel's layout of its tracer.

        A kernel's trace has the layout of `trace-cmd report`, which has neither options nor colours.

        Args:
            options: option name -> on or off, as `parse_options` returns. Other options are as the
                recording set them, or have their defaults.
            tasks: the tasks to show; None: all.
            buffers: numbers of the buffers to show; None: all. With several buffers each line begins with
                its buffer's name, as trace-cmd prints it.
            color: add escape sequences for a terminal.
            select: what to show of these.
            fold_imports: show each import as one call, unless `select` chooses functions.
            links: makes links of functions' names and of places in them; None: there are none.

        Returns:
            An iterator over pieces of UTF-8 text, each of whole lines.

        Raises:
            SelectionError: the trace has no such part. All three are raised by the iterator.
            TraceError: the file is damaged: after the lines before the damage.
            OSError: it cannot be read.
        """
        tasks, buffers, events = self._selected(tasks, buffers, select)
        numbers = self.find_buffers(()) if buffers is None else list(buffers)
        if not numbers:
            return
        shown = self._shown(tasks, numbers)
        columns = max(len(_text(self.buffers[number].name)) for number in numbers)
        reader = self._reader(None if tasks is None and buffers is None else shown)
        if self._kernel is not None:
            yield from self._kernel_report(self._kernel, reader, buffers, events)
            return
        threads = {(task.pid, task.tid, len(numbers) > 1 or task) for task in shown}
        folds = self._folds(select) if fold_imports else None
        styles = []
        for number, buffer in enumerate(self.buffers):
            chosen = {**buffer.options, **(options or {})}
            bits = option_bits(chosen, several_tasks=len(threads) > 1)
            layout = "function" if buffer.tracer in FLAT_TRACERS else "function_graph"
            styles.append((layout, bits, buffer.events, buffer.lost, self._prefix(number, numbers, columns)))
        tracer = self.buffers[numbers[0]].tracer.encode()
        header = b"# tracer: function\n" if tracer.decode() in FLAT_TRACERS else b""
        try:
            addresses = links.of_report(self.functions) if links else None
            for piece in reader.report(styles, numbers[0], color, events, folds, addresses):
                yield piece.replace(header, b"# tracer: %b\n" % tracer, 1) if header else piece
                header = b""
        except ValueError as error:
            raise reading_error(error) from None
        for line in self._notes():
            yield f"# {line}\n".encode("utf-8", "backslashreplace")

    def _notes(self) -> Iterator[str]:
        """Yield what is to be said below the whole report."""
        for pid, reason in self.killed.items():
            yield f"process {pid}: tracing ended for good: {reason}"
        for host, error_ns in self.hosts.items():
            if error_ns is None:
                yield f"host {host}: how far off its times are is not known"
            elif error_ns:
                from funcgraph.tracedata.summary import duration_text  # only now: few traces have hosts

                yield f"host {host}: times may be off by {duration_text(error_ns)}"

    def _kernel_report(
        self,
        kernel: KernelHead,
        reader: _tracedata.Reader,
        buffers: Sequence[int] | None,
        events: _tracedata.SelectionTuple | None,
    ) -> Iterator[bytes]:
        """Return a kernel's trace as trace-cmd prints it: of an instance, lines begin with its name."""
        numbers = range(len(self.buffers)) if buffers is None else buffers
        columns = max(len(_text(self.buffers[number].name)) for number in numbers)
        named = columns > 0 if buffers is None else len(buffers) > 1
        styles = [
            ("trace-cmd", 0, buffer.events, buffer.lost, _prefix(buffer.name, columns) if named else None)
            for buffer in self.buffers
        ]
        try:
            pieces = reader.report(styles, 0, False, events)
            for piece in pieces:
                yield kernel.fill(piece, pieces.holes())
        except ValueError as error:
            raise reading_error(error) from None

    def _prefix(self, number: int, shown: Sequence[int], columns: int) -> str | None:
        """Return the beginning of a buffer's lines; None if only one buffer is shown."""
        return _prefix(self.buffers[number].name, columns) if len(shown) > 1 else None

    def _shown(self, tasks: Sequence[Task] | None, buffers: Sequence[int]) -> list[Task]:
        """Return those of `tasks` that have their records in these buffers."""
        return [task for task in (self.tasks if tasks is None else tasks) if task.buffer in buffers]

    def _selected(
        self, tasks: Sequence[Task] | None, buffers: Sequence[int] | None, select: Selection | None
    ) -> tuple[Sequence[Task] | None, Sequence[int] | None, _tracedata.SelectionTuple | None]:
        """Return what is in `select` and also among these tasks and buffers (None: all)."""
        if select is None:
            return tasks, buffers, None
        from funcgraph.tracedata import selection  # only now: most reading needs nothing of it

        chosen = selection.select(self, select)
        return _both(tasks, chosen.tasks), _both(buffers, chosen.buffers), chosen.events

    def summary(
        self,
        *,
        tasks: Sequence[Task] | None = None,
        buffers: Sequence[int] | None = None,
        select: Selection | None = None,
        fold_imports: bool = False,
    ) -> list[FunctionSummary]:
        """Return how often each function was called and how long it ran.

        Args:
            tasks: the tasks to count; None: all.
            buffers: numbers of the buffers to count; None: all.
            select: what to count of these. Calls that are left out count in nothing, and a caller's own time
                has that of callees that are left out.
            fold_imports: count all calls in imports in one row, that of `imports.IMPORTS`, unless `select`
                chooses functions.

        Returns:
            A row for each function that was called, in no particular order.

        Raises:
            SelectionError: the trace has no such part.
            TraceError: the file is damaged.
            OSError: it cannot be read.
        """
        return self.summaries(tasks=tasks, buffers=buffers, select=select, fold_imports=fold_imports)[0]

    def summaries(
        self,
        *,
        tasks: Sequence[Task] | None = None,
        buffers: Sequence[int] | None = None,
        select: Selection | None = None,
        fold_imports: bool = False,
    ) -> tuple[list[FunctionSummary], list[EventSummary]]:
        """Return what summary() returns, and how often each event of the program or its user was hit.

        Args, raises: as summary().
        """
        from funcgraph.tracedata.summary import EventSummary, summary_rows

        tasks, buffers, selected = self._selected(tasks, buffers, select)
        folds = self._folds(select) if fold_imports else None
        numbers = range(len(self.buffers)) if buffers is None else buffers
        shown = None if tasks is None and len(numbers) == len(self.buffers) else self._shown(tasks, numbers)
        try:
            functions, events = self._reader(shown).summary(selected, folds)
        except ValueError as error:
            raise reading_error(error) from None
        types = self.event_types
        hits = [EventSummary(types[number], count) for number, count in events if number < len(types)]
        return summary_rows(functions, self.functions), hits

    def call_tree(
        self,
        *,
        tasks: Sequence[Task] | None = None,
        buffers: Sequence[int] | None = None,
        by: TreeGroup = "all",
        select: Selection | None = None,
        fold_imports: bool = False,
    ) -> CallTree:
        """Return the merged call tree: calls and times of each path of functions, and of each function.

        Its memory grows with the number of different paths, not with the trace.

        Args:
            tasks, buffers, select: as for `summary`. Several buffers should have a tree each: two instances
                may have recorded the same call. A call whose caller is left out is under the nearest one that
                is not.
            by: what has a root of its own: "all", "process" or "task".
            fold_imports: make one call of each import, unless `select` chooses functions.

        Raises:
            SelectionError: the trace has no such part.
            TraceError: the file is damaged.
            OSError: it cannot be read.

        Example:
            >>> tree = TraceFile("trace.fg").call_tree()
            >>> for place in range(len(tree)):
            ...     print(tree.path(place), tree.calls[place], tree.total_ns[place])
        """
        from funcgraph.tracedata.call_tree import group_names, make_call_tree  # only now: see codecs

        tasks, buffers, events = self._selected(tasks, buffers, select)
        folds = self._folds(select) if fold_imports else None
        numbers = range(len(self.buffers)) if buffers is None else buffers
        shown = None if tasks is None and len(numbers) == len(self.buffers) else self._shown(tasks, numbers)
        try:
            reader = self._reader(shown)
            rows, columns = reader.call_tree(by, events, folds)
        except ValueError as error:
            raise reading_error(error) from None
        return make_call_tree(rows, columns, self.functions, group_names(self.tasks, by), reader.imports)

    def _folds(self, select: Selection | None) -> bytes | None:
        """Return what the functions are in imports, to fold these. None: they are not folded."""
        if select is not None and select.chooses_functions:
            return None
        from funcgraph.tracedata.imports import fold_marks  # only now: a process reads its own trace as it is

        return fold_marks(self.functions)

    def _reader(self, tasks: Sequence[Task] | None) -> _tracedata.Reader:
        """Hand in all names, and select these tasks (None: all).

        The trace is what it was when it was opened. While a report is still being read, the file is opened
        once more; if it has grown meanwhile, its names are no longer these.
        """
        functions = function_rows(self.functions)
        rows = task_rows(self.tasks, tasks)
        reader = self._opened
        try:
            try:
                reader.set_names(functions, rows, tasks is None)
            except RuntimeError:
                reader = self._open_again()
                reader.set_names(functions, rows, tasks is None)
        except (ValueError, OverflowError) as error:
            raise TraceError(str(error)) from None
        return reader

    def _open_again(self) -> _tracedata.Reader:
        reader = _tracedata.Reader(self.path, self._progress)
        if reader.end != self._opened.end:
            raise TraceError("the file has grown since it was opened")
        if self._kernel is not None:
            self._kernel.prepare(reader)
        else:
            reader.set_events(_event_rows(self.event_types))
        return reader


def _open(path: str | int, progress: Callable[[float], object] | None) -> _tracedata.Reader:
    try:
        return open_reader(path, progress)
    except (ValueError, NotImplementedError) as error:
        raise TraceError(str(error)) from None


def open_reader(path: str | int, progress: Callable[[float], object] | None = None) -> _tracedata.Reader:
    """Open a trace, if need be with Python's codecs."""
    try:
        return _tracedata.Reader(path, progress)
    except NotImplementedError:  # only now: a process that reads its own trace imports nothing for it
        from funcgraph.tracedata import codecs

        codecs.provide()
        return _tracedata.Reader(path, progress)


def describe(
    reader: _tracedata.Reader, known: Description | None = None
) -> tuple[KernelHead | None, Description]:
    """Return what describes a trace: its own description, or the head of a kernel's.

    Args:
        known: the trace's own description, if it was decoded before.

    Raises:
        TraceError: it is damaged.
        OSError: it cannot be read.
    """
    description = known or _own_description(reader)
    if description is not None:
        try:
            reader.set_events(_event_rows(description.event_types))
        except (ValueError, OverflowError) as error:
            raise TraceError(str(error)) from None
        return None, description
    from funcgraph.tracedata.kernel import KernelHead  # only now, for the same reason

    head = KernelHead(reader)
    return head, head.description


def _own_description(reader: _tracedata.Reader) -> Description | None:
    meta = reader.meta
    if meta is None:
        return None
    count = reader.nr_unlisted
    return decode_description(meta, large_functions(count, reader.function) if count else None)


class _LargeRows:
    """The rows of very many functions, each made when the Reader takes it."""

    def __init__(self, functions: Sequence[Function]) -> None:
        self._functions = functions

    def __len__(self) -> int:
        return len(self._functions)

    def __iter__(self) -> Iterator[tuple[str, str, int]]:
        return map(_function_row, self._functions)


def function_rows(functions: Sequence[Function]) -> _tracedata.FunctionRows:
    """Return a trace's functions as a Reader takes them."""
    if len(functions) > MOST_MADE:
        return _LargeRows(functions)
    return [_function_row(function) for function in functions]


def _function_row(function: Function) -> tuple[str, str, int]:
    return _text(function.name), _text(",".join(function.starred_arguments())), function.size_bytes


def task_rows(
    tasks: Sequence[Task], selected: Sequence[Task] | None
) -> list[tuple[int, int, int, str, int, int, bool]]:
    """Return a trace's tasks as a Reader takes them, with those selected that are read (None: all)."""
    chosen = None if selected is None else set(selected)
    return [
        (t.lane, t.tid, t.pid, _text(t.name), t.first_ns, t.last_ns, chosen is None or t in chosen)
        for t in tasks
    ]


def _event_rows(event_types: Sequence[EventType]) -> list[tuple[str, str, int, str]]:
    """Return a trace's kinds of events as a Reader takes them."""

    return [
        (_text(kind.system), _text(kind.name), kind.fields_at, _text(kind.layout)) for kind in event_types
    ]


def _both(left: Sequence[_T] | None, right: Sequence[_T] | None) -> Sequence[_T] | None:
    """Return what is in both; None stands for everything."""
    if left is None or right is None:
        return right if left is None else left
    there = set(right)
    return [item for item in left if item in there]


def _prefix(name: str, columns: int) -> str:
    """Return the beginning of the lines of a buffer."""
    return f"{_text(name):>{columns}}: " if name else " " * (columns + 2)


def _no_buffer(name: str) -> int:
    raise KeyError(name)


def _text(text: str) -> str:
    """Return `text` without what UTF-8 cannot encode, and without NULs, which end a text in C."""
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")
