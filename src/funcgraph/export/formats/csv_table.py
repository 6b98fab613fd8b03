"""CSV and JSON lines: a row for each call, at its end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import repeat
from typing import BinaryIO, ClassVar

from funcgraph.export.call_rows import (
    Made,
    Names,
    are_plain,
    are_whole,
    arguments_at,
    arguments_in,
    formatted,
    instance_of,
    outcomes_in,
)
from funcgraph.export.csv_cell import not_formula
from funcgraph.export.format import Format
from funcgraph.export.json_text import json_text
from funcgraph.export.slices import CALLS, IRQ, NO_FUNCTION, RAISE, WHATS, WHOLE, Slices, slices_of
from funcgraph.export.source import Source
from funcgraph.export.values import escaped, exception_of, result_of
from funcgraph.tracedata.events import Columns

#: The columns of CSV, and the members of an object of JSON lines, which leave out those without a value.
COLUMNS = (
    "function", "pid", "tid", "thread", "instance", "begin_ns", "end_ns", "duration_ns", "self_ns", "depth",
    "ended", "parent", "resumes", "caller", "caller_line", "signal", "arguments", "result", "exception",
)  # fmt: skip


def write_csv(source: Source, out: BinaryIO) -> None:
    """Write a table of calls."""
    out.write((",".join(COLUMNS) + "\r\n").encode())
    _write(_Csv(source), out)


def write_json_lines(source: Source, out: BinaryIO) -> None:
    """Write an object for each call."""
    _write(_JsonLines(source), out)


def _write(form: _Table, out: BinaryIO) -> None:
    batches = slices_of(form.source, form.threads, CALLS)
    out.writelines(form.text(*batch).encode("utf-8", "backslashreplace") for batch in batches)


class _Table(ABC):
    """How rows are written: a text that the function and the thread decide, numbers, another such text, and
    what few calls have."""

    #: The text of a row, and of one whose duration is the text that `_duration` returned.
    TEMPLATE: ClassVar[str]
    TEMPLATE_IF_UNKNOWN: ClassVar[str]
    #: What `_rare` returns of a call that has nothing rare.
    NOTHING: ClassVar[str]

    def __init__(self, source: Source) -> None:
        self.source = source
        self.threads = source.threads()
        self._heads: Made[tuple[int, int], str] = Made(self._head)
        self._tails: Made[tuple[int, int], str] = Made(self._tail)
        self._arguments: Callable[[int, bytes], str] = lru_cache(4096)(self._encode_arguments)

    def text(self, batch: Columns | None, slices: Slices) -> str:
        """Return the rows of a batch."""
        template, durations = self._durations(slices)
        rows = zip(
            map(self._heads.__getitem__, zip(slices.function.tolist(), slices.thread.tolist(), strict=True)),
            slices.call_ns.tolist(),
            slices.time_ns.tolist(),
            durations,
            slices.self_ns.tolist(),
            slices.depth.tolist(),
            map(self._tails.__getitem__, zip(slices.what.tolist(), slices.parent.tolist(), strict=True)),
            repeat(self.NOTHING) if are_plain(batch, slices) else self._rares(batch, slices),
            strict=False,
        )
        return formatted(template, len(slices), rows)

    def _durations(self, slices: Slices) -> tuple[str, Iterable[int | str]]:
        durations = slices.ran_ns.tolist()
        if are_whole(slices):
            return self.TEMPLATE, durations
        rows = zip(durations, slices.flags.tolist(), strict=True)
        return self.TEMPLATE_IF_UNKNOWN, [self._duration(ran) if flags & WHOLE else "" for ran, flags in rows]

    def _rares(self, batch: Columns | None, slices: Slices) -> Iterator[str]:
        columns = (
            slices.function, slices.what, slices.resumes, slices.caller, slices.caller_line, slices.flags,
        )  # fmt: skip
        rows = zip(
            *(c.tolist() for c in columns), arguments_in(slices), outcomes_in(batch, slices), strict=False
        )
        for function, what, resumes, caller, line, flags, arguments, outcome in rows:
            yield self._rare(
                resumes,
                (caller, line) if caller != NO_FUNCTION else None,
                bool(flags & IRQ),
                self._arguments(function, arguments) if arguments else "",
                self._outcome(what, outcome) if outcome else "",
            )

    def _encode_arguments(self, function: int, payload: bytes) -> str:
        return json_text(arguments_at(self.source, function, payload))

    @abstractmethod
    def _head(self, function: int, thread: int) -> str: ...

    @abstractmethod
    def _tail(self, what: int, parent: int) -> str: ...

    @abstractmethod
    def _duration(self, ran_ns: int) -> str: ...

    @abstractmethod
    def _outcome(self, what: int, payload: bytes) -> str: ...

    @abstractmethod
    def _rare(
        self, resumes: int, caller: tuple[int, int] | None, is_signal: bool, arguments: str, outcome: str
    ) -> str:
        """Return what few calls have.

        Args:
            resumes: how often it was resumed.
            caller: the function that made the call, and the line in it.
            is_signal: it handled a signal.
            arguments: as JSON; "": none.
            outcome: what `_outcome` returned; "": none.
        """


class _Csv(_Table):
    """RFC 4180: a field with a comma, a quote or a line break is in quotes."""

    TEMPLATE = "%s%d,%d,%d,%d,%d,%s%s\r\n"
    TEMPLATE_IF_UNKNOWN = "%s%d,%d,%s,%d,%d,%s%s\r\n"
    NOTHING = "0,,,,,,"

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._names = Names(source, csv_field)

    def _head(self, function: int, thread: int) -> str:
        task = self.threads.tasks[thread]
        texts = (str(task.pid), str(task.tid), task.name, instance_of(self.source, task))
        return f"{self._names[function]},{','.join(map(csv_field, texts))},"

    def _tail(self, what: int, parent: int) -> str:
        return f"{WHATS[what]},{self._names[parent] if parent != NO_FUNCTION else ''},"

    def _duration(self, ran_ns: int) -> str:
        return str(ran_ns)

    def _outcome(self, what: int, payload: bytes) -> str:
        return _csv_outcome(what, payload)

    def _rare(
        self, resumes: int, caller: tuple[int, int] | None, is_signal: bool, arguments: str, outcome: str
    ) -> str:
        made_by = f"{self._names[caller[0]]},{caller[1] or ''}" if caller else ","
        entry = csv_field(arguments) if arguments else ""
        return f"{resumes},{made_by},{'true' if is_signal else ''},{entry},{outcome or ','}"


def csv_field(text: str) -> str:
    """Return a text of the program as a field of CSV, which is no formula of a spreadsheet."""
    return _quoted(not_formula(text))


def _quoted(text: str) -> str:
    """Return a text as a field of CSV. NULs, which readers of CSV refuse, are escaped."""
    text = escaped(text).replace("\0", "\\x00")
    if not text.isprintable() or '"' in text or "," in text:
        return '"' + text.replace('"', '""') + '"'
    return text


@lru_cache(4096)
def _csv_outcome(what: int, payload: bytes) -> str:
    if what == RAISE:
        return "," + csv_field(exception_of(payload) or "")
    return _quoted(json_text(result_of(payload))) + ","  # JSON: what begins with - is a number


class _JsonLines(_Table):
    """An object in each line, without members that have no value."""

    TEMPLATE = '%s%d,"end_ns":%d,"duration_ns":%d,"self_ns":%d,"depth":%d%s%s}\n'
    TEMPLATE_IF_UNKNOWN = '%s%d,"end_ns":%d%s,"self_ns":%d,"depth":%d%s%s}\n'
    NOTHING = ""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._names = Names(source, json_text)

    def _head(self, function: int, thread: int) -> str:
        task = self.threads.tasks[thread]
        instance = instance_of(self.source, task)
        text = f'{{"function":{self._names[function]},"pid":{task.pid},"tid":{task.tid}'
        text += f',"thread":{json_text(task.name)}' + (
            f',"instance":{json_text(instance)}' if instance else ""
        )
        return text + ',"begin_ns":'

    def _tail(self, what: int, parent: int) -> str:
        above = f',"parent":{self._names[parent]}' if parent != NO_FUNCTION else ""
        return f',"ended":"{WHATS[what]}"{above}'

    def _duration(self, ran_ns: int) -> str:
        return f',"duration_ns":{ran_ns}'

    def _outcome(self, what: int, payload: bytes) -> str:
        return _json_outcome(what, payload)

    def _rare(
        self, resumes: int, caller: tuple[int, int] | None, is_signal: bool, arguments: str, outcome: str
    ) -> str:
        text = f',"resumes":{resumes}' if resumes else ""
        if caller:
            function, line = caller
            text += f',"caller":{self._names[function]}' + (f',"caller_line":{line}' if line else "")
        signal = ',"signal":true' if is_signal else ""
        return text + signal + (f',"arguments":{arguments}' if arguments else "") + outcome


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
