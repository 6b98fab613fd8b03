"""Chrome's JSON: the Trace Event Format, which chrome://tracing, Perfetto and many others read.

"Trace Event Format" (Google, 2016) describes it: `X` is a slice, `s`, `t` and `f` are a flow, `i` an instant.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import BinaryIO, NamedTuple

from funcgraph.export.call_rows import Names, arguments_at, arguments_in, instance_of, outcomes_in
from funcgraph.export.format import Format
from funcgraph.export.json_text import json_text
from funcgraph.export.marks import Mark, marks_of
from funcgraph.export.slices import (
    IRQ,
    NO_FUNCTION,
    RAISE,
    RETURN,
    STRETCHES,
    SUSPEND,
    WHATS,
    Slices,
    slices_of,
)
from funcgraph.export.source import Source
from funcgraph.export.values import escaped, exception_of, result_of
from funcgraph.tracedata.events import Columns

_FUNCTION = Columns.KINDS.index("function")


class _Row(NamedTuple):
    """A stretch of a call: what `Slices` has of it, and its values, not decoded."""

    time_ns: int
    begin_ns: int
    call_ns: int
    function: int
    thread: int
    caller: int
    caller_line: int
    resumes: int
    what: int
    flags: int
    arguments: bytes
    outcome: bytes


def write(source: Source, out: BinaryIO) -> None:
    """Write a source as JSON of the Trace Event Format."""
    _Writer(source).write(out)


class _Writer:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._threads = source.threads()
        self._names = Names(source, json_text)
        self._tasks: list[str] = []  # of each thread, the members pid and tid
        self._used: set[tuple[int, int]] = set()
        self._processes: set[int] = set()

    def write(self, out: BinaryIO) -> None:
        out.write(b'{"displayTimeUnit":"ns","traceEvents":[\n')
        separator = b""
        for batch, slices in slices_of(self._source, self._threads, STRETCHES):
            lines = [*self._name_threads(), *self._slices(batch, slices)]
            if batch is not None:
                threads, _ = self._threads.of(batch.tasks)
                lines += [self._mark(mark, threads[mark.task]) for mark in marks_of(self._source, batch)]
                lines += self._functions(batch)
            if lines:
                out.write(separator + ",\n".join(lines).encode())
                separator = b",\n"
        clock = json_text(self._source.trace.clock)
        out.write(b'\n],"otherData":{"clock":%b,"writer":"funcgraph"}}\n' % clock.encode())

    def _name_threads(self) -> Iterator[str]:
        """Yield the names of threads that are new. What another instance recorded has a tid of its own."""
        for number, task in enumerate(self._threads.tasks[len(self._tasks) :], len(self._tasks)):
            instance, name, tid = instance_of(self._source, task), task.name, task.tid
            if (task.pid, tid) in self._used:
                tid = 2**31 + number
                name += f" (instance {instance})" if instance else ""
            self._used.add((task.pid, tid))
            self._tasks.append(f'"pid":{task.pid},"tid":{tid}')
            if task.pid not in self._processes:
                self._processes.add(task.pid)
                yield self._meta("process_name", number, task.process or task.name)
            yield self._meta("thread_name", number, name)

    def _meta(self, kind: str, thread: int, name: str) -> str:
        return f'{{"ph":"M","name":"{kind}",{self._tasks[thread]},"args":{{"name":{json_text(name)}}}}}'

    def _slices(self, batch: Columns | None, slices: Slices) -> Iterator[str]:
        names, tasks = self._names, self._tasks
        columns = (getattr(slices, name).tolist() for name in _Row._fields[:-2])
        rows = zip(*columns, arguments_in(slices), outcomes_in(batch, slices), strict=False)
        for row in rows:
            time, begin, _, function, thread, caller, _, resumes, what, flags, arguments, outcome = row
            took = time - begin
            is_plain = what == RETURN and not (arguments or outcome or flags & IRQ) and caller == NO_FUNCTION
            args = "" if is_plain else self._args(_Row._make(row))
            yield (
                f'{{"ph":"X","name":{names[function]},"ts":{begin // 1000}.{begin % 1000:03},'
                f'"dur":{took // 1000}.{took % 1000:03},{tasks[thread]}{args}}}'
            )
            if resumes or what == SUSPEND:
                yield self._flow(_Row._make(row))

    def _flow(self, row: _Row) -> str:
        """Return the place of a stretch among those of its call."""
        phase = ('"t"' if row.resumes else '"s"') if row.what == SUSPEND else '"f","bp":"e"'
        return (
            f'{{"ph":{phase},"name":"resume","cat":"suspended","id":"{row.call_ns:x}.{row.function:x}",'
            f'"ts":{row.begin_ns // 1000}.{row.begin_ns % 1000:03},{self._tasks[row.thread]}}}'
        )

    def _args(self, row: _Row) -> str:
        members = []
        if row.arguments:
            members.append(self._arguments(row.function, row.arguments))
        if row.what != RETURN:
            members.append(f'"(ended)":"{WHATS[row.what]}"')
        if row.outcome:
            members.append(_outcome(row.what, row.outcome))
        if row.caller != NO_FUNCTION:
            members.append(f'"(caller)":{self._names[row.caller]},"(caller line)":{row.caller_line}')
        if row.flags & IRQ:
            members.append('"(signal handler)":true')
        return ',"args":{' + ",".join(members) + "}"

    def _arguments(self, function: int, payload: bytes) -> str:
        values = arguments_at(self._source, function, payload)
        return ",".join(f"{json_text(name)}:{json_text(value)}" for name, value in values.items())

    def _mark(self, mark: Mark, thread: int) -> str:
        begin, took = mark.begin_ns, mark.time_ns - mark.begin_ns
        phase = f'"X","dur":{took // 1000}.{took % 1000:03}' if mark.kind == "wait" else '"i","s":"t"'
        return (
            f'{{"ph":{phase},"cat":"{mark.kind}","name":{json_text(mark.name)},'
            f'"ts":{begin // 1000}.{begin % 1000:03},{self._tasks[thread]},"args":{json_text(mark.values)}}}'
        )

    def _functions(self, batch: Columns) -> Iterator[str]:
        """Yield the calls of the function tracer, which does not record ends."""
        if _FUNCTION not in bytes(batch.kind):
            return
        threads, _ = self._threads.of(batch.tasks)
        kinds, times, functions, tasks = (
            column.tolist() for column in (batch.kind, batch.time_ns, batch.function, batch.task)
        )
        for kind, time, function, task in zip(kinds, times, functions, tasks, strict=True):
            if kind == _FUNCTION:
                yield (
                    f'{{"ph":"i","s":"t","cat":"function","name":{self._names[function]},'
                    f'"ts":{time // 1000}.{time % 1000:03},{self._tasks[threads[task]]}}}'
                )


@lru_cache(4096)
def _outcome(what: int, payload: bytes) -> str:
    if what == RAISE:
        return f'"(exception)":{json_text(escaped(exception_of(payload) or ""))}'
    return f'"({"yielded" if what == SUSPEND else "result"})":{json_text(result_of(payload))}'


FORMATS = (
    Format(
        "chrome",
        (".chrome.json", ".json"),
        "the Trace Event Format, for chrome://tracing, Perfetto and many others",
        "it has no source files and lines of functions, and no tracks of event loops' tasks",
        write,
        is_text=True,
    ),
)
