"""The two forms of OpenTelemetry's protocol: JSON, and messages of Protocol Buffers.

opentelemetry-proto's trace.proto, common.proto and resource.proto have the messages and the numbers of their
fields. What spans have in common is made once: of each function, each thread, each way to end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from struct import Struct
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from funcgraph.export import protobuf as pb
from funcgraph.export.call_rows import arguments_at
from funcgraph.export.json_text import json_text
from funcgraph.export.marks import Mark
from funcgraph.export.slices import CLOSE, RAISE, RETURN, WHATS, Threads
from funcgraph.export.source import Source
from funcgraph.export.values import Plain, escaped, exception_of, result_of
from funcgraph.tracedata.description import NATIVE, Function

_INTERNAL = 1  # Span.SPAN_KIND_INTERNAL
_ERROR = 2  # Status.STATUS_CODE_ERROR
_SCOPE = "funcgraph"

Attributes: TypeAlias = Mapping[str, Plain]
T = TypeVar("T", str, bytes)


class Ended(NamedTuple):
    """The end of a call; times are those of the trace."""

    begin_ns: int
    end_ns: int
    self_ns: int
    function: int
    thread: int
    what: int
    resumes: int
    arguments: bytes
    outcome: bytes


class Form(ABC, Generic[T]):
    """How spans are written.

    Args:
        source, threads: what is exported.
        offset_ns: what to add to times of the trace to get the time of day.
    """

    def __init__(self, source: Source, threads: Threads, offset_ns: int) -> None:
        self.offset_ns = offset_ns
        self._source, self._threads = source, threads
        functions = [*source.functions, None]
        self._names: list[T] = [self._name(escaped(f.name) if f else "<unknown>") for f in functions]
        self._codes: list[T] = [self._pairs(_code(function)) for function in functions]
        self._tasks: list[T] = []
        self._ends: list[T] = [self._pairs({"funcgraph.ended": what}) for what in WHATS]
        self._arguments: Callable[[int, bytes], T] = lru_cache(4096)(self._encode_arguments)
        self._outcome: Callable[[int, bytes], T] = lru_cache(4096)(self._encode_outcome)

    def name_threads(self) -> None:
        """Take in threads that are new."""
        for task in self._threads.tasks[len(self._tasks) :]:
            values: dict[str, Plain] = {"thread.id": task.tid, "thread.name": escaped(task.name)}
            if instance := self._source.trace.buffers[task.buffer].name:
                values["funcgraph.instance"] = escaped(instance)
            self._tasks.append(self._pairs(values))

    @abstractmethod
    def span(self, trace_id: int, span_id: int, parent_id: int, call: Ended, events: Sequence[Mark]) -> bytes:
        """Return a span."""

    @abstractmethod
    def message(self, thread: int, spans: Sequence[bytes]) -> bytes:
        """Return spans below what describes the process of a thread."""

    @abstractmethod
    def _pairs(self, values: Attributes) -> T:
        """Return attributes, so that those of several calls can be put one after the other."""

    @abstractmethod
    def _name(self, name: str) -> T:
        """Return the part of a span that its name decides."""

    def _place(self, function: int) -> int:
        return min(function, len(self._names) - 1)

    def _encode_arguments(self, function: int, payload: bytes) -> T:
        values = arguments_at(self._source, function, payload)
        return self._pairs({f"funcgraph.argument.{escaped(name)}": value for name, value in values.items()})

    def _encode_outcome(self, what: int, payload: bytes) -> T:
        return self._pairs({"funcgraph.result": result_of(payload)} if what in (RETURN, CLOSE) else {})

    def _resource(self, thread: int) -> Attributes:
        task = self._threads.tasks[thread]
        return {
            "service.name": escaped(task.process or task.name),
            "process.pid": task.pid,
            "process.command_line": escaped(task.process),
            "funcgraph.clock": self._source.trace.clock,
            "funcgraph.clock_offset_ns": self.offset_ns,
        }

    def _events_of(self, call: Ended, marks: Iterable[Mark]) -> list[tuple[int, str, Attributes]]:
        events: list[tuple[int, str, Attributes]] = [
            (mark.time_ns + self.offset_ns, escaped(mark.name), mark.values) for mark in marks
        ]
        if call.what == RAISE:
            events.append((call.end_ns + self.offset_ns, "exception", {"exception.type": error_of(call)}))
        return events


def error_of(call: Ended) -> str:
    """Return the type of the exception that ended a call."""
    return escaped((exception_of(call.outcome) if call.outcome else None) or "exception")


def _code(function: Function | None) -> Attributes:
    if function is None:
        return {}
    code: dict[str, Plain] = {"code.function.name": escaped(function.name)}
    if function.file:
        code["code.file.path"] = escaped(function.file)
    if function.line and not function.flags & NATIVE:
        code["code.line.number"] = function.line
    return code


class JsonForm(Form[str]):
    """JSON: ids in base 16, numbers of 64 bits as texts."""

    def span(self, trace_id: int, span_id: int, parent_id: int, call: Ended, events: Sequence[Mark]) -> bytes:
        begin, end, own, function, thread, what, resumes, arguments, outcome = call
        place, offset = self._place(function), self.offset_ns
        parent = f"{parent_id:016x}" if parent_id else ""
        rare = self._pairs({"funcgraph.resumes": resumes}) if resumes else ""
        if arguments:
            rare += self._arguments(function, arguments)
        if outcome:
            rare += self._outcome(what, outcome)
        return (
            f'{{"traceId":"{trace_id:032x}","spanId":"{span_id:016x}","parentSpanId":"{parent}",'
            f'{self._names[place]},"startTimeUnixNano":"{begin + offset}","endTimeUnixNano":"{end + offset}",'
            f'"attributes":[{{"key":"funcgraph.self_ns","value":{{"intValue":"{own}"}}}}{self._codes[place]}'
            f"{self._tasks[thread]}{self._ends[what]}{rare}]"
            f"{self._rest(call, events) if events or what == RAISE else ''}}}"
        ).encode()

    def message(self, thread: int, spans: Sequence[bytes]) -> bytes:
        resource = self._pairs(self._resource(thread))[1:].encode()
        return (
            b'{"resourceSpans":[{"resource":{"attributes":[%b]},'
            b'"scopeSpans":[{"scope":{"name":"%b"},"spans":[%b]}]}]}\n'
            % (resource, _SCOPE.encode(), b",".join(spans))
        )

    def _name(self, name: str) -> str:
        return f'"name":{json_text(name)},"kind":{_INTERNAL}'

    def _pairs(self, values: Attributes) -> str:
        pairs = [{"key": name, "value": _json_value(value)} for name, value in values.items()]
        return "".join("," + json_text(pair) for pair in pairs)

    def _rest(self, call: Ended, marks: Sequence[Mark]) -> str:
        events = ",".join(
            f'{{"timeUnixNano":"{time}","name":{json_text(name)},"attributes":[{self._pairs(values)[1:]}]}}'
            for time, name, values in self._events_of(call, marks)
        )
        text = f',"events":[{events}]' if events else ""
        if call.what == RAISE:
            text += f',"status":{{"code":{_ERROR},"message":{json_text(error_of(call))}}}'
        return text


def _json_value(value: Plain) -> dict[str, object]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)} if -(2**63) <= value < 2**63 else {"stringValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {} if value is None else {"stringValue": value}


class ProtobufForm(Form[bytes]):
    """Messages of Protocol Buffers; a span's fields may come in any order."""

    _IDS = Struct(">BB16sBBQ")  # trace_id, span_id: fields 1 and 2
    _PARENT = Struct(">BBQ")
    _TIMES = Struct("<BQBQ")
    _SELF = pb.string(1, "funcgraph.self_ns")

    def span(self, trace_id: int, span_id: int, parent_id: int, call: Ended, events: Sequence[Mark]) -> bytes:
        begin, end, own, function, thread, what, resumes, arguments, outcome = call
        place, offset = self._place(function), self.offset_ns
        parts = [
            self._IDS.pack(0x0A, 16, trace_id.to_bytes(16), 0x12, 8, span_id),
            self._PARENT.pack(0x22, 8, parent_id) if parent_id else b"",
            self._names[place],
            self._TIMES.pack(0x39, begin + offset, 0x41, end + offset),
            pb.message(9, self._SELF, pb.message(2, pb.uint(3, own))),
            self._codes[place],
            self._tasks[thread],
            self._ends[what],
        ]
        if resumes:
            parts.append(self._pairs({"funcgraph.resumes": resumes}))
        if arguments:
            parts.append(self._arguments(function, arguments))
        if outcome:
            parts.append(self._outcome(what, outcome))
        if events or what == RAISE:
            parts.append(self._rest(call, events))
        return pb.message(2, *parts)

    def message(self, thread: int, spans: Sequence[bytes]) -> bytes:
        resource = pb.message(1, _attributes(1, self._resource(thread)))
        return pb.message(1, resource, pb.message(2, pb.message(1, pb.string(1, _SCOPE)), *spans))

    def _name(self, name: str) -> bytes:
        return pb.string(5, name) + pb.uint(6, _INTERNAL)

    def _pairs(self, values: Attributes) -> bytes:
        return _attributes(9, values)

    def _rest(self, call: Ended, marks: Sequence[Mark]) -> bytes:
        parts = [
            pb.message(11, pb.fixed64(1, time), pb.string(2, name), _attributes(3, values))
            for time, name, values in self._events_of(call, marks)
        ]
        if call.what == RAISE:
            parts.append(pb.message(15, pb.string(2, error_of(call)), pb.uint(3, _ERROR)))
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
