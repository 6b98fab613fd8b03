"""OpenTelemetry: calls as spans, in the protocol's two forms. otlp_forms.py writes each."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from hashlib import blake2b
from typing import BinaryIO, Generic, TypeAlias

from funcgraph.export.call_rows import arguments_in, outcomes_in
from funcgraph.export.format import Format
from funcgraph.export.marks import Mark, marks_of
from funcgraph.export.otlp_forms import Ended, Form, JsonForm, ProtobufForm, T
from funcgraph.export.slices import ONLY_END, RAISE, RESUME, SUSPEND, SUSPENDED, Slices, Threads, slices_of
from funcgraph.export.source import Source
from funcgraph.tracedata.events import Columns

_SPANS_IN_A_MESSAGE = 1000
_MOST_ID, _MOST_TRACE_ID = 2**64 - 1, 2**128 - 1


def write_json(source: Source, out: BinaryIO) -> None:
    """Write JSON lines, as the protocol's file exporter does: an object of TracesData in each."""
    threads = Threads(source)
    _write(source, threads, JsonForm(source, threads, _time_of_day(source)), out)


def write_protobuf(source: Source, out: BinaryIO) -> None:
    """Write a message TracesData. Any number of its repeated fields is such a message, too."""
    threads = Threads(source)
    _write(source, threads, ProtobufForm(source, threads, _time_of_day(source)), out)


def _write(source: Source, threads: Threads, form: Form[T], out: BinaryIO) -> None:
    """Write the spans of each process, some at a time, below what describes the process."""
    spans = _Spans(source, threads, form)
    waiting: defaultdict[int, list[T]] = defaultdict(list)
    for thread, span in spans:
        process = waiting[threads.tasks[thread].pid]
        process.append(span)
        if len(process) >= _SPANS_IN_A_MESSAGE:
            out.write(form.message(thread, process))
            process.clear()
    for thread, task in enumerate(threads.tasks):
        if rest := waiting.pop(task.pid, None):
            out.write(form.message(thread, rest))


#: The ids of a trace, of a span in it, and of the span above it, as the form writes them.
_Ids: TypeAlias = tuple[T, T, T]


class _Spans(Generic[T]):
    """The spans of a source, in the order of their ends, with their threads."""

    def __init__(self, source: Source, threads: Threads, form: Form[T]) -> None:
        self._source, self._threads = source, threads
        self._form: Form[T] = form
        self._stacks: defaultdict[int, list[_Ids[T]]] = defaultdict(list)
        self._parked: dict[tuple[int, int, int], _Ids[T]] = {}
        self._events: dict[T, list[Mark]] = {}  # of spans in progress, by id
        seed = blake2b(f"{source.trace.path!r} {form.offset_ns}".encode(), digest_size=16).digest()
        self._trace_id = int.from_bytes(seed, "little") | 1
        self._span_id = self._trace_id & _MOST_ID

    def __iter__(self) -> Iterator[tuple[int, T]]:
        for batch, slices in slices_of(self._source, self._threads):
            self._form.name_threads()
            yield from self._of_batch(batch, slices)

    def _of_batch(self, batch: Columns | None, slices: Slices) -> Iterator[tuple[int, T]]:
        marks = _Marks(self._source, self._threads, batch)
        columns = (
            slices.time_ns, slices.call_ns, slices.self_ns, slices.function, slices.thread, slices.what,
            slices.flags, slices.resumes,
        )  # fmt: skip
        rows = zip(
            *(column.tolist() for column in columns),
            arguments_in(slices),
            outcomes_in(batch, slices),
            strict=False,
        )
        stacks, form, parked = self._stacks, self._form, self._parked
        for time, begin, own, function, thread, what, flags, resumes, arguments, outcome in rows:
            while marks.time_ns < time:
                self._add_mark(*marks.take())
            stack = stacks[thread]
            if what < RESUME:
                stack.append(self._new(stack))
                continue
            if what == RESUME:
                stack.append(self._parked_or_new(begin, function, thread, stack))
                continue
            if what == SUSPENDED or flags & ONLY_END:
                span = self._parked_or_new(begin, function, thread, stack)
            else:
                span = stack.pop()
            if what == SUSPEND:
                parked[self._key(begin, function, thread)] = span
                continue
            rare = form.nothing
            if self._events or resumes or arguments or outcome or what == RAISE:
                call = Ended(time, function, what, resumes, arguments, outcome)
                rare = form.rare(call, self._events.pop(span[1], ()))
            yield thread, form.span(span, begin, time, own, form.common[function, thread, what], rare)
        while marks.time_ns < _Marks.NONE:
            self._add_mark(*marks.take())

    def _parked_or_new(self, begin: int, function: int, thread: int, stack: list[_Ids[T]]) -> _Ids[T]:
        return self._parked.pop(self._key(begin, function, thread), None) or self._new(stack)

    def _key(self, begin: int, function: int, thread: int) -> tuple[int, int, int]:
        return begin, function, self._threads.tasks[thread].pid

    def _new(self, stack: list[_Ids[T]]) -> _Ids[T]:
        """Return a span below the one that is in progress; without one it begins a trace."""
        form = self._form
        number = self._span_id = self._span_id + 2 & _MOST_ID  # odd: an id of zeros is none
        if stack:
            trace, above, _ = stack[-1]
            return trace, form.span_id(number), above
        self._trace_id = self._trace_id + 2 & _MOST_TRACE_ID
        return form.trace_id(self._trace_id), form.span_id(number), form.no_id

    def _add_mark(self, thread: int, mark: Mark) -> None:
        if stack := self._stacks[thread]:
            self._events.setdefault(stack[-1][1], []).append(mark)


class _Marks:
    """The marks of a batch, one after the other.

    Attributes:
        time_ns: of the next one; NONE: there is none.
    """

    NONE = 2**64

    def __init__(self, source: Source, threads: Threads, batch: Columns | None) -> None:
        self._marks = iter(()) if batch is None else marks_of(source, batch)
        self._numbers = threads.of(batch.tasks)[0] if batch is not None else ()
        self._go_on()

    def take(self) -> tuple[int, Mark]:
        """Return the next one and its thread."""
        mark = self._mark
        assert mark is not None
        self._go_on()
        return self._numbers[mark.task], mark

    def _go_on(self) -> None:
        self._mark = next(self._marks, None)
        self.time_ns = self._mark.time_ns if self._mark else self.NONE


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
