"""OpenTelemetry: spans of calls, in the protocol's two forms: JSON lines, and a message of Protocol Buffers.

opentelemetry-proto's trace.proto has the messages and the numbers of their fields. The JSON form is that of the
protocol's file exporter: an object of TracesData in each line.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import BinaryIO, TypeAlias

from funcgraph.export import protobuf as pb
from funcgraph.export.call_rows import instance_of
from funcgraph.export.format import Format
from funcgraph.export.json_text import json_text
from funcgraph.export.marks import Mark, marks_of
from funcgraph.export.slices import CLOSE, ONLY_END, RAISE, RESUME, RETURN, SUSPEND, SUSPENDED, WHATS, Slices, Threads, slices_of
from funcgraph.export.source import Source
from funcgraph.export.values import Plain, arguments_of, escaped, exception_of, result_of
from funcgraph.tracedata.description import NATIVE, Function, Task
from funcgraph.tracedata.events import Columns

_INTERNAL = 1  # Span.SPAN_KIND_INTERNAL
_ERROR = 2  # Status.STATUS_CODE_ERROR
_SCOPE = "funcgraph"
_SPANS_IN_A_MESSAGE = 1000

Attributes: TypeAlias = Mapping[str, Plain]


@dataclass(slots=True)
class Span:
    """A call as a span. `events` are the marks that its thread made within it."""

    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    name: str = ""
    begin_ns: int = 0
    end_ns: int = 0
    attributes: dict[str, Plain] = field(default_factory=dict)
    events: list[tuple[int, str, Attributes]] = field(default_factory=list)
    error: str | None = None


def write_json(source: Source, out: BinaryIO) -> None:
    """Write JSON lines."""
    _write(source, lambda resource, spans: out.write(_json_line(resource, spans).encode()))


def write_protobuf(source: Source, out: BinaryIO) -> None:
    """Write a message TracesData. Its repeated field goes on and on: any part of it is such a message, too."""
    _write(source, lambda resource, spans: out.write(_message(resource, spans)))


def _write(source: Source, put: Callable[[Attributes, list[Span]], object]) -> None:
    """Hand over the spans of each process, some at a time, with what describes the process."""
    spans = _Spans(source)
    waiting: defaultdict[int, list[Span]] = defaultdict(list)
    for task, span in spans:
        waiting[task.pid].append(span)
        if len(waiting[task.pid]) >= _SPANS_IN_A_MESSAGE:
            put(spans.resource(task.pid), waiting.pop(task.pid))
    for pid, rest in waiting.items():
        put(spans.resource(pid), rest)


class _Spans:
    """The spans of a source, in the order of their ends."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._threads = Threads(source)
        self._stacks: defaultdict[int, list[Span]] = defaultdict(list)
        self._parked: dict[tuple[int, int, int], Span] = {}
        self._count = 0
        self._offset_ns = _time_of_day(source)
        self._processes: dict[int, Task] = {}

    def resource(self, pid: int) -> Attributes:
        task = self._processes[pid]
        return {
            "service.name": task.process or task.name,
            "process.pid": pid,
            "process.command_line": task.process,
            "funcgraph.clock": self._source.trace.clock,
            "funcgraph.clock_offset_ns": self._offset_ns,
        }

    def __iter__(self) -> Iterator[tuple[Task, Span]]:
        for batch, slices in slices_of(self._source, self._threads):
            for task in self._threads.tasks:
                self._processes.setdefault(task.pid, task)
            yield from self._of_batch(batch, slices)

    def _of_batch(self, batch: Columns | None, slices: Slices) -> Iterator[tuple[Task, Span]]:
        marks = iter(marks_of(self._source, batch) if batch is not None else ())
        mark = next(marks, None)
        threads = self._threads.of(batch.tasks)[0] if batch is not None else []
        for place, (time, what) in enumerate(zip(slices.time_ns.tolist(), slices.what.tolist(), strict=True)):
            while mark is not None and mark.time_ns < time:
                self._add_mark(threads[mark.task], mark)
                mark = next(marks, None)
            task = self._threads.tasks[slices.thread[place]]
            if what <= RESUME:
                self._begin(slices, place, task)
            elif (span := self._end(batch, slices, place, task)) is not None:
                yield task, span
        while mark is not None:
            self._add_mark(threads[mark.task], mark)
            mark = next(marks, None)

    def _begin(self, slices: Slices, place: int, task: Task) -> None:
        stack = self._stacks[slices.thread[place]]
        parked = self._parked.pop(_key(slices, place, task), None) if slices.what[place] == RESUME else None
        stack.append(parked or self._new(stack))

    def _end(self, batch: Columns | None, slices: Slices, place: int, task: Task) -> Span | None:
        """End a stretch. Return the span, unless the call goes on."""
        what, key = slices.what[place], _key(slices, place, task)
        stack = self._stacks[slices.thread[place]]
        if what == SUSPENDED:
            span = self._parked.pop(key, None) or self._new([])
        elif slices.flags[place] & ONLY_END:
            span = self._parked.pop(key, None) or self._new(stack)
        else:
            span = stack.pop()
        if what == SUSPEND:
            self._parked[key] = span
            return None
        self._fill(span, batch, slices, place, task)
        return span

    def _new(self, stack: list[Span]) -> Span:
        """Return a span below the one that is in progress; without one it begins a trace."""
        self._count += 1
        seed = f"{self._source.trace.path}:{self._offset_ns}:{self._count}".encode("utf-8", "backslashreplace")
        span_id = blake2b(seed, digest_size=8).digest()
        if stack:
            return Span(stack[-1].trace_id, span_id, stack[-1].span_id)
        return Span(blake2b(seed, digest_size=16).digest(), span_id, b"")

    def _add_mark(self, thread: int, mark: Mark) -> None:
        if stack := self._stacks[thread]:
            stack[-1].events.append((mark.time_ns + self._offset_ns, escaped(mark.name), mark.values))

    def _fill(self, span: Span, batch: Columns | None, slices: Slices, place: int, task: Task) -> None:
        index, what = slices.function[place], slices.what[place]
        functions = self._source.functions
        function = functions[index] if index < len(functions) else None
        span.name = escaped(function.name) if function else "<unknown>"
        span.begin_ns = slices.call_ns[place] + self._offset_ns
        span.end_ns = slices.time_ns[place] + self._offset_ns
        span.attributes = {**_code(function), "thread.id": task.tid, "thread.name": escaped(task.name)}
        if instance := instance_of(self._source, task):
            span.attributes["funcgraph.instance"] = instance
        span.attributes |= {"funcgraph.self_ns": slices.self_ns[place], "funcgraph.ended": WHATS[what]}
        if slices.resumes[place]:
            span.attributes["funcgraph.resumes"] = slices.resumes[place]
        begin, end = slices.data_offsets[place : place + 2]
        for name, value in arguments_of(function, bytes(slices.data[begin:end])).items():
            span.attributes[f"funcgraph.argument.{escaped(name)}"] = value
        self._add_outcome(span, what, _outcome(batch, slices.event[place]))

    def _add_outcome(self, span: Span, what: int, payload: bytes) -> None:
        if what == RAISE:
            span.error = escaped(exception_of(payload) or "exception")
            span.events.append((span.end_ns, "exception", {"exception.type": span.error}))
        elif payload and what in (RETURN, CLOSE):
            span.attributes["funcgraph.result"] = result_of(payload)


