"""The calls that a selection chooses by their values (`--where`): an event filter over what was recorded of
them. Each function has fields of its own: its arguments. The calls are found in C (src/tracedata/select)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, TypeAlias

from funcgraph import _tracedata
from funcgraph.events import filter as event_filter
from funcgraph.names import did_you_mean, printable
from funcgraph.tracedata.description import EventField, Function, SelectionError
from funcgraph.tracedata.recorded_options import missing
from funcgraph.tracedata.selected_events import ALIVE, field_rows

if TYPE_CHECKING:
    from funcgraph.tracedata.selected_events import Named

ChosenValues: TypeAlias = tuple[bytes, list[tuple[bytes, list[tuple[str, int, int, int]]]], int, bool]

_OWN = tuple(EventField(name, kind, 0, at, fault) for name, kind, at, fault in _tracedata.CALL_FIELDS)
_MOST_CALLERS = (1 << 18) - 1  # FG_RECORD_MAX_DEPTH
_ALWAYS = frozenset(("exc", "raised", "duration", "own"))  # of these, what every recording has


def choose_values(trace: Named, text: str, callers: int, callees: bool) -> ChosenValues:
    """Return what a Reader takes of the calls that a filter chooses.

    Raises:
        SelectionError: the text is no filter, for no function of the trace, or what it compares was not
            recorded.
    """
    if trace.is_kernel:
        raise SelectionError("--where: not with a kernel's trace")
    if not 0 <= callers <= _MOST_CALLERS:
        raise SelectionError(f"--callers {callers}: must be 0 to {_MOST_CALLERS}")
    kinds = {names: _fields(names) for names in dict.fromkeys(map(_argument_names, trace.functions))}
    filters = _filters(text, kinds)
    used = {
        kinds[names][term.source].name
        for names, one in filters.items()
        for term in one.program.terms
        if term.source >= 0
    }
    _check_recorded(trace, text, used)
    places = dict(zip(filters, count(1), strict=False))
    marks = b"".join(
        places.get(_argument_names(function), 0).to_bytes(4, "little") for function in trace.functions
    )
    made = [(one.program.pack(), field_rows(kinds[names])) for names, one in filters.items()]
    return marks, made, callers, callees


def _argument_names(function: Function) -> tuple[str, ...]:
    return function.arguments[: _tracedata.CALL_MOST_ARGUMENTS]


def _fields(names: Iterable[str]) -> list[EventField]:
    """Return the fields of a function's calls. The first one of a name counts: an argument."""
    places = count(_tracedata.CALL_ARGUMENTS_AT, 4)
    return [*(EventField(name, "value", 0, at, 0) for name, at in zip(names, places, strict=False)), *_OWN]


def _filters(
    text: str, kinds: Mapping[tuple[str, ...], Sequence[EventField]]
) -> dict[tuple[str, ...], event_filter.Filter]:
    """Return the filter for each kind of function that has its fields."""
    found: dict[tuple[str, ...], event_filter.Filter] = {}
    best: tuple[int, int, event_filter.FilterError] | None = None
    for names, fields in kinds.items():
        try:
            found[names] = event_filter.parse(text, event_filter.Fields(fields))
        except event_filter.FilterError as error:
            rank = (error.caret, -len(names))  # that of which most could be read, with the fewest fields
            best = max(best, (*rank, error), key=lambda one: one[:2]) if best else (*rank, error)
    if not found:
        reason = f"{best[2]}{_hint(best[2], kinds)}" if best else "the trace names no function"
        raise SelectionError(f"--where '{printable(text)}': {reason}")
    if any(term.source in ALIVE for one in found.values() for term in one.program.terms):
        raise SelectionError(f"--where '{text}': a trace has no CPU and no comm; --task chooses threads")
    return found


def _hint(error: event_filter.FilterError, kinds: Iterable[Sequence[str]]) -> str:
    """Return names of arguments that may have been meant."""
    word = re.search(r"\w*\Z", error.command[: max(error.caret - 1, 0)])
    if error.message != "Field not found" or not word:
        return ""
    known = sorted({name for names in kinds for name in names})
    return did_you_mean(word[0], known) or "; no function of the trace has such an argument"


def _check_recorded(trace: Named, text: str, used: Iterable[str]) -> None:
    needs = {"retval" if name == "ret" else "args" for name in used if name not in _ALWAYS}
    if lack := missing(trace.meta, sorted(needs)):
        raise SelectionError(f"--where '{printable(text)}': {lack}")
