"""The two forms of OpenTelemetry's protocol: JSON, and messages of Protocol Buffers.

opentelemetry-proto's trace.proto, common.proto and resource.proto have the messages and the numbers of their
fields. What spans have in common is made once: of each function, each thread, each way to end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, repeat
from struct import pack
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from funcgraph.export import protobuf as pb
from funcgraph.export.call_rows import Made, arguments_at
from funcgraph.export.json_text import json_text
from funcgraph.export.marks import Mark
from funcgraph.export.slices import CLOSE, RAISE, RETURN, WHATS
from funcgraph.export.source import Source
from funcgraph.export.values import Plain, escaped, exception_of, result_of
from funcgraph.tracedata.description import NATIVE, Function
from funcgraph.tracedata.threads import Threads

_INTERNAL = 1  # Span.SPAN_KIND_INTERNAL
_ERROR = 2  # Status.STATUS_CODE_ERROR
_SCOPE = "funcgraph"

Attributes: TypeAlias = Mapping[str, Plain]
T = TypeVar("T", str, bytes)


class Ended(NamedTuple):
    """What some calls have at their end; the time is that of the trace."""

    end_ns: int
    function: int
    what: int
    resumes: int
    arguments: bytes
    outcome: bytes


class Rows(NamedTuple, Generic[T]):
    """Spans: of each property a list, with an item for each span.

    Attributes:
        id, above, root: the numbers of the span, of that above it (0: none), and of the first of its trace.
        begin_ns, end_ns: the time of day.
        self_ns: its self time.
        common: what the form's `common` has.
        attributes, rest: what few have: attributes, and what follows them: events and the status.
    """

    id: list[int]
    above: list[int]
    root: list[int]
    begin_ns: list[int]
    end_ns: list[int]
    self_ns: list[int]
    common: list[T]
    attributes: list[T]
    rest: list[T]

    def __len__(self) -> int:
        return len(self.id)

    def part(self, which: slice) -> Rows[T]:
        """Return some of them."""
        return Rows(*(column[which] for column in self))  # type: ignore[arg-type]


class Form(ABC, Generic[T]):
    """How spans are written.

    Args:
        source, threads: what is exported.
        offset_ns: what to add to times of the trace to get the time of day.
        trace_key: 8 bytes, with which the ids of this file's traces begin.

    Attributes:
        common: `common[function, thread, what]`: what all calls of a function in a thread have that ended so.
        nothing: what `rare` returns of a call that has nothing rare.
    """

    nothing: tuple[T, T]

    def __init__(self, source: Source, threads: Threads, offset_ns: int, trace_key: bytes) -> None:
        self.offset_ns = offset_ns
        self._trace_key = trace_key
        self._source, self._threads = source, threads
        functions = [*source.functions, None]
        self._names: list[T] = [self._name(escaped(f.name) if f else "<unknown>") for f in functions]
        self._codes: list[T] = [self._pairs(_code(function)) for function in functions]
        self._tasks: list[T] = []
        self._ends: list[T] = [self._pairs({"funcgraph.ended": what}) for what in WHATS]
        self.common: Made[tuple[int, int, int], T] = Made(self._common_of)
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
    def spans(self, rows: Rows[T]) -> T:
        """Return spans as a part of a message."""

    @abstractmethod
    def rare(self, call: Ended, marks: Sequence[Mark]) -> tuple[T, T]:
        """Return further attributes, and what follows them: events and the status."""

    @abstractmethod
    def message(self, thread: int, spans: T) -> tuple[bytes, bytes, bytes]:
        """Return spans below what describes the process of a thread, in pieces: the second is the spans."""

    @abstractmethod
    def _common_of(self, function: int, thread: int, what: int) -> T:
        """Return what all calls of a function in a thread have that ended so."""

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

    def spans(self, rows: Rows[str]) -> str:
        # Most of a span is text that is copied: one join of all pieces is quicker than any formatting.
        pieces: tuple[Iterable[str], ...] = (
            repeat(f',{{"traceId":"{self._trace_key.hex()}'), _hex(rows.root),
            repeat('","spanId":"'), _hex(rows.id),
            repeat('","parentSpanId":"'), _hex(rows.above, ""),
            repeat('","startTimeUnixNano":"'), map(str, rows.begin_ns),
            repeat('","endTimeUnixNano":"'), map(str, rows.end_ns),
            repeat('",'), rows.common,
            repeat('{"key":"funcgraph.self_ns","value":{"intValue":"'), map(str, rows.self_ns),
            repeat('"}}'), rows.attributes,
            repeat("]"), rows.rest,
            repeat("}"),
        )  # fmt: skip
        return "".join(chain.from_iterable(zip(*pieces, strict=False)))[1:]

    def _common_of(self, function: int, thread: int, what: int) -> str:
        name, *attributes = self._parts_of(function, thread, what)
        return f'{name},"attributes":[{"".join(attributes)[1:]},'

    def rare(self, call: Ended, marks: Sequence[Mark]) -> tuple[str, str]:
        return "".join(self._attributes_of(call)), self._rest(call, marks)

    def message(self, thread: int, spans: str) -> tuple[bytes, bytes, bytes]:
        resource = self._pairs(self._resource(thread))[1:]
        head = (
            f'{{"resourceSpans":[{{"resource":{{"attributes":[{resource}]}},'
            f'"scopeSpans":[{{"scope":{{"name":"{_SCOPE}"}},"spans":['
        )
        return head.encode(), spans.encode(), b"]}]}]}\n"

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


_NO_ID = "0" * 16


def _hex(numbers: list[int], none: str = _NO_ID) -> list[str]:
    """Return numbers as ids.

    Args:
        numbers: of 64 bits.
        none: what to return of 0.
    """
    texts = array("Q", numbers).tobytes().hex(",", 8).split(",")
    return texts if 0 not in numbers else [none if text == _NO_ID else text for text in texts]


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
    #: trace_id (whose first half all spans have), span_id, start_time, end_time, parent_span_id.
    _HEAD = "10sQ2sQcQcQ2sQ"
    _HEAD_BYTES, _PARENT_BYTES = 56, 10
    #: What stands before the self time, by the bytes that its number takes.
    _SELF_TIME = tuple(_before_number("funcgraph.self_ns", size) for size in range(11))

    def spans(self, rows: Rows[bytes]) -> bytes:
        columns = (
            self._heads(rows), rows.common, map(self._self_time, rows.self_ns), rows.attributes, rows.rest,
        )  # fmt: skip
        contents = list(map(b"".join, zip(*columns, strict=True)))
        return b"".join(chain.from_iterable(zip(map(_length, map(len, contents)), contents, strict=True)))

    def _heads(self, rows: Rows[bytes]) -> Iterator[bytes]:
        """Return what has the same size in all spans: one call of `pack` writes it for all of them."""
        n, key = len(rows), b"\x0a\x10" + self._trace_key
        columns = (
            repeat(key), rows.root, repeat(b"\x12\x08"), rows.id, repeat(b"\x39"), rows.begin_ns,
            repeat(b"\x41"), rows.end_ns, repeat(b"\x22\x08"), rows.above,
        )  # fmt: skip
        data = pack("<" + self._HEAD * n, *chain.from_iterable(zip(*columns, strict=False)))
        size = self._HEAD_BYTES
        for begin, above in zip(range(0, n * size, size), rows.above, strict=True):
            yield data[begin : begin + size] if above else data[begin : begin + size - self._PARENT_BYTES]

    @staticmethod
    @lru_cache(1 << 14)
    def _self_time(self_ns: int) -> bytes:
        number = pb.varint(self_ns)
        return ProtobufForm._SELF_TIME[len(number)] + number

    def rare(self, call: Ended, marks: Sequence[Mark]) -> tuple[bytes, bytes]:
        return b"".join(self._attributes_of(call)), self._rest(call, marks)

    def _common_of(self, function: int, thread: int, what: int) -> bytes:
        return b"".join(self._parts_of(function, thread, what))

    def message(self, thread: int, spans: bytes) -> tuple[bytes, bytes, bytes]:
        resource = pb.message(1, _attributes(1, self._resource(thread)))
        scope = pb.message(1, pb.string(1, _SCOPE))
        scope_spans = pb.head_of_message(2, len(scope) + len(spans)) + scope
        size = len(resource) + len(scope_spans) + len(spans)
        return pb.head_of_message(1, size) + resource + scope_spans, spans, b""

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


@lru_cache(1 << 14)
def _length(size: int) -> bytes:
    """Return what stands before a span of so many bytes."""
    return b"\x12" + pb.varint(size)


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
