"""Events of a trace: as columns, and one object for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, repeat
from struct import iter_unpack
from types import MappingProxyType
from typing import ClassVar, Literal, NamedTuple, TypeAlias, cast

from funcgraph import _tracedata
from funcgraph.tracedata.description import EventType, Function, Task
from funcgraph.tracedata.values import FieldValue, PartialValue, Value, decode_field, decode_values

EventKind: TypeAlias = Literal[
    "entry",
    "resume",
    "return",
    "raise",
    "suspend",
    "close",
    "function",
    "wait",
    "overrun",
    "mark",
    "stack",
    "repeats",
    "other",
    "event",
]

_KINDS = cast(tuple[EventKind, ...], _tracedata.KINDS)  # FG_COLUMN_KINDS is their table
_STACK = _KINDS.index("stack")
_EVENT = _KINDS.index("event")
_NO_FIELDS: Mapping[str, FieldValue] = MappingProxyType({})
_FUNC_BASE, _FUNC_STEP = 0x10000000, 16  # FG_FUNC_ADDRESS_BASE, ..._STEP
LOST_UNKNOWN = 2**64 - 1


class Event(NamedTuple):
    """An event of a trace.

    Its kind is

    - `entry`: a call began; `resume`: a suspended call of a generator or coroutine goes on;
    - `return`, `raise`: a call ended, with a result or by an exception; `suspend`: it gave way; `close`: a
      suspended call was closed, cancelled or collected;
    - `function`: a call, as the function tracer records it; `repeats`: the call before it came `number` more
      times; `stack`: what the call before it was made from;
    - `mark`: a text that the program put in;
    - `wait`: the task waited `number` ns for the recorder; `overrun`: `number` calls of the task were not
      traced so far because its shadow stack was full;
    - `event`: an event that the program or its user defined: `type` says which, `fields` has its values;
    - `other`: an event that a later version of funcgraph recorded; of a kernel's trace: any event but those
      of the function tracers. `Trace.formats` tells what it is.

    Attributes:
        time_ns: when, on the trace's clock. The clock `counter` has the event's number here, `x86-tsc` ticks,
            and `uptime` jiffies. All other times are nanoseconds, whatever the clock.
        kind: what happened.
        function: the function; None if the trace does not name it, or if the event has none. Of `event`: at
            which it was hit.
        task: the thread.
        depth: how many traced calls the call was made from, in its thread.
        start_ns: of calls that were suspended: when the call first began. Else None.
        calltime_ns: of a call that ended or was suspended: when it began or was last resumed, moved on by the
            time that it waited for the recorder. Else None.
        rettime_ns: of these: when. Else None.
        caller: the function that made the call, if that was recorded. Of `event`: the caller of a function
            that returned.
        caller_line: the line at which it did (of native code: the offset after the call), or 0.
        irq: whether the interpreter made the call to handle a signal.
        lost: how many records of the task were lost just before this one; None: some, but nobody knows how
            many.
        number: what `wait`, `overrun` and `repeats` count; of `event`: the place of its type in the trace's
            `event_types`; of `other` in a kernel's trace: the event's id; else 0.
        payload: recorded values, text, fields or a kernel's record, not decoded.
        stack: of `stack`: the callers, the nearest first.
        type: of `event`: its system, name and fields. Else None.
        fields: of `event`: the value of each field by name; of an array a tuple. A `bool` field has a bool,
            `char` a str of one character, `symbol` the name of a function or None. A value that could not be
            read is a `PartialValue` of the kind `unbound`, and a string "(fault)". Of other events: empty.
    """

    time_ns: int
    kind: EventKind
    function: Function | None
    task: Task
    depth: int
    start_ns: int | None
    calltime_ns: int | None
    rettime_ns: int | None
    caller: Function | None
    caller_line: int
    irq: bool
    lost: int | None
    number: int
    payload: bytes
    stack: tuple[Function | None, ...]
    type: EventType | None = None
    fields: Mapping[str, FieldValue] = _NO_FIELDS

    @property
    def duration_ns(self) -> int | None:
        """How long the call ran since it began or was last resumed; None if the event does not end that."""
        if self.calltime_ns is None or self.rettime_ns is None:
            return None
        return max(self.rettime_ns - self.calltime_ns, 0)

    @property
    def values(self) -> tuple[Value, ...]:
        """The recorded values: arguments, or one result or exception. Empty if none were recorded."""
        return () if self.kind in ("mark", "stack", "event") else decode_values(self.payload)

    @property
    def arguments(self) -> dict[str, Value]:
        """The recorded arguments of an entry, by name; see `name_arguments`."""
        return name_arguments(self.function, self.values) if self.kind in ("entry", "function") else {}

    @property
    def result(self) -> Value:
        """What the call returned or yielded. None too if that was not recorded: `values` is empty then."""
        return next(iter(self.values), None) if self.kind in ("return", "suspend") else None

    @property
    def exception(self) -> str | None:
        """The name of the type of the exception that ended the call; None if there was none or no record."""
        return exception_name(self.values) if self.kind == "raise" else None

    @property
    def text(self) -> str | None:
        """The text of a mark."""
        return self.payload.decode("utf-8", "backslashreplace") if self.kind == "mark" else None


def name_arguments(function: Function | None, values: Sequence[Value]) -> dict[str, Value]:
    """Return values by the names of the function's arguments.

    Values without a name have the keys `arg0`, `arg1`, ... by position. Arguments for which there was no room
    have no key.
    """
    names = function.arguments if function else ()
    arguments: dict[str, Value] = {}
    for place, value in enumerate(values):
        if isinstance(value, PartialValue) and value.kind == "more":
            break
        arguments[names[place] if place < len(names) else f"arg{place}"] = value
    return arguments


def exception_name(values: Sequence[Value]) -> str | None:
    """Return the name of an exception's type, of the values of the record that has it."""
    if not values:
        return None
    value = values[0]
    return value.type_name if isinstance(value, PartialValue) and value.type_name else str(value)


