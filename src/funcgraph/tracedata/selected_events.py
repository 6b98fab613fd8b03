"""The events that a selection chooses (`-F`): their names, and event filters over their fields."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from funcgraph import _engine
from funcgraph.events import filter as event_filter
from funcgraph.events.filter_program import SOURCES
from funcgraph.names import did_you_mean
from funcgraph.tracedata.description import EventField, SelectionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from funcgraph.kernel_format.event_format import EventFormat, Field
    from funcgraph.tracedata.description import Buffer, EventType, Function, Task

# [SYSTEM/]NAME[: FILTER], as trace-cmd report -F takes it.
_CHOICE = re.compile(r"\s*(?:([^\s:/]+)/)?([^\s:/]+)\s*(?::(.*))?", re.DOTALL)
_FIRST_DYNAMIC, _FIRST_KERNEL = 3000, 0x10000  # FG_EVENT_FIRST_DYNAMIC, FG_EVENT_KERNEL
_OWN = {"print": 5, "recorder_wait": 2001, "overrun": 2002}  # of FG_EVENTS: those that are no calls
_FUNC_BASE, _FUNC_STEP = 0x10000000, 16  # FG_FUNC_ADDRESS_BASE, ..._STEP
_PLACES = {8: (), 16: ("__probe_ip",), 24: ("__probe_func", "__probe_ret_ip")}
_ARRAY_MAX = 255  # items
ALIVE = (-1 - SOURCES.index("cpu"), -1 - SOURCES.index("comm"))  # what only the running thread knows

ChosenEvent: TypeAlias = tuple[int, bytes | None, list[tuple[str, int, int, int]]]


class Named(Protocol):
    """What a trace names: `TraceFile` and `Trace`."""

    functions: Sequence[Function]
    event_types: list[EventType]
    tasks: list[Task]
    buffers: list[Buffer]
    hosts: dict[str, int | None]
    clock: str
    meta: dict[str, Any]

    @property
    def is_kernel(self) -> bool: ...
    @property
    def formats(self) -> Mapping[int, EventFormat]: ...


class _Kind(NamedTuple):
    """A kind of event of the trace: its type in records, names and fields."""

    type: int
    system: str
    name: str
    fields: Sequence[EventField]
    places: Sequence[str] = ()


def choose(trace: Named, texts: Iterable[str]) -> list[ChosenEvent]:
    """Return what a Reader takes of the events that texts choose.

    Raises:
        SelectionError: a text is no choice, or the trace has no such event.
    """
    kinds = list(_kinds(trace))
    return [chosen for text in texts for chosen in _chosen(kinds, text, trace.functions)]


def _kinds(trace: Named) -> Iterator[_Kind]:
    if trace.is_kernel:
        for number, kernel_event in trace.formats.items():
            yield _kernel_kind(number, kernel_event)
        return
    for number, kind in enumerate(trace.event_types):
        yield _Kind(_FIRST_DYNAMIC + number, kind.system, kind.name, kind.fields, _PLACES[kind.fields_at])
    for name, number in _OWN.items():
        yield _Kind(number, "ftrace" if name == "print" else "funcgraph", name, ())


def _kernel_kind(number: int, event: EventFormat) -> _Kind:
    fields = [field for field in map(_kernel_field, event.fields.values()) if field]
    return _Kind(_FIRST_KERNEL + number, event.system, event.name, fields)


def _kernel_field(field: Field) -> EventField | None:
    """Return a kernel's field as one of ours has it; None if filters cannot read it."""
    if field.is_text and field.dynamic == "data_loc":
        return EventField(field.name, "string", 0, field.offset)
    if field.is_text and not field.dynamic and 0 < field.size <= _ARRAY_MAX:
        return EventField(field.name, "char", field.size, field.offset)
    if field.is_number and field.size in (1, 2, 4, 8):
        return EventField(field.name, f"{'s' if field.signed else 'u'}{8 * field.size}", 0, field.offset)
    return None


def _chosen(kinds: Sequence[_Kind], text: str, functions: Sequence[Function]) -> list[ChosenEvent]:
    match = _CHOICE.fullmatch(text)
    if not match:
        raise SelectionError(f"-F '{text}': must be [SYSTEM/]NAME[: FILTER]")
    system, name, filter_text = match[1] or "*", match[2], (match[3] or "").strip()
    matches = _engine.glob_match
    found = [kind for kind in kinds if matches(system, kind.system) and matches(name, kind.name)]
    if not found:
        names = sorted({kind.name for kind in kinds})
        listing = ", ".join(names[:12]) + (" ..." if len(names) > 12 else "")
        raise SelectionError(
            f"-F '{text}': no event {name!r} in the trace; it has: {listing}{did_you_mean(name, names)}"
        )
    if not filter_text:
        return [(kind.type, None, []) for kind in found]
    return _filtered(found, text, filter_text, functions)


def _filtered(
    kinds: Sequence[_Kind], text: str, filter_text: str, functions: Sequence[Function]
) -> list[ChosenEvent]:
    """Return the kinds that have the filter's fields, with the filter."""

    def numbers_of(name: str) -> list[int]:
        return [
            address
            for address, function in zip(count(_FUNC_BASE, _FUNC_STEP), functions, strict=False)
            if name in (function.name, f"{address:#x}")
        ]

    fields = {
        f"{kind.system}/{kind.name}": event_filter.Fields(kind.fields, kind.places, numbers_of)
        for kind in kinds
    }
    try:
        filters = event_filter.parse_for_each(filter_text, fields)
    except event_filter.FilterError as error:
        raise SelectionError(f"-F '{text}': {error}") from None
    chosen: list[ChosenEvent] = []
    for kind in kinds:
        one = filters.get(f"{kind.system}/{kind.name}")
        if one is None:
            continue
        if any(term.source in ALIVE for term in one.program.terms):
            raise SelectionError(f"-F '{text}': a trace has no CPU and no comm; --task chooses threads")
        chosen.append((kind.type, one.program.pack(), field_rows(kind.fields)))
    return chosen


def field_rows(fields: Iterable[EventField]) -> list[tuple[str, int, int, int]]:
    """Return fields as a Reader takes them."""
    return [(field.type, field.count, field.offset, field.fault_bit) for field in fields]
