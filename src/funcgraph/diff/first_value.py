"""Where two runs that make the same calls first have other arguments or another result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from funcgraph.tracedata.description import Function
from funcgraph.tracedata.events import Columns, exception_name, name_arguments
from funcgraph.tracedata.values import PartialValue, Value, decode_values

if TYPE_CHECKING:
    from funcgraph.tracedata.opened import Trace
    from funcgraph.tracedata.selection import Selection

__all__ = ["ValueDifference", "first_value"]

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
    sides = (_moments(a, select, from_first), _moments(b, select_b or select, from_first))
    for one, other in zip(*sides, strict=False):
        if (one.name, one.depth) != (other.name, other.depth) or (one.kind == _ENTRY) != (
            other.kind == _ENTRY
        ):
            return None  # ends of calls were lost, or depend on what is not recorded
        count += one.kind == _ENTRY
        if count > calls:
            return None
        if _differ(one, other):
            is_entry = one.kind == _ENTRY
            found = [(moment.depth, moment.text(), moment.time_ns) for moment in (one, other)]
            return ValueDifference("arguments" if is_entry else "result", count - is_entry, *found)
    return None


def _differ(one: _Moment, other: _Moment) -> bool:
    if one.kind != other.kind:
        return True
    if one.payload == other.payload or not one.payload or not other.payload:
        return False
    return one.values() != other.values()


def _moments(trace: Trace, select: Selection | None, from_first: bool) -> Iterator[_Moment]:
    outer = None if from_first else 0
    functions, count = trace.functions, len(trace.functions)
    for batch in trace.columns(select=select):
        data, offsets = bytes(batch.data), batch.data_offsets.tolist()
        rows = zip(batch.kind, batch.function, batch.depth, batch.time_ns, strict=True)
        for at, (kind, function, depth, time_ns) in enumerate(rows):
            if kind == _ENTRY or kind in _ENDS:
                known = functions[function] if function < count else None
                outer = depth if outer is None else outer
                yield _Moment(
                    kind, known, max(depth - outer, 0), time_ns, data[offsets[at] : offsets[at + 1]]
                )


def _lasting(value: Value) -> Lasting:
    """Return a value without what differs from run to run, and so that 1, 1.0 and True differ."""
    if isinstance(value, PartialValue):
        parts = tuple((_lasting(key), _lasting(part)) for key, part in value.parts)
        return replace(value, address=0, parts=()), parts
    return type(value).__name__, repr(value)


def _shown(value: Value) -> str:
    return str(value) if isinstance(value, PartialValue) else repr(value)
