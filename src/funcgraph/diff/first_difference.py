"""Where two runs of one thread each first differ: in a call, its arguments or its result.

The calls are compared in C (src/tracedata/answers/lockstep.h), in memory that does not grow with the traces.
"""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from funcgraph import _tracedata
from funcgraph.names import printable
from funcgraph.tracedata.description import Function, SelectionError, reading_error
from funcgraph.tracedata.events import Columns, exception_name, name_arguments
from funcgraph.tracedata.values import PartialValue, Value, decode_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from funcgraph._tracedata import LockstepPlaceTuple, LockstepSideTuple, LockstepThreadsTuple, MomentTuple
    from funcgraph.tracedata.opened import Reading, Trace
    from funcgraph.tracedata.selection import Selection

_ENTRY, _RETURN, _RAISE, _SUSPEND = map(Columns.KINDS.index, ("entry", "return", "raise", "suspend"))
_NO_ROOT = -1
_ALL = 2**64 - 1
#: Events after the place where two runs part, in which calls of a second thread are still an error.
_AHEAD = 65536

What = Literal["call", "arguments", "result"]
_WHATS = cast(tuple[What, ...], _tracedata.LOCKSTEP_DIFFERENCES)


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """Where two runs part.

    Attributes:
        what: what differs: which `call` comes, its `arguments`, or its `result`.
        calls: how many calls both made before, in the same nesting; of a result with the one that ended.
        path: the calls that may be in progress then, from the outermost one on. A call of depth n is made
            from the n-th of them.
        before: the last calls before, as (depth, name).
        a, b: what each calls then, as (depth, name, time in ns); None: it calls nothing more. Of arguments
            and results: the call with its values in place of the name.
    """

    what: What
    calls: int
    path: tuple[str, ...]
    before: tuple[tuple[int, str], ...]
    a: tuple[int, str, int] | None
    b: tuple[int, str, int] | None


class Side(NamedTuple):
    """What is compared of a trace: calls of one thread.

    Attributes:
        trace: the trace.
        select: what is read of it; None: all.
        root: the name of the function of one call, which alone is compared with what it calls, in depths
            from it on; "": all calls that are read are.
        root_ns: when that call began. The selection is its time and its thread.
    """

    trace: Trace
    select: Selection | None
    root: str = ""
    root_ns: int = 0


@dataclass(frozen=True, slots=True)
class Lockstep:
    """Two sides beside each other.

    Attributes:
        value: where an argument or a result first differs, as far as both make the same calls; None: nowhere.
        parting: where they first call something else; None: nowhere.
        root: the name of the call of depth 0 in which the first of these places is; "": it is between two, or
            its beginning is not in the traces.
        nr_roots: how many calls of depth 0 both have begun by then: at a call without the next one.
        roots_ns: when the latest of these began in each; 0: there is none.
        after: what each calls from the parting on, as (depth, name): the first ones.
        counts: how often each calls the functions of a name.
    """

    value: FirstDifference | None
    parting: FirstDifference | None
    root: str
    nr_roots: int
    roots_ns: tuple[int, int]
    after: tuple[tuple[tuple[int, str], ...], tuple[tuple[int, str], ...]]
    counts: tuple[Counter[str], Counter[str]]

    @property
    def first(self) -> FirstDifference | None:
        """The first place at which anything differs; None: nothing does."""
        return self.value or self.parting


def first_difference(a: Trace, b: Trace, select: Selection | None = None) -> FirstDifference | None:
    """Compare what two runs call, call by call: functions by name, their depths, and the values that both
    recorded.

    Args:
        a, b: the runs; may be one trace.
        select: what is compared of them.

    Raises:
        SelectionError: one has calls of several threads.
        TraceError, OSError: as `Trace.columns`. Traces are compared up to where the damage begins.

    Example:
        >>> with funcgraph.open("old.fg") as a, funcgraph.open("new.fg") as b:
        ...     found = first_difference(a, b)
    """
    return lockstep(Side(a, select), Side(b, select), is_counted=False).first


