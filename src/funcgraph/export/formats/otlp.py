"""OpenTelemetry: calls as spans, in the protocol's two forms. otlp_forms.py writes each."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from hashlib import blake2b
from itertools import compress
from operator import itemgetter
from typing import BinaryIO, Generic

from funcgraph.export.call_rows import are_resumed, arguments_in, have_values, outcomes_in
from funcgraph.export.format import Format
from funcgraph.export.formats.otlp_forms import Ended, Form, JsonForm, ProtobufForm, Rows, T
from funcgraph.export.slices import CALLS, RAISE, SUSPEND, Slices, slices_of
from funcgraph.export.source import Source
from funcgraph.export.span_marks import SpanMarks
from funcgraph.tracedata.events import Columns
from funcgraph.tracedata.threads import Threads

_SPANS_IN_A_MESSAGE = 1000


def write_json(source: Source, out: BinaryIO) -> None:
    """Write JSON lines, as the protocol's file exporter does: an object of TracesData in each."""
    _write(source, JsonForm, out)


def write_protobuf(source: Source, out: BinaryIO) -> None:
    """Write a message TracesData. Any number of its repeated fields is such a message, too."""
    _write(source, ProtobufForm, out)


def _write(source: Source, kind: type[Form[T]], out: BinaryIO) -> None:
    """Write the spans of each process, some at a time, below what describes the process."""
    threads, offset_ns = source.threads(), _time_of_day(source)
    key = blake2b(f"{source.trace.path!r} {offset_ns}".encode(), digest_size=16).digest()
    form = kind(source, threads, offset_ns, key[:8])
    first_id = (
        int.from_bytes(key[8:], "little") >> 1 | 1
    )  # counts on without coming to 0: no span has that id
    spans = _Spans(source, threads, form)
    for batch, slices in slices_of(source, threads, CALLS | 1 << SUSPEND, first_id=first_id):
        form.name_threads()
        for thread, rows in spans.by_process(batch, slices):
            for first in range(0, len(rows), _SPANS_IN_A_MESSAGE):
                part = rows.part(slice(first, first + _SPANS_IN_A_MESSAGE))
                out.writelines(form.message(thread, form.spans(part)))


class _Spans(Generic[T]):
    """The spans of a source, in the order of their ends."""

    def __init__(self, source: Source, threads: Threads, form: Form[T]) -> None:
        self._threads = threads
        self._form: Form[T] = form
        self._marks = SpanMarks(source, threads)

    def by_process(self, batch: Columns | None, slices: Slices) -> Iterator[tuple[int, Rows[T]]]:
        """Yield the spans of a batch, those of each process with one of its threads."""
        thread, rows = self._rows(batch, slices)
        pids = [task.pid for task in self._threads.tasks]
        places: defaultdict[int, list[int]] = defaultdict(list)
        if len({pids[number] for number in set(thread)}) < 2:
            if thread:
                yield thread[0], rows
            return
        for place, number in enumerate(thread):
            places[pids[number]].append(place)
        for some in places.values():
            yield thread[some[0]], Rows(*(_items(column, some) for column in rows))

    def _rows(self, batch: Columns | None, slices: Slices) -> tuple[list[int], Rows[T]]:
        """Return the spans that end, and the thread of each."""
        self._marks.add(batch, slices)
        thread, what, offset = slices.thread.tolist(), slices.what.tolist(), self._form.offset_ns
        keys = zip(slices.function.tolist(), thread, what, strict=True)
        attributes, rest = self._rares(batch, slices)
        rows = Rows(
            slices.id.tolist(),
            slices.above.tolist(),
            slices.root.tolist(),
            [time + offset for time in slices.call_ns.tolist()],
            [time + offset for time in slices.time_ns.tolist()],
            slices.self_ns.tolist(),
            list(map(self._form.common.__getitem__, keys)),
            attributes,
            rest,
        )
        if SUSPEND not in what:
            return thread, rows
        ended = [number != SUSPEND for number in what]
        columns = (list(compress(column, ended)) for column in rows)
        return list(compress(thread, ended)), Rows(*columns)  # type: ignore[arg-type]

    def _rares(self, batch: Columns | None, slices: Slices) -> tuple[list[T], list[T]]:
        """Return what few spans have: further attributes, and events and the status."""
        form, marks = self._form, self._marks.of_spans
        whats = slices.what.tobytes()
        attributes, rest = ([nothing] * len(slices) for nothing in form.nothing)
        if not (marks or have_values(batch, slices) or are_resumed(slices) or RAISE in whats):
            return attributes, rest
        columns = slices.time_ns, slices.function, slices.what, slices.resumes, slices.id
        rows = zip(
            *(c.tolist() for c in columns), arguments_in(slices), outcomes_in(batch, slices), strict=False
        )
        for place, (time, function, what, resumes, number, arguments, outcome) in enumerate(rows):
            if (number in marks or resumes or arguments or outcome or what == RAISE) and what != SUSPEND:
                call = Ended(time, function, what, resumes, arguments, outcome)
                attributes[place], rest[place] = form.rare(call, marks.pop(number, ()))
        return attributes, rest


def _items(column: list[T], places: list[int]) -> list[T]:
    """Return the items at some places, at least one."""
    found = itemgetter(*places)(column)
    return list(found) if len(places) > 1 else [found]


def _time_of_day(source: Source) -> int:
    """Return what to add to times of the trace, so that its last event has the time of its file."""
    last = max((task.last_ns for task in source.trace.tasks), default=0)
    return os.stat(source.trace.path).st_mtime_ns - last


_LACKS = (
    "it wants the time of day, which no trace has: the last event gets that of the file; it has no suspends"
)

FORMATS = (
    Format(
        "otlp",
        (".otlp.jsonl",),
        "spans for OpenTelemetry, in JSON lines; choose functions with -l",
        _LACKS,
        write_json,
        is_text=True,
    ),
    Format(
        "otlp-proto",
        (".otlp.pb",),
        "the same spans, as a message of Protocol Buffers",
        _LACKS,
        write_protobuf,
    ),
)
