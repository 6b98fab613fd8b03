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
V = TypeVar("V")


class Ended(NamedTuple):
    """What some calls have at their end; the time is that of the trace."""

    end_ns: int
    function: int
    what: int
    resumes: int
    arguments: bytes
    outcome: bytes


class _Common(dict[tuple[int, int, int], V]):
    """Values that are made when they are first asked for."""

    def __init__(self, make: Callable[[int, int, int], V]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: tuple[int, int, int]) -> V:
        value = self[key] = self._make(*key)
        return value


class Form(ABC, Generic[T]):
    """How spans are written.

    Args:
        source, threads: what is exported.
        offset_ns: what to add to times of the trace to get the time of day.

    Attributes:
        common: `common[function, thread, what]`: what all calls of a function in a thread have that ended so.
        nothing: what `rare` returns of a call that has nothing rare.
        no_id: the id of no span.
    """

    nothing: tuple[T, T]
    no_id: T

    def __init__(self, source: Source, threads: Threads, offset_ns: int) -> None:
        self.offset_ns = offset_ns
        self._source, self._threads = source, threads
        functions = [*source.functions, None]
        self._names: list[T] = [self._name(escaped(f.name) if f else "<unknown>") for f in functions]
        self._codes: list[T] = [self._pairs(_code(function)) for function in functions]
        self._tasks: list[T] = []
        self._ends: list[T] = [self._pairs({"funcgraph.ended": what}) for what in WHATS]
        self.common: Mapping[tuple[int, int, int], T] = _Common(self._common_of)
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
    def trace_id(self, number: int) -> T:
        """Return the id of a trace: a number of 128 bits."""

    @abstractmethod
    def span_id(self, number: int) -> T:
        """Return the id of a span: a number of 64 bits."""

    @abstractmethod
    def span(
        self, ids: tuple[T, T, T], begin_ns: int, end_ns: int, self_ns: int, common: T, rare: tuple[T, T]
    ) -> T:
        """Return a span.

        Args:
            ids: of its trace, of itself, and of the span above it.
            begin_ns, end_ns: times of the trace.
            self_ns: its self time.
            common: as the attribute says.
            rare: what `rare` returned.
        """

    @abstractmethod
    def rare(self, call: Ended, marks: Sequence[Mark]) -> tuple[T, T]:
        """Return further attributes, and what follows them: events and the status."""

    @abstractmethod
    def message(self, thread: int, spans: Sequence[T]) -> bytes:
        """Return spans below what describes the process of a thread."""

    @abstractmethod
    def _common_of(self, function: int, thread: int, what: int) -> T: ...

    @abstractmethod
    def _pairs(self, values: Attributes) -> T:
        """Return attributes, so that those of several calls can be put one after the other."""

    @abstractmethod
    def _name(self, name: str) -> T:
        """Return the part of a span that its name decides."""

    def _parts_of(self, function: int, thread: int, what: int) -> tuple[T, T, T, T]:
        place = min(function, len(self._names) - 1)
        return self._names[place], self._codes[place], self._tasks[thread], self._ends[what]

    def _attributes_of(self, call: Ended) -> list[T]:
        parts = []
        if call.resumes:
            parts.append(self._pairs({"funcgraph.resumes": call.resumes}))
        if call.arguments:
            parts.append(self._arguments(call.function, call.arguments))
        if call.outcome:
            parts.append(self._outcome(call.what, call.outcome))
        return parts

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

    nothing = "", ""
    no_id = ""

    def trace_id(self, number: int) -> str:
        return f"{number:032x}"

    def span_id(self, number: int) -> str:
        return f"{number:016x}"

    def span(
        self,
        ids: tuple[str, str, str],
        begin_ns: int,
        end_ns: int,
        self_ns: int,
        common: str,
        rare: tuple[str, str],
    ) -> str:
        offset = self.offset_ns
        attributes, rest = rare
        trace, own, above = ids
        return (
            f'{{"traceId":"{trace}","spanId":"{own}","parentSpanId":"{above}",'
            f'"startTimeUnixNano":"{begin_ns + offset}","endTimeUnixNano":"{end_ns + offset}",'
            f'{common}{{"key":"funcgraph.self_ns","value":{{"intValue":"{self_ns}"}}}}{attributes}]{rest}}}'
        )

    def _common_of(self, function: int, thread: int, what: int) -> str:
        name, *attributes = self._parts_of(function, thread, what)
        return f'{name},"attributes":[{"".join(attributes)[1:]},'

    def rare(self, call: Ended, marks: Sequence[Mark]) -> tuple[str, str]:
        return "".join(self._attributes_of(call)), self._rest(call, marks)

    def message(self, thread: int, spans: Sequence[str]) -> bytes:
        resource = self._pairs(self._resource(thread))[1:]
        return (
            f'{{"resourceSpans":[{{"resource":{{"attributes":[{resource}]}},'
            f'"scopeSpans":[{{"scope":{{"name":"{_SCOPE}"}},"spans":[{",".join(spans)}]}}]}}]}}\n'
        ).encode()

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


def _before_number(key: str, size: int) -> bytes:
    """Return an attribute of a span up to its number, which takes `size` bytes."""
    number = pb.uint(3, 0)[:1] + bytes(size)
    whole = pb.message(9, pb.string(1, key), pb.message(2, number))
    return whole[: len(whole) - size]


class ProtobufForm(Form[bytes]):
    """Messages of Protocol Buffers; a span's fields may come in any order."""

    nothing = b"", b""
    no_id = b""
    _TIMES = Struct("<BQBQ")
    #: What stands before the self time, by the bytes that its number takes.
    _SELF_TIME = tuple(_before_number("funcgraph.self_ns", size) for size in range(11))

    def trace_id(self, number: int) -> bytes:
        return pb.message(1, number.to_bytes(16, "big"))

    def span_id(self, number: int) -> bytes:
        return number.to_bytes(8, "big")

    def span(
        self,
        ids: tuple[bytes, bytes, bytes],
        begin_ns: int,
        end_ns: int,
        self_ns: int,
        common: bytes,
        rare: tuple[bytes, bytes],
    ) -> bytes:
        trace, own, above = ids
        times = self._TIMES.pack(0x39, begin_ns + self.offset_ns, 0x41, end_ns + self.offset_ns)
        own_time = pb.varint(self_ns)
        attributes, rest = rare
        content = b"".join((
            trace, b"\x12\x08", own, b"\x22\x08" if above else b"", above, times, common,
            self._SELF_TIME[len(own_time)], own_time, attributes, rest,
        ))  # fmt: skip
        return b"\x12" + pb.varint(len(content)) + content

    def rare(self, call: Ended, marks: Sequence[Mark]) -> tuple[bytes, bytes]:
        return b"".join(self._attributes_of(call)), self._rest(call, marks)

    def _common_of(self, function: int, thread: int, what: int) -> bytes:
        return b"".join(self._parts_of(function, thread, what))

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