def _key(slices: Slices, place: int, task: Task) -> tuple[int, int, int]:
    return slices.call_ns[place], slices.function[place], task.pid


def _outcome(batch: Columns | None, event: int) -> bytes:
    if batch is None or event >= len(batch):
        return b""
    return bytes(batch.data[batch.data_offsets[event] : batch.data_offsets[event + 1]])


def _code(function: Function | None) -> dict[str, Plain]:
    if function is None:
        return {}
    code: dict[str, Plain] = {"code.function.name": escaped(function.name)}
    if function.file:
        code["code.file.path"] = escaped(function.file)
    if function.line and not function.flags & NATIVE:
        code["code.line.number"] = function.line
    return code


def _time_of_day(source: Source) -> int:
    """Return what to add to times of the trace. It has no time of day: its last event gets that of its file."""
    path = source.trace.path
    changed = os.stat(path).st_mtime_ns
    last = max((task.last_ns for task in source.trace.tasks), default=0)
    return changed - last


# ---- the two forms


def _json_line(resource: Attributes, spans: Iterable[Span]) -> str:
    scope = {"scope": {"name": _SCOPE}, "spans": [_json_span(span) for span in spans]}
    line = {"resourceSpans": [{"resource": {"attributes": _json_attributes(resource)}, "scopeSpans": [scope]}]}
    return json_text(line) + "\n"


