"""What chosen calls spent their time on: sums by part, each nanosecond in one of them."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from struct import Struct
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, cast, get_args

from funcgraph import _tracedata
from funcgraph.tracedata.description import Function, Task
from funcgraph.tracedata.trace_file import function_rows, task_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

PartKind: TypeAlias = Literal[
    "own",
    "callee",
    "native",
    "lock",
    "sleep",
    "io",
    "gil",
    "suspended",
    "ready",
    "gc",
    "import",
    "tracer",
    "unknown",
]

#: The kinds of parts, by number: FG_CALL_PART_KINDS has their meanings.
PART_KINDS = cast(tuple[PartKind, ...], _tracedata.CALL_PARTS)

_IS_CHOSEN = 0x80  # FG_PART_IS_CHOSEN
_OVERLAY = Struct("<QQII")  # struct fg_overlay
_OF_FUNCTIONS = ("callee", "native", "lock", "sleep", "io", "suspended")


class Overlay(NamedTuple):
    """A stretch of a thread's time about which another source tells.

    Attributes:
        task: the number of the task in the trace's `tasks`.
        begin_ns, end_ns: the stretch, on the trace's clock.
        label: of a wait for the interpreter lock: who had it.
        is_earlier: of time in which something was ready: it is that of the next overlay's cause.
    """

    task: int
    begin_ns: int
    end_ns: int
    label: str = ""
    is_earlier: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenCalls:
    """Calls of a function, and what is known besides the calls of a trace.

    Attributes:
        functions: numbers of the functions whose calls they are: a function may have several.
        begins: when each call began; sorted.
        groups: the group of each call, from 0 on.
        tasks: the tasks whose events are read; None: all.
        kinds: what functions do, by their numbers: `native`, `lock`, `sleep`, `io` or `import`.
        gil: when tasks waited for the interpreter lock.
        ready: when what a task resumes at the end of the stretch could have gone on; in the order of ends.
        gc: types of the events at which a collection begins and ends, by their numbers in the trace's
            `event_types`; None: they were not recorded.
    """

    functions: Sequence[int]
    begins: array[int]
    groups: bytes
    tasks: Sequence[Task] | None = None
    kinds: Mapping[int, PartKind] = field(default_factory=dict)
    gil: Sequence[Overlay] = ()
    ready: Sequence[Overlay] = ()
    gc: tuple[int, int] | None = None


class PartSum(NamedTuple):
    """A part of the time of a group of calls.

    Attributes:
        kind: what it is.
        function: of `callee`, `native`, `lock`, `sleep` and `io`: the function; of `suspended`: the innermost
            coroutine that was suspended too. None: it is not recorded, or the kind has none.
        label: of `gil`: who had the interpreter lock.
        ns: how long, in all calls of the group.
        count: how often.
    """

    kind: PartKind
    function: Function | None
    label: str
    ns: int
    count: int  # type: ignore[assignment]  # not the method of tuples


class PartSums(NamedTuple):
    """What a group of calls spent its time on.

    Attributes:
        calls: how many calls were found.
        open: how many of these did not end. They count up to the last event that they had.
        total_ns: how long all took, from begin to end, also while they were suspended: the sum of all parts.
        parts: the parts, the longest first.
    """

    calls: int
    open: int
    total_ns: int
    parts: list[PartSum]


_FIRST_DYNAMIC = 3000  # FG_EVENT_FIRST_DYNAMIC


def read_parts(
    reader: _tracedata.Reader, functions: Sequence[Function], tasks: Sequence[Task], chosen: ChosenCalls
) -> list[PartSums]:
    """Return the sums of each group, for `Trace.call_parts`."""
    labels = sorted({overlay.label for overlay in chosen.gil})
    places = {label: place for place, label in enumerate(labels)}
    nr_groups = max(chosen.groups, default=-1) + 1
    gil = sorted(chosen.gil, key=lambda overlay: overlay[:2])
    ready = sorted(chosen.ready, key=lambda overlay: overlay.task)
    rows, totals = reader.call_parts(
        function_rows(functions),
        task_rows(tasks, chosen.tasks),
        _classes(len(functions), chosen),
        chosen.begins,
        chosen.groups,
        _packed((overlay, places[overlay.label]) for overlay in _disjoint(gil)),
        _packed((overlay, int(overlay.is_earlier)) for overlay in ready),
        (nr_groups, len(labels)),
        (0, 0) if chosen.gc is None else (_FIRST_DYNAMIC + chosen.gc[0], _FIRST_DYNAMIC + chosen.gc[1]),
    )
    parts: list[list[PartSum]] = [[] for _ in totals]
    for group, number, key, ns, count in rows:
        kind = PART_KINDS[number]
        function = functions[key] if kind in _OF_FUNCTIONS and key < len(functions) else None
        parts[group].append(PartSum(kind, function, labels[key] if kind == "gil" else "", ns, count))
    return [
        PartSums(*total, sorted(part, key=lambda one: -one.ns))
        for total, part in zip(totals, parts, strict=True)
    ]


def _classes(count: int, chosen: ChosenCalls) -> bytes:
    numbers = {kind: number for number, kind in enumerate(get_args(PartKind))}
    classes = bytearray([numbers["callee"]]) * count
    for number, kind in chosen.kinds.items():
        classes[number] = numbers[kind]
    for number in chosen.functions:
        classes[number] |= _IS_CHOSEN
    return bytes(classes)


def _packed(rows: Iterable[tuple[Overlay, int]]) -> bytes:
    return b"".join(_OVERLAY.pack(row.begin_ns, row.end_ns, row.task, label) for row, label in rows)


def _disjoint(overlays: Iterable[Overlay]) -> Iterable[Overlay]:
    """Yield overlays, sorted by task and begin, without what one has of the one before."""
    task, end = -1, 0
    for overlay in overlays:
        begin = max(overlay.begin_ns, end) if overlay.task == task else overlay.begin_ns
        if begin < overlay.end_ns:
            yield overlay._replace(begin_ns=begin)
            task, end = overlay.task, overlay.end_ns
