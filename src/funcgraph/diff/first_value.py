"""Where two runs that make the same calls first have other arguments or another result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import compress, pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from funcgraph.tracedata.description import Function
from funcgraph.tracedata.events import Columns, exception_name, name_arguments
from funcgraph.tracedata.values import PartialValue, Value, decode_values

if TYPE_CHECKING:
    from funcgraph.tracedata.opened import Trace
    from funcgraph.tracedata.selection import Selection

__all__ = ["ValueDifference", "first_value"]

#: What is compared of a moment: kind, number of the function's name, depth, payload. Equal rows of two runs
#: need no other look.
_Row: TypeAlias = tuple[int, int, int, bytes]
#: A value without what differs from run to run.
Lasting: TypeAlias = tuple[object, object]

_ENTRY = Columns.KINDS.index("entry")
_ENDS = [Columns.KINDS.index(name) for name in ("return", "raise", "suspend", "close")]
_RETURN, _RAISE, _SUSPEND, _ = _ENDS

ValueKind: TypeAlias = Literal["arguments", "result"]


class ValueDifference(NamedTuple):
    """Where values differ.

    Attributes:
        kind: of what.
        calls: how many calls both made before; of a result with the one that ended.
        a, b: the call in each, as (depth, text with its values, time in ns).
    """

    kind: ValueKind
    calls: int
    a: tuple[int, str, int]
    b: tuple[int, str, int]


class _Moment(NamedTuple):
    """The begin of a call, or the end of a stretch of it."""

    kind: int
    function: Function | None
    depth: int
    time_ns: int
    payload: bytes

    @property
    def name(self) -> str:
        return self.function.name if self.function else "<unknown>"

    def values(self) -> tuple[Lasting, ...]:
        """Return the values, as they are in every run: an object's address is not."""
        return tuple(map(_lasting, decode_values(self.payload)))

    def text(self) -> str:
        values = decode_values(self.payload)
        if self.kind == _ENTRY:
            named = name_arguments(self.function, values)
            return f"{self.name}({', '.join(f'{name}={_shown(value)}' for name, value in named.items())})"
        if self.kind == _RAISE:
            return f"{self.name}() raises {exception_name(values) or 'an exception'}"
        if not values:
            return f"{self.name}() {'is closed' if self.kind not in (_RETURN, _SUSPEND) else 'returns'}"
        return f"{self.name}() {'returns' if self.kind == _RETURN else 'yields'} {_shown(values[0])}"


def first_value(
    a: Trace, b: Trace, calls: int, select: Selection | None = None, select_b: Selection | None = None
) -> ValueDifference | None:
    """Compare the recorded values of the calls that two runs have in common, and how these calls end.

    Values that only one of them recorded are not compared.

    Args:
        calls: how many calls these are.
        select, select_b: what is compared of each, as of `first_difference`.

    Raises:
        TraceError, OSError: as `Trace.columns`.
    """
    count = 0
    from_first = select_b is not None
    names: dict[str, int] = {}
    one, other = (
        _Moments(trace, names, chosen, from_first) for trace, chosen in ((a, select), (b, select_b or select))
    )
    while True:
        first, second = one.rows(), other.rows()
        both = min(len(first), len(second))
        if not both:
            return None
        seen = 0
        for place in _unequal_rows(first[:both], second[:both]):
            count += one.nr_entries(seen, place + 1)
            seen = place + 1
            pair = one.moment(place), other.moment(place)
            if count > calls or not _are_of_one_call(*pair):
                return None  # ends of calls were lost, or depend on what is not recorded
            if _differ(*pair):
                return _difference(count, *pair)
        count += one.nr_entries(seen, both)
        one.skip(both)
        other.skip(both)


def _difference(count: int, one: _Moment, other: _Moment) -> ValueDifference:
    is_entry = one.kind == _ENTRY
    found = [(moment.depth, moment.text(), moment.time_ns) for moment in (one, other)]
    return ValueDifference("arguments" if is_entry else "result", count - is_entry, *found)


