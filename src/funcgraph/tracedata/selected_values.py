"""The calls that a selection chooses by their values (`--where`): an event filter over what was recorded of
them. Each function has fields of its own: its arguments, and attributes of these, of the result and of the
exception. The calls are found in C (src/tracedata/select)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, count
from typing import TYPE_CHECKING, TypeAlias

from funcgraph import _tracedata
from funcgraph.events import filter as event_filter
from funcgraph.names import did_you_mean, printable
from funcgraph.tracedata.description import OUTCOMES, EventField, Function, SelectionError
from funcgraph.tracedata.recorded_options import missing
from funcgraph.tracedata.selected_events import ALIVE, field_rows

if TYPE_CHECKING:
    from funcgraph.tracedata.selected_events import Named

ChosenFilter: TypeAlias = tuple[bytes, list[tuple[str, int, int, int]], list[tuple[int, bytes]]]
# Of each attribute of a filter: whether any call has the value, whether any such value has the attribute,
# and, if none has, names of attributes that these have.
Met: TypeAlias = list[list[tuple[bool, bool, list[str]]]]
ChosenValues: TypeAlias = tuple[bytes, list[ChosenFilter], int, bool, Callable[[Met], None]]

_FIELDS = tuple(EventField(name, kind, 0, at, fault) for name, kind, at, fault in _tracedata.CALL_FIELDS)
_OWN = (
    *_FIELDS,
    *(one._replace(name=name) for name, same in OUTCOMES.items() for one in _FIELDS if one.name == same),
)
_OF_OUTCOME = {"ret": -1, "exc": -2}  # enum fg_call_attribute_of
_MOST_CALLERS = (1 << 18) - 1  # FG_RECORD_MAX_DEPTH
_ALWAYS = frozenset(("exc", "raised", "duration", "own"))  # of these, what every recording has


def choose_values(trace: Named, text: str, callers: int, callees: bool) -> ChosenValues:
    """Return what a Reader takes of the calls that a filter chooses. The Reader raises SelectionError if no
    recorded value has an attribute that the filter names.

    Raises:
        SelectionError: the text is no filter, for no function of the trace, or what it compares was not
            recorded.
    """
    if trace.is_kernel:
        raise SelectionError("--where: not with a kernel's trace")
    if not 0 <= callers <= _MOST_CALLERS:
        raise SelectionError(f"--callers {callers}: must be 0 to {_MOST_CALLERS}")
    kinds = {names: _Fields(names) for names in dict.fromkeys(map(_argument_names, trace.functions))}
    filters = _filters(text, kinds)
    used = {
        kinds[names].fields[term.source].name
        for names, one in filters.items()
        for term in one.program.terms
        if term.source >= 0
    }
    _check_recorded(trace, text, used)
    places = dict(zip(filters, count(1), strict=False))
    marks = b"".join(
        places.get(_argument_names(function), 0).to_bytes(4, "little") for function in trace.functions
    )
    made = [
        (one.program.pack(), field_rows(kinds[names].fields), kinds[names].attributes_read)
        for names, one in filters.items()
    ]
    named = [kinds[names].attribute_names for names in filters]
    return marks, made, callers, callees, partial(_check_attributes, text, named)


def _check_attributes(text: str, named: Sequence[Sequence[tuple[str, str]]], met: Met) -> None:
    """Look for each attribute that a filter names, whichever function's it is.

    Raises:
        SelectionError: calls have such a value, but no value has the attribute.
    """
    found: dict[tuple[str, str], tuple[bool, list[str]]] = {}
    for attribute, (has_owner, is_found, others) in zip(chain(*named), chain(*met), strict=True):
        if has_owner:
            was_found, known = found.get(attribute, (False, []))
            found[attribute] = was_found or is_found, [*known, *others]
    for (owner, name), (is_found, others) in found.items():
        if not is_found:
            known = sorted(set(others))
            listing = f"; there are: {', '.join(map(printable, known))}" if known else "; none has any"
            raise SelectionError(
                f"--where '{printable(text)}': no recorded value of '{printable(owner)}' has an attribute "
                f"'{printable(name)}'{listing}{did_you_mean(name, known)}"
            )


def _argument_names(function: Function) -> tuple[str, ...]:
    return function.arguments[: _tracedata.CALL_MOST_ARGUMENTS]


class _Fields(event_filter.Fields):
    """The fields of calls of functions with these arguments. The first one of a name counts: an argument.

    Attributes:
        fields: the arguments, what each call has, and the attributes that were asked for.
        attributes_read: these, as a Reader takes them.
        attribute_names: the same, as the filter has them: value and attribute.
    """

    def __init__(self, names: Sequence[str]) -> None:
        places = count(_tracedata.CALL_ARGUMENTS_AT, 4)
        arguments = [EventField(name, "value", 0, at, 0) for name, at in zip(names, places, strict=False)]
        self.fields = [*arguments, *_OWN]
        self.attributes_read: list[tuple[int, bytes]] = []
        self.attribute_names: list[tuple[str, str]] = []
        self._nr_arguments = len(arguments)
        super().__init__(self.fields, attributes=self._attribute)

    def _attribute(self, owner: str, name: str) -> int | None:
        """Return the number of the field that is an attribute of another one; None: that has none."""
        place = next((i for i, field in enumerate(self.fields) if field.name == owner), None)
        if place is None or self.fields[place].type != "value":
            return None
        of = place if place < self._nr_arguments else _OF_OUTCOME[OUTCOMES.get(owner, owner)]
        read, first = (of, name.encode("utf-8", "surrogatepass")), self._nr_arguments + len(_OWN)
        if read not in self.attributes_read:
            number = len(self.attributes_read)
            if number == _tracedata.CALL_MOST_ATTRIBUTES:
                raise SelectionError(f"--where: more than {number} attributes of values are compared")
            self.attributes_read.append(read)
            self.attribute_names.append((owner, name))
            at = _tracedata.CALL_ATTRIBUTES_AT + 4 * number
            self.fields.append(EventField(f"{owner}.{name}", "value", 0, at, 0))
        return first + self.attributes_read.index(read)


def _filters(
    text: str, kinds: Mapping[tuple[str, ...], _Fields]
) -> dict[tuple[str, ...], event_filter.Filter]:
    """Return the filter for each kind of function that has its fields."""
    found: dict[tuple[str, ...], event_filter.Filter] = {}
    best: tuple[int, int, event_filter.FilterError] | None = None
    for names, fields in kinds.items():
        try:
            found[names] = event_filter.parse(text, fields)
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
    word = re.search(r"(?<![\w.])\w+\Z", error.command[: max(error.caret - 1, 0)])
    if error.message != "Field not found" or not word:
        return ""
    known = sorted({name for names in kinds for name in names})
    if word[0] in known or word[0] in {field.name for field in _OWN}:
        return ""  # the field is there, an attribute of it is not
    return did_you_mean(word[0], known) or "; no function of the trace has such an argument"


def _check_recorded(trace: Named, text: str, used: Iterable[str]) -> None:
    needs = set()
    for owner, dot, _ in (name.partition(".") for name in used):
        field = OUTCOMES.get(owner, owner)
        needs |= {"values"} if dot else set()
        needs |= set() if field in _ALWAYS else {"retval" if field == "ret" else "args"}
    if lack := missing(trace.meta, sorted(needs)):
        raise SelectionError(f"--where '{printable(text)}': {lack}")