def _json_span(span: Span) -> dict[str, object]:
    """Return a span as JSON: ids in base 16, numbers of 64 bits as texts."""
    shown: dict[str, object] = {
        "traceId": span.trace_id.hex(),
        "spanId": span.span_id.hex(),
        "parentSpanId": span.parent_id.hex(),
        "name": span.name,
        "kind": _INTERNAL,
        "startTimeUnixNano": str(span.begin_ns),
        "endTimeUnixNano": str(span.end_ns),
        "attributes": _json_attributes(span.attributes),
    }
    if span.events:
        shown["events"] = [
            {"timeUnixNano": str(time), "name": name, "attributes": _json_attributes(values)}
            for time, name, values in span.events
        ]
    if span.error is not None:
        shown["status"] = {"code": _ERROR, "message": span.error}
    return shown


def _json_attributes(values: Attributes) -> list[dict[str, object]]:
    return [{"key": name, "value": _json_value(value)} for name, value in values.items()]


def _json_value(value: Plain) -> dict[str, object]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)} if -(2**63) <= value < 2**63 else {"stringValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {} if value is None else {"stringValue": value}


def _message(resource: Attributes, spans: Iterable[Span]) -> bytes:
    scope = pb.message(2, pb.message(1, pb.string(1, _SCOPE)), *(pb.message(2, _span(span)) for span in spans))
    return pb.message(1, pb.message(1, _attributes(1, resource)), scope)


def _span(span: Span) -> bytes:
    parts = [
        pb.message(1, span.trace_id),
        pb.message(2, span.span_id),
        pb.message(4, span.parent_id),
        pb.string(5, span.name),
        pb.uint(6, _INTERNAL),
        pb.fixed64(7, span.begin_ns),
        pb.fixed64(8, span.end_ns),
        _attributes(9, span.attributes),
    ]
    for time, name, values in span.events:
        parts.append(pb.message(11, pb.fixed64(1, time), pb.string(2, name), _attributes(3, values)))
    if span.error is not None:
        parts.append(pb.message(15, pb.string(2, span.error), pb.uint(3, _ERROR)))
    return b"".join(parts)


def _attributes(number: int, values: Attributes) -> bytes:
    return b"".join(
        pb.message(number, pb.string(1, name), pb.message(2, _value(value))) for name, value in values.items()
    )


def _value(value: Plain) -> bytes:
    """Return the field of an AnyValue; none for None."""
    if isinstance(value, bool):
        return pb.uint(2, value)
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return pb.uint(3, value)
    if isinstance(value, float):
        return pb.double(4, value)
    return b"" if value is None else pb.string(1, str(value))


_LACKS = "it wants the time of day, which a trace lacks: the last event gets that of the file; and it has no suspends"

FORMATS = (
    Format("otlp", (".otlp.jsonl",), "spans for OpenTelemetry, in JSON lines; choose functions with -l", _LACKS, write_json, is_text=True),
    Format("otlp-proto", (".otlp.pb",), "the same spans, as a message of Protocol Buffers", _LACKS, write_protobuf),
)