def lockstep(one: Side, other: Side, *, is_counted: bool = True) -> Lockstep:
    """Compare two sides call by call.

    Args:
        one, other: the sides; may be of one trace.
        is_counted: read on after the place where they part, for all of `counts`. False: only a little.

    Raises:
        SelectionError, TraceError, OSError: as `first_difference`; with `is_counted` damage after the place
            where they part is an error, too.
    """
    names: dict[str, int] = {}
    sides = one, other
    readings = [side.trace.reading(side.select) for side in sides]
    tuples = [_side_tuple(side, reading, names) for side, reading in zip(sides, readings, strict=True)]
    ahead = _ALL if is_counted else _AHEAD
    try:
        threads, value, parting, after, counts = readings[0].reader.lockstep(
            tuples[0], readings[1].reader, tuples[1], len(names), ahead
        )
    except ValueError as error:
        raise reading_error(error) from None
    if threads is not None:
        raise _several_threads(sides, threads)
    known = list(names)
    first = value or parting
    nr_roots, roots_ns = first[2:4] if first else (0, (0, 0))
    return Lockstep(
        _difference(sides, value, known),
        _difference(sides, parting, known),
        _root_of(first, known) if first else "",
        nr_roots,
        roots_ns,
        (_calls(after[0], known), _calls(after[1], known)),
        (_counter(counts[0], known), _counter(counts[1], known)),
    )


# ----


def _side_tuple(side: Side, reading: Reading, names: dict[str, int]) -> LockstepSideTuple:
    """Return what the Reader takes of a side. `names` gets the numbers of names that it has not."""
    words = [names.setdefault(function.name, len(names)) for function in side.trace.functions]
    words.append(names.setdefault("<unknown>", len(names)))
    return (
        reading.functions,
        reading.tasks,
        reading.select_unknown,
        reading.selection,
        array("I", words),
        names[side.root] if side.root else _NO_ROOT,
        side.root_ns,
    )


def _several_threads(sides: Sequence[Side], threads: LockstepThreadsTuple) -> SelectionError:
    number, tasks, unknown = threads
    trace = sides[number].trace
    known = [(task.name, task.tid) for task in trace.tasks] + [("<...>", tid) for _, tid in unknown]
    shown = ", ".join(f"{printable(name)} ({tid})" for name, tid in (known[task] for task in sorted(tasks)))
    return SelectionError(f"{trace.path} has calls of several threads: {shown}; choose one with --task")


def _counter(words: bytes, names: Sequence[str]) -> Counter[str]:
    return Counter({name: count for name, count in zip(names, array("Q", words), strict=True) if count})


def _calls(calls: Sequence[tuple[int, int]], names: Sequence[str]) -> tuple[tuple[int, str], ...]:
    return tuple((depth, names[name]) for depth, name in calls)


def _difference(
    sides: Sequence[Side], place: LockstepPlaceTuple | None, names: Sequence[str]
) -> FirstDifference | None:
    if place is None:
        return None
    number, calls, _, _, path, before, moments = place
    what = _WHATS[number]
    ends = [
        moment and (moment[2], _text(side.trace, moment, names[moment[3]], what), moment[4])
        for side, moment in zip(sides, moments, strict=True)
    ]
    return FirstDifference(what, calls, tuple(names[name] for name in path), _calls(before, names), *ends)


def _root_of(place: LockstepPlaceTuple, names: Sequence[str]) -> str:
    number, _, nr_roots, _, path, _, moments = place
    if not nr_roots:
        return ""
    if path:
        return names[path[0]]
    return "" if _WHATS[number] == "call" or moments[0] is None else names[moments[0][3]]


def _text(trace: Trace, moment: MomentTuple, name: str, what: What) -> str:
    """Return the name of a call that comes; or a call with its arguments, or with what ended it."""
    kind, number, _, _, _, payload = moment
    if what == "call":
        return name
    function = trace.functions[number] if number < len(trace.functions) else None
    return _text_of_values(kind, function, name, decode_values(payload))


def _text_of_values(kind: int, function: Function | None, name: str, values: Sequence[Value]) -> str:
    if kind == _ENTRY:
        named = name_arguments(function, values)
        return f"{name}({', '.join(f'{argument}={_shown(value)}' for argument, value in named.items())})"
    if kind == _RAISE:
        return f"{name}() raises {exception_name(values) or 'an exception'}"
    if not values:
        return f"{name}() {'is closed' if kind not in (_RETURN, _SUSPEND) else 'returns'}"
    return f"{name}() {'returns' if kind == _RETURN else 'yields'} {_shown(values[0])}"


def _shown(value: Value) -> str:
    return str(value) if isinstance(value, PartialValue) else repr(value)