def _unequal_rows(first: Sequence[_Row], second: Sequence[_Row]) -> Iterator[int]:
    """Yield the places at which as many rows differ."""
    if first != second:
        pairs = enumerate(zip(first, second, strict=True))
        yield from (place for place, (one, other) in pairs if one != other)


def _are_of_one_call(one: _Moment, other: _Moment) -> bool:
    is_entry = one.kind == _ENTRY, other.kind == _ENTRY
    return (one.name, one.depth) == (other.name, other.depth) and is_entry[0] == is_entry[1]


def _differ(one: _Moment, other: _Moment) -> bool:
    if one.kind != other.kind:
        return True
    if one.payload == other.payload or not one.payload or not other.payload:
        return False
    return one.values() != other.values()


class _Moments:
    """The begins of a trace's calls, and their ends.

    Args:
        trace: the trace.
        names: gets the names of functions, with their numbers; both traces share it.
        select: what is read of the trace.
        from_first: depths count from that of the first call.
    """

    def __init__(
        self, trace: Trace, names: dict[str, int], select: Selection | None, from_first: bool
    ) -> None:
        self._known = trace.functions
        self._names = [names.setdefault(one.name, len(names)) for one in trace.functions]
        self._unknown = names.setdefault("<unknown>", len(names))
        self._outer = None if from_first else 0  # levels that are not counted
        self._batches = trace.columns(select=select)
        self._rows: list[_Row] = []
        self._kinds: list[int] = []
        self._functions: list[int] = []
        self._times: list[int] = []
        self._at = 0

    def rows(self) -> Sequence[_Row]:
        """Return the next rows, at least one; empty at the end."""
        while self._at >= len(self._rows):
            batch = next(self._batches, None)
            if batch is None:
                return []
            self._read(batch)
        return self._rows[self._at :] if self._at else self._rows

    def skip(self, count: int) -> None:
        """Go on after so many of the rows that `rows` returned."""
        self._at += count

    def nr_entries(self, begin: int, end: int) -> int:
        """Return how many of these rows begin a call."""
        return self._kinds[self._at + begin : self._at + end].count(_ENTRY)

    def moment(self, place: int) -> _Moment:
        """Return the moment of a row."""
        at = self._at + place
        kind, _, depth, payload = self._rows[at]
        function = self._functions[at]
        known = self._known[function] if function < len(self._known) else None
        return _Moment(kind, known, depth, self._times[at], payload)

    def _read(self, batch: Columns) -> None:
        chosen = [kind == _ENTRY or kind in _ENDS for kind in batch.kind.tolist()]
        self._kinds, self._functions, depths, self._times = (
            list(compress(column.tolist(), chosen))
            for column in (batch.kind, batch.function, batch.depth, batch.time_ns)
        )
        if self._outer is None and depths:
            self._outer = depths[0]
        if outer := self._outer or 0:
            depths = [depth - outer if depth > outer else 0 for depth in depths]
        names, count, unknown = self._names, len(self._names), self._unknown
        numbers = [names[function] if function < count else unknown for function in self._functions]
        data, offsets = bytes(batch.data), pairwise(batch.data_offsets.tolist())
        payloads = [data[begin:end] for begin, end in compress(offsets, chosen)]
        self._rows = list(zip(self._kinds, numbers, depths, payloads, strict=True))
        self._at = 0


def _lasting(value: Value) -> Lasting:
    """Return a value without what differs from run to run, and so that 1, 1.0 and True differ."""
    if isinstance(value, PartialValue):
        parts = tuple((_lasting(key), _lasting(part)) for key, part in value.parts)
        return replace(value, address=0, parts=()), parts
    return type(value).__name__, repr(value)


def _shown(value: Value) -> str:
    return str(value) if isinstance(value, PartialValue) else repr(value)
