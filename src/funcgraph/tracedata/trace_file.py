"""A trace.dat: opened, checked, and its own description decoded."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from funcgraph import _tracedata
from funcgraph.tracedata.report_options import known_options, option_bits
from funcgraph.tracedata.summary import FunctionSummary, summary_rows

META_VERSION = 1
UNNAMED = "<...>"  # what the kernel prints for a task whose name it does not have

# enum fg_func_flags, ring_layout.h
_VARARGS = 16
_VARKEYWORDS = 32


class TraceError(Exception):
    """A file that is no trace of funcgraph's, or is not whole: the reason, without the file's name."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function that the trace names.

    Attributes:
        module: its module's name; `__main__` for a script's own functions.
        qualname: its qualified name in the module.
        file: its source file, or "" if it has none.
        line: the line in which it begins, from 1; 0 if it has no source.
        flags: what kind of function it is: enum fg_func_flags.
        arguments: names of its arguments, in the order in which their values are recorded.
    """

    module: str
    qualname: str
    file: str
    line: int
    flags: int
    arguments: tuple[str, ...]

    @property
    def name(self) -> str:
        """`module.qualname`, as filters and reports have it; `qualname` alone if there is no module."""
        return f"{self.module}.{self.qualname}" if self.module else self.qualname

    def starred_arguments(self) -> list[str]:
        """Return the argument names with the stars of `*args` and `**kwargs`."""
        names = list(self.arguments)
        last = len(names) - 1
        if self.flags & _VARKEYWORDS and last >= 0:
            names[last] = f"**{names[last]}"
            last -= 1
        if self.flags & _VARARGS and last >= 0:
            names[last] = f"*{names[last]}"
        return names


@dataclass(frozen=True, slots=True)
class Task:
    """A thread that was traced.

    Attributes:
        lane: where its records lie. A lane serves several tasks, one after the other.
        pid: its process.
        tid: the operating system's number for the thread.
        name: the thread's name.
        process: its process's command line; "" if it is not known.
        first_ns: time of its first record, in nanoseconds of the trace's clock.
        last_ns: time of its last record.
        records: how many there are.
        buffer: number of the buffer (TraceFile.buffers) that they lie in.
    """

    lane: int
    pid: int
    tid: int
    name: str
    process: str
    first_ns: int
    last_ns: int
    records: int
    buffer: int


@dataclass(frozen=True, slots=True)
class Buffer:
    """An instance's part of a trace.

    Attributes:
        name: the instance's; "" for the top one.
        tracer: what recorded it.
        options: what it was recorded to be shown with: option name -> on or off.
        lost, overrun, waits, wait_ns: what its rings in all processes say of it.
        events: how many there are.
    """

    name: str
    tracer: str
    options: Mapping[str, bool]
    lost: int
    overrun: int
    waits: int
    wait_ns: int
    events: int


class TraceFile:
    """An opened trace.

    Args:
        path: the file, as `funcgraph record` wrote it.

    Raises:
        TraceError: the file is no trace of funcgraph's, or is truncated or damaged.
        OSError: it cannot be opened or read.

    Example:
        >>> for row in TraceFile("trace.dat").summary():
        ...     print(row.function.name, row.calls, row.self_ns)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        try:
            meta = _tracedata.Reader(self.path).meta
        except ValueError as error:
            raise TraceError(str(error)) from None
        self.meta = _decode_meta(meta)
        try:
            self.functions = [_function(item) for item in self.meta["functions"]]
            processes = [shlex.join(map(str, item["argv"])) for item in self.meta.get("processes", [])]
            cpus = _number(self.meta.get("cpus", 2**31)) or 1
            self.tasks = [_task(item, processes, cpus) for item in self.meta["tasks"]]
            self.clock = str(self.meta.get("clock", "mono"))
            names = [str(name) for name in self.meta.get("buffers", [""])]
            self.lost, self.overrun, self.waits, self.wait_ns, self.events = (
                _number(self.meta.get(key, 0)) for key in ("lost", "overrun", "waits", "wait_ns", "events")
            )
            self.buffers = [self._buffer(number, names) for number in range(len(names))]
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise TraceError(
                f"damaged: its description makes no sense ({type(error).__name__}: {error})"
            ) from None

    def _buffer(self, number: int, names: Sequence[str]) -> Buffer:
        """Gather what the description says of one buffer."""
        name = names[number]
        recorded = self.meta.get("instances", {}).get(name, {})
        tracer = str(recorded.get("tracer", self.meta.get("tracer", "function_graph")))
        options = known_options(recorded.get("options", ()))
        if len(names) == 1:  # the totals are its own, and count damaged places too
            return Buffer(
                name, tracer, options, self.lost, self.overrun, self.waits, self.wait_ns, self.events
            )
        processes = [
            process for process in self.meta.get("processes", []) if process.get("buffer", 0) == number
        ]
        lost, overrun, waits, wait_ns = (
            sum(_number(process.get(key, 0)) for process in processes)
            for key in ("lost", "overrun", "waits", "wait_ns")
        )
        events = sum(task.records for task in self.tasks if task.buffer == number)
        return Buffer(name, tracer, options, lost, overrun, waits, wait_ns, events)

    def find_buffers(self, wanted: Sequence[str]) -> list[int]:
        """Return the numbers of the buffers of these names; without a name, of all: the top instance's only
        if it recorded anything, for a recording may do without.

        Raises:
            KeyError: a name that is none's.
        """
        names = [buffer.name for buffer in self.buffers]
        if wanted:
            return sorted({names.index(name) if name in names else _no_buffer(name) for name in wanted})
        return [n for n, b in enumerate(self.buffers) if b.events or b.name or len(self.buffers) == 1]

    def find_tasks(self, wanted: str) -> list[Task]:
        """Return the tasks a user means.

        Args:
            wanted: a thread id, or a thread's name, in which `*`, `?` and `[...]` match as in a shell.
        """
        if wanted.isdecimal():
            return [task for task in self.tasks if task.tid == int(wanted)]
        return [task for task in self.tasks if fnmatchcase(task.name, wanted)]

    def report(
        self,
        options: Mapping[str, bool] | None = None,
        *,
        tasks: Sequence[Task] | None = None,
        buffers: Sequence[int] | None = None,
        color: bool = False,
    ) -> Iterator[bytes]:
        """Return the trace as text: each buffer in the kernel's layout for its tracer.

        Args:
            options: option name -> on or off, as `parse_options` returns; what is not there is as the
                recording was told, or has its default.
            tasks: show only these; None: all.
            buffers: show only the buffers of these numbers; None: all. Lines of several begin with their
                buffer's name, as trace-cmd's do.
            color: with escape sequences for a terminal.

        Returns:
            An iterator over pieces of UTF-8 text, each of whole lines.

        Raises:
            TraceError: the file is damaged. Raised by the iterator too, behind the lines before the damage.
            OSError: it cannot be read.
        """
        numbers = self.find_buffers(()) if buffers is None else list(buffers)
        shown = self._shown(tasks, numbers)
        columns = max(len(_text(self.buffers[number].name)) for number in numbers)
        reader = self._reader(None if tasks is None and buffers is None else shown)
        threads = {(task.pid, task.tid, len(numbers) > 1 or task) for task in shown}
        styles = []
        for number, buffer in enumerate(self.buffers):
            chosen = {**buffer.options, **(options or {})}
            bits = option_bits(chosen, several_tasks=len(threads) > 1)
            layout = "function" if buffer.tracer in ("function", "nop") else "function_graph"
            styles.append((layout, bits, buffer.events, buffer.lost, self._prefix(number, numbers, columns)))
        try:
            yield from reader.report(styles, numbers[0], color)
        except ValueError as error:
            raise TraceError(str(error)) from None

    def _prefix(self, number: int, shown: Sequence[int], columns: int) -> str | None:
        """Return what lines of a buffer begin with; None if only one is shown."""
        if len(shown) < 2:
            return None
        name = _text(self.buffers[number].name)
        return f"{name:>{columns}}: " if name else " " * (columns + 2)

    def _shown(self, tasks: Sequence[Task] | None, buffers: Sequence[int]) -> list[Task]:
        """Return the tasks among `tasks` whose records lie in these buffers."""
        return [task for task in (self.tasks if tasks is None else tasks) if task.buffer in buffers]

    def summary(
        self, *, tasks: Sequence[Task] | None = None, buffers: Sequence[int] | None = None
    ) -> list[FunctionSummary]:
        """Return how often each function was called and how long it ran.

        Args:
            tasks: count only what these did; None: all.
            buffers: count only what lies in the buffers of these numbers; None: all.

        Returns:
            A row for each function that was called, in no particular order.

        Raises:
            TraceError: the file is damaged.
            OSError: it cannot be read.
        """
        numbers = range(len(self.buffers)) if buffers is None else buffers
        shown = None if tasks is None and len(numbers) == len(self.buffers) else self._shown(tasks, numbers)
        try:
            return summary_rows(self._reader(shown).summary(), self.functions)
        except ValueError as error:
            raise TraceError(str(error)) from None

    def _reader(self, tasks: Sequence[Task] | None) -> _tracedata.Reader:
        """Open the file again, with all names and these tasks selected."""
        functions = [
            (_text(function.name), _text(",".join(function.starred_arguments())))
            for function in self.functions
        ]
        selected = None if tasks is None else set(tasks)
        known = [
            (t.lane, t.tid, t.pid, _text(t.name), t.first_ns, t.last_ns, selected is None or t in selected)
            for t in self.tasks
        ]
        try:
            reader = _tracedata.Reader(self.path)
            reader.set_names(functions, known, selected is None)
        except (ValueError, OverflowError) as error:
            raise TraceError(str(error)) from None
        return reader