class Columns:
    """A batch of events: an array for each of their properties.

    The arrays are read-only memoryviews of one dimension. numpy.asarray(), memoryview() and
    pyarrow.py_buffer() take them without a copy. Each owns its memory: it may outlive the batch and the
    trace. Item i of each is of event i. `Event` explains them; here is what differs.

    Attributes:
        time_ns: uint64 (format "Q").
        start_ns, calltime_ns, rettime_ns: uint64; 0 for None.
        lost: uint64; LOST_UNKNOWN for None.
        number: uint64.
        function: uint32 (format "I"): index in the trace's `functions`; any other number for None.
        caller: uint32, likewise.
        caller_line: uint32.
        task: uint32: index in `tasks`.
        depth: uint32.
        kind: uint8 (format "B"): index in `KINDS`.
        irq: bool (format "?").
        data_offsets: int32 (format "i"), one item more than there are events: where the payload of event i
            begins in `data`, and where it ends. That is how Apache Arrow stores binary data.
        data: uint8. `decode_values` decodes the values of one event.
        tasks: the trace's `tasks`, and then those that the trace's description lacks.
    """

    KINDS: ClassVar[tuple[EventKind, ...]] = _KINDS
    "The kinds of events."
    LOST_UNKNOWN: ClassVar[int] = LOST_UNKNOWN
    "Some were lost, but nobody knows how many."

    __slots__ = (*_tracedata.COLUMNS, "tasks")

    time_ns: memoryview[int]
    start_ns: memoryview[int]
    calltime_ns: memoryview[int]
    rettime_ns: memoryview[int]
    lost: memoryview[int]
    number: memoryview[int]
    function: memoryview[int]
    caller: memoryview[int]
    caller_line: memoryview[int]
    task: memoryview[int]
    depth: memoryview[int]
    kind: memoryview[int]
    irq: memoryview[bool]
    data_offsets: memoryview[int]
    data: memoryview[int]
    tasks: Sequence[Task]

    def __len__(self) -> int:
        return len(self.time_ns)

    def __repr__(self) -> str:
        return f"<Columns of {len(self)} events>"

    def payloads(self) -> Iterator[bytes]:
        """Return an iterator over the payload of each event."""
        if not len(self.data):
            return repeat(b"", len(self))
        data = self.data.tobytes()
        return (data[begin:end] for begin, end in pairwise(self.data_offsets.tolist()))


def columns_of(columns: _tracedata.ColumnTuple, tasks: Sequence[Task]) -> Columns:
    """Make a batch of what a reader returned."""
    batch = Columns()
    for name, column in zip(_tracedata.COLUMNS, columns, strict=True):
        setattr(batch, name, column)
    batch.tasks = tasks
    return batch


def events_of(
    batch: Columns, functions: Sequence[Function], event_types: Sequence[EventType]
) -> Iterator[Event]:
    """Return an iterator over the events of a batch."""
    count, tasks = len(functions), batch.tasks
    kinds = batch.kind.tolist()
    stacks: Iterator[tuple[Function | None, ...]] = repeat(())
    if _STACK in kinds:
        stacks = (
            _stack_of(payload, functions) if kind == _STACK else ()
            for kind, payload in zip(kinds, batch.payloads(), strict=True)
        )
    types: Iterator[EventType | None] = repeat(None)
    fields: Iterator[Mapping[str, FieldValue]] = repeat(_NO_FIELDS)
    if _EVENT in kinds:
        found = [
            event_types[number] if kind == _EVENT else None
            for kind, number in zip(kinds, batch.number.tolist(), strict=True)
        ]
        types = iter(found)
        fields = (
            _fields_of(payload, kind, functions) if kind else _NO_FIELDS
            for kind, payload in zip(found, batch.payloads(), strict=True)
        )
    return map(
        Event,
        batch.time_ns.tolist(),
        map(_KINDS.__getitem__, kinds),
        [functions[i] if i < count else None for i in batch.function.tolist()],
        map(tasks.__getitem__, batch.task.tolist()),
        batch.depth.tolist(),
        [time or None for time in batch.start_ns.tolist()],
        [time or None for time in batch.calltime_ns.tolist()],
        [time or None for time in batch.rettime_ns.tolist()],
        [functions[i] if i < count else None for i in batch.caller.tolist()],
        batch.caller_line.tolist(),
        batch.irq.tolist(),
        [None if lost == LOST_UNKNOWN else lost for lost in batch.lost.tolist()],
        batch.number.tolist(),
        batch.payloads(),
        stacks,
        types,
        fields,
    )


def _fields_of(payload: bytes, kind: EventType, functions: Sequence[Function]) -> Mapping[str, FieldValue]:
    def name_of(address: int) -> str | None:
        index, odd = divmod(address - _FUNC_BASE, _FUNC_STEP)
        return functions[index].name if not odd and 0 <= index < len(functions) else None

    return {field.name: decode_field(payload, field, name_of) for field in kind.fields}


def _stack_of(payload: bytes, functions: Sequence[Function]) -> tuple[Function | None, ...]:
    indexes = [index for (index,) in iter_unpack("<I", payload)]
    return tuple(functions[i] if i < len(functions) else None for i in indexes)
