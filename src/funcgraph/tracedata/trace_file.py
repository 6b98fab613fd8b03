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
from funcgraph.tracedata.report_options import option_bits
from funcgraph.tracedata.summary import FunctionSummary, summary_rows

META_VERSION = 1
UNNAMED = "<...>"  # what the kernel prints for a task whose name it does not have

# enum fg_func_flags, ring_layout.h
_VARARGS = 16
_VARKEYWORDS = 32
_NATIVE = 64


class TraceError(Exception):
    """A file that is no trace of funcgraph's, or is not whole: the reason, without the file's name."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function that the trace names.

    Attributes:
        module: its module's name; `__main__` for a script's own functions.
        qualname: its qualified name in the module.
        file: its source file, or "" if it has none.
        line: the line in which it begins, from 1; 0 if it has no source. Of native code: its size in bytes.
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
        """`module.qualname`, as filters and reports have it; `qualname` alone if there is no module.

        Of native code as the kernel prints it: `symbol [module]`.
        """
        if self.flags & _NATIVE:
            return f"{self.qualname} [{self.module}]" if self.module else self.qualname
        return f"{self.module}.{self.qualname}" if self.module else self.qualname

    @property
    def size_bytes(self) -> int:
        """The size of native code, 0 for any other function."""
        return self.line if self.flags & _NATIVE else 0

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
        first_ns: time of its first record, CLOCK_MONOTONIC nanoseconds.
        last_ns: time of its last record.
        records: how many there are.
    """

    lane: int
    pid: int
    tid: int
    name: str
    process: str
    first_ns: int
    last_ns: int
    records: int


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
            self.tasks = [_task(item, processes) for item in self.meta["tasks"]]
            self.tracer = str(self.meta.get("tracer", "function_graph"))
            self.lost, self.overrun, self.waits, self.wait_ns, self.events = (
                _number(self.meta.get(key, 0)) for key in ("lost", "overrun", "waits", "wait_ns", "events")
            )
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise TraceError(
                f"damaged: its description makes no sense ({type(error).__name__}: {error})"
            ) from None

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
        color: bool = False,
    ) -> Iterator[bytes]:
        """Return the trace as text: in the kernel's function_graph layout, or in that of the function tracer.

        Args:
            options: option name -> on or off, as `parse_options` returns; None: the defaults.
            tasks: show only these; None: all.
            color: with escape sequences for a terminal.

        Returns:
            An iterator over pieces of UTF-8 text, each of whole lines.

        Raises:
            TraceError: the file is damaged. Raised by the iterator too, behind the lines before the damage.
            OSError: it cannot be read.
        """
        shown = self.tasks if tasks is None else tasks
        bits = option_bits(options or {}, several_tasks=len(shown) > 1)
        reader = self._reader(tasks)
        layout = "function" if self.tracer in ("function", "nop") else "function_graph"
        try:
            yield from reader.report(layout, bits, color, self.events, self.lost)
        except ValueError as error:
            raise TraceError(str(error)) from None

    def summary(self, *, tasks: Sequence[Task] | None = None) -> list[FunctionSummary]:
        """Return how often each function was called and how long it ran.

        Args:
            tasks: count only what these did; None: all.

        Returns:
            A row for each function that was called, in no particular order.

        Raises:
            TraceError: the file is damaged.
            OSError: it cannot be read.
        """
        try:
            return summary_rows(self._reader(tasks).summary(), self.functions)
        except ValueError as error:
            raise TraceError(str(error)) from None

    def _reader(self, tasks: Sequence[Task] | None) -> _tracedata.Reader:
        """Open the file again, with all names and these tasks selected."""
        functions = [
            (_text(function.name), _text(",".join(function.starred_arguments())), function.size_bytes)
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


def _task(item: Mapping[str, Any], processes: Sequence[str]) -> Task:
    lane, pid, tid = (_number(item[key], 2**31) for key in ("lane", "pid", "tid"))
    first_ns, last_ns, records = (_number(item.get(key, 0)) for key in ("first_ns", "last_ns", "records"))
    number = _number(item.get("process", 0))
    process = processes[number] if number < len(processes) else ""
    return Task(lane, pid, tid, str(item["name"]) or UNNAMED, process, first_ns, last_ns, records)