def _no_buffer(name: str) -> int:
    raise KeyError(name)


def _text(text: str) -> str:
    """Return `text` as something UTF-8 can say, and C can end with a NUL."""
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")


def _decode_meta(meta: bytes) -> dict[str, Any]:
    try:
        decoded = json.loads(meta)
    except (ValueError, RecursionError):
        raise TraceError("damaged: its description is no JSON") from None
    if not isinstance(decoded, dict) or "version" not in decoded:
        raise TraceError("damaged: its description is not that of a trace")
    if decoded["version"] != META_VERSION:
        version = decoded["version"]
        raise TraceError(
            f"written by another version of funcgraph: {version!r}, this one reads {META_VERSION}"
        )
    return decoded


def _number(value: object, limit: int = 2**64) -> int:
    if not isinstance(value, int) or not 0 <= value < limit:
        raise ValueError(f"{value!r} where a number should be")
    return value


def _function(item: Sequence[Any]) -> Function:
    module, qualname, file, line, flags, arguments = item
    return Function(
        str(module), str(qualname), str(file or ""), _number(line), _number(flags), tuple(map(str, arguments))
    )


def _task(item: Mapping[str, Any], processes: Sequence[str], cpus: int) -> Task:
    lane, pid, tid = (_number(item[key], 2**31) for key in ("lane", "pid", "tid"))
    first_ns, last_ns, records = (_number(item.get(key, 0)) for key in ("first_ns", "last_ns", "records"))
    number = _number(item.get("process", 0))
    process = processes[number] if number < len(processes) else ""
    name = str(item["name"]) or UNNAMED
    return Task(lane, pid, tid, name, process, first_ns, last_ns, records, lane // cpus)
