"""CSV and JSON lines: a row for each call, at its end."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import BinaryIO

from funcgraph.export.call_rows import CALLS, Names, PlainRow, Row, arguments_at, instance_of, rows_of
from funcgraph.export.format import Format
from funcgraph.export.json_text import json_text
from funcgraph.export.slices import IRQ, RAISE, WHATS, WHOLE, Threads, slices_of
from funcgraph.export.source import Source
from funcgraph.export.values import escaped, exception_of, result_of

#: The columns of CSV, and the members of an object of JSON lines, which leave out those without a value.
COLUMNS = (
    "function", "pid", "tid", "thread", "instance", "begin_ns", "end_ns", "duration_ns", "self_ns", "depth",
    "ended", "parent", "resumes", "caller", "caller_line", "signal", "arguments", "result", "exception",
)  # fmt: skip
_NO_FUNCTION = 2**32 - 1


def write_csv(source: Source, out: BinaryIO) -> None:
    """Write a table of calls."""
    out.write((",".join(COLUMNS) + "\r\n").encode())
    _write(_Csv(source), out)


def write_json_lines(source: Source, out: BinaryIO) -> None:
    """Write an object for each call."""
    _write(_JsonLines(source), out)


def _write(form: _Csv | _JsonLines, out: BinaryIO) -> None:
    for batch, slices in slices_of(form.source, form.threads):
        form.name_threads()
        text = "".join(form.lines(rows_of(batch, slices, CALLS)))
        out.write(text.encode("utf-8", "backslashreplace"))


class _Csv:
    """RFC 4180: a field with a comma, a quote or a line break is in quotes."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.threads = Threads(source)
        self._names = Names(source, csv_field)
        self._tasks: list[str] = []

    def name_threads(self) -> None:
        for task in self.threads.tasks[len(self._tasks) :]:
            texts = (str(task.pid), str(task.tid), task.name, instance_of(self.source, task))
            self._tasks.append(",".join(map(csv_field, texts)))

    def lines(self, rows: Iterator[PlainRow]) -> Iterator[str]:
        names, tasks = self._names, self._tasks
        for row in rows:
            (
                time, _, begin, ran, own, function, parent, caller, line, thread, depth, resumes, what, flags,
                arguments, outcome,
            ) = row  # fmt: skip
            duration = ran if flags & WHOLE else ""
            above = names[parent] if parent != _NO_FUNCTION else ""
            made_by = names[caller] if caller != _NO_FUNCTION else ""
            signal = "true" if flags & IRQ else ""
            entry = csv_field(json_text(arguments_at(self.source, function, arguments))) if arguments else ""
            end = _csv_outcome(what, outcome) if outcome else ","
            yield (
                f"{names[function]},{tasks[thread]},{begin},{time},{duration},{own},{depth},{WHATS[what]},"
                f"{above},{resumes},{made_by},{line or ''},{signal},{entry},{end}\r\n"
            )


def csv_field(text: str) -> str:
    """Return a text as a field of CSV. NULs, which readers of CSV refuse, are escaped."""
    text = escaped(text).replace("\0", "\\x00")
    if not text.isprintable() or '"' in text or "," in text:
        return '"' + text.replace('"', '""') + '"'
    return text


@lru_cache(4096)
def _csv_outcome(what: int, payload: bytes) -> str:
    if what == RAISE:
        return "," + csv_field(exception_of(payload) or "")
    return csv_field(json_text(result_of(payload))) + ","


class _JsonLines:
    """An object in each line, without members that have no value."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.threads = Threads(source)
        self._names = Names(source, json_text)
        self._tasks: list[str] = []

    def name_threads(self) -> None:
        for task in self.threads.tasks[len(self._tasks) :]:
            instance = instance_of(self.source, task)
            text = f'"pid":{task.pid},"tid":{task.tid},"thread":{json_text(task.name)}'
            self._tasks.append(text + (f',"instance":{json_text(instance)}' if instance else ""))

    def lines(self, rows: Iterator[PlainRow]) -> Iterator[str]:
        names, tasks = self._names, self._tasks
        for row in rows:
            (
                time, _, begin, ran, own, function, parent, caller, _, thread, depth, resumes, what, flags,
                arguments, outcome,
            ) = row  # fmt: skip
            duration = f',"duration_ns":{ran}' if flags & WHOLE else ""
            above = f',"parent":{names[parent]}' if parent != _NO_FUNCTION else ""
            rare = self._rare(Row._make(row)) if resumes or flags & IRQ or caller != _NO_FUNCTION else ""
            if arguments:
                rare += f',"arguments":{json_text(arguments_at(self.source, function, arguments))}'
            if outcome:
                rare += _json_outcome(what, outcome)
            yield (
                f'{{"function":{names[function]},{tasks[thread]},"begin_ns":{begin},'
                f'"end_ns":{time}{duration},"self_ns":{own},"depth":{depth},'
                f'"ended":"{WHATS[what]}"{above}{rare}}}\n'
            )

    def _rare(self, row: Row) -> str:
        text = f',"resumes":{row.resumes}' if row.resumes else ""
        if row.caller != _NO_FUNCTION:
            text += f',"caller":{self._names[row.caller]}'
            text += f',"caller_line":{row.caller_line}' if row.caller_line else ""
        return text + (',"signal":true' if row.flags & IRQ else "")


@lru_cache(4096)
def _json_outcome(what: int, payload: bytes) -> str:
    if what == RAISE:
        return f',"exception":{json_text(exception_of(payload))}'
    return f',"result":{json_text(result_of(payload))}'


_LACKS = "it has no events that are not calls, and no suspends and resumes but their number"

FORMATS = (
    Format("csv", (".csv",), "a table of calls, for spreadsheets", _LACKS, write_csv, is_text=True),
    Format(
        "jsonl",
        (".jsonl",),
        "an object for each call, for jq and scripts",
        _LACKS,
        write_json_lines,
        is_text=True,
    ),
)
