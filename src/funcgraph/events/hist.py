"""Histogram triggers, in the kernel's syntax.

    hist:keys=user,size.log2:vals=total:sort=total.descending if size > 100

docs/reference/events-hist.md has the syntax, and what differs from the kernel's. hist_expression.py reads
what stands for a value; hist_actions.py reads actions; this module has what joins them.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Sequence

from funcgraph.events.event_field import EventField
from funcgraph.events.hist_actions import is_action, resolve_actions, split_action
from funcgraph.events.hist_error import HistError, Part, Source
from funcgraph.events.hist_expression import ExpressionParser, integer, usable_in
from funcgraph.events.hist_spec import (
    Expression,
    FieldRef,
    HistSpec,
    NoOthers,
    Others,
    SortKey,
    Variable,
    VariableRef,
    leaves,
)

__all__ = [
    "HistError",
    "HistSpec",
    "already_exists",
    "named_differs",
    "nonexistent",
    "parse",
    "split_filter",
]

MAX_KEYS = 8
MAX_VALUES = 8
MAX_VARIABLES = 16
MAX_SORT_KEYS = 2
SIZE_DEFAULT = 2048
SIZE_MIN = 128
SIZE_MAX = 131072

#: Clocks that the kernel has. All of them are ours: there is one clock.
CLOCKS = ("local", "global", "counter", "uptime", "perf", "mono", "mono_raw", "boot", "tai", "x86-tsc")

_BLANK_IF = re.compile(r"[ \t]+if(?=[ \t]|$)")
_LISTS = {"keys": "keys", "key": "keys", "values": "vals", "vals": "vals", "val": "vals"}
_SINGLE = ("sort", "size", "name", "clock")
_CONTROLS = {"pause": "pause", "cont": "cont", "continue": "cont", "clear": "clear"}


def split_filter(command: str) -> tuple[str, str | None]:
    """Return what is before ` if `, and the filter after it; None: there is no `if`."""
    found = _BLANK_IF.search(command)
    return (command[: found.start()], command[found.end() :].strip()) if found else (command, None)


def parse(
    command: str, system: str, event: str, fields: Sequence[EventField], others: Others | None = None
) -> HistSpec:
    """Return what a histogram trigger says about an event.

    The filter after ` if ` is not looked at: it is FilterError's matter.

    Args:
        command: the trigger, which begins with `hist`.
        system: of the event.
        event: its name.
        fields: the event's; the common ones are known.
        others: what else the trigger may refer to.

    Raises:
        HistError: with the kernel's message, error number and caret.
    """
    command = command.strip(" \t\n")
    return _Parser(command, system, event, fields, others or NoOthers()).spec()


class _Parser:
    def __init__(
        self, command: str, system: str, event: str, fields: Sequence[EventField], others: Others
    ) -> None:
        self._source = Source(command, system, event)
        self._whole = Part(command, 0)
        self._system = system
        self._event = event
        self._others = others
        self._expressions = ExpressionParser(self._source, fields, others)
        self._assigned: dict[str, Part] = {}
        self._variables: list[Part] = []
        self._actions: list[Part] = []
        self._control = ""
        self._no_hitcount: Part | None = None
        self._size = SIZE_DEFAULT

    def spec(self) -> HistSpec:
        before, condition = split_filter(self._whole.text)
        if condition == "":
            raise self._source.unlogged("there is no filter after 'if'", self._whole.from_(len(before)))
        self._attributes(Part(before, 0))
        texts = [split_action(self._source, action) for action in self._actions]
        variables = self._parse_variables()
        values = self._parse_values()
        keys = self._parse_keys()
        sort = self._parse_sort(keys, values)
        actions = resolve_actions(self._source, texts, self._expressions, self._others)
        self._check_hitcount(values)
        return HistSpec(
            self._system,
            self._event,
            self._assigned["name"].text if "name" in self._assigned else "",
            keys,
            values,
            variables,
            sort,
            self._size,
            self._clock([*keys, *values, *(variable.value for variable in variables)]),
            self._no_hitcount is None,
            actions,
            condition or "",
            self._control,
        )

    # ---- taking the text apart

    def _attributes(self, text: Part) -> None:
        head, *parts = text.cut(":")
        if head.text != "hist" or not parts:
            raise self._source.unlogged("a histogram begins with hist:keys=", head)
        for part in parts:
            if "=" in part.text:
                self._assignment(part)
            elif part.text in _CONTROLS:
                self._control = _CONTROLS[part.text]
            elif part.text in ("nohitcount", "NOHC"):
                self._no_hitcount = part
            elif is_action(part.text):
                self._actions.append(part)
            else:
                message = (
                    f"{part.text!r} is no NAME=VALUE, no action, and not pause, cont, clear or nohitcount"
                )
                raise self._source.unlogged(message, part)
        if "keys" not in self._assigned:
            raise self._source.unlogged("a histogram needs keys=", text)

    def _assignment(self, part: Part) -> None:
        name, _, value = part.partition("=")
        if not value.text:
            raise self._source.error(("Empty assignment", part))
        if name.text in _LISTS:
            self._assigned[_LISTS[name.text]] = value
        elif name.text in _SINGLE:
            self._assigned[name.text] = value
            if name.text == "size":
                self._size = self._parse_size(value)
            elif name.text == "clock" and value.text not in CLOCKS:
                raise self._source.error(("Couldn't set trace_clock for hist", value))
        else:
            self._define(part)

    def _define(self, part: Part) -> None:
        for piece in part.cut(","):
            if "=" not in piece.text or piece.text.endswith("="):
                raise self._source.error(("Malformed assignment", piece))
            if len(self._variables) == MAX_VARIABLES:
                raise self._source.error(("Too many variables defined", piece))
            self._variables.append(piece)

    def _parse_size(self, text: Part) -> int:
        size = integer(text.text) or 0
        if not SIZE_MIN // 2 < size <= SIZE_MAX:
            message = f"size must be a number from {SIZE_MIN // 2 + 1} to {SIZE_MAX}, got {text.text!r}"
            raise self._source.unlogged(message, text)
        return max(SIZE_MIN, 1 << (size - 1).bit_length())

    # ---- what the parts mean

    def _parse_variables(self) -> tuple[Variable, ...]:
        found = []
        for piece in self._variables:
            name, _, text = piece.partition("=")
            if name.text in self._expressions.own:
                raise self._source.error(("Variable already defined", name))
            value = self._expressions.parse(text)
            usable_in(self._source, value, text, "variable")
            self._expressions.own[name.text] = value
            found.append(Variable(name.text, value))
        return tuple(found)

    def _parse_values(self) -> tuple[Expression, ...]:
        if "vals" not in self._assigned:
            return ()
        pieces = self._assigned["vals"].cut(",")
        plain = next((index for index, piece in enumerate(pieces) if piece.text == "hitcount"), None)
        if plain is not None:
            del pieces[plain]  # it is there anyway
        if len(pieces) > MAX_VALUES:
            raise self._source.unlogged(f"at most {MAX_VALUES} values", pieces[MAX_VALUES])
        values = []
        for piece in pieces:
            value = self._expressions.parse(piece)
            usable_in(self._source, value, piece, "value")
            values.append(value)
        return tuple(values)

    def _parse_keys(self) -> tuple[Expression, ...]:
        pieces = self._assigned["keys"].cut(",")
        if len(pieces) > MAX_KEYS:
            raise self._source.unlogged(f"at most {MAX_KEYS} keys", pieces[MAX_KEYS])
        keys = []
        for piece in pieces:
            key = self._expressions.parse(piece)
            if any(isinstance(leaf, VariableRef) for leaf in leaves(key)):
                raise self._source.error(("Using variable references in keys not supported", piece))
            usable_in(self._source, key, piece, "key")
            keys.append(key)
        return tuple(keys)

    def _parse_sort(
        self, keys: tuple[Expression, ...], values: tuple[Expression, ...]
    ) -> tuple[SortKey, ...]:
        if "sort" not in self._assigned:
            return (SortKey("hitcount", 0, False, "hitcount"),)
        text = self._assigned["sort"]
        whole = Part("sort=" + text.text, text.at - len("sort="))
        pieces = text.cut(",")
        if any(not piece.text for piece in pieces):
            raise self._source.error(("Empty sort field", whole))
        if len(pieces) > MAX_SORT_KEYS:
            raise self._source.error((f"Too many sort fields (Max = {MAX_SORT_KEYS})", whole))
        columns = [("value", index, value) for index, value in enumerate(values)]
        columns += [("key", index, key) for index, key in enumerate(keys)]
        return tuple(self._sort_key(piece, columns) for piece in pieces)

    def _sort_key(self, piece: Part, columns: list[tuple[str, int, Expression]]) -> SortKey:
        name, dot, modifier = piece.partition(".")
        # As it reads back, with the modifier of the key or value: fd.percent.descending.
        written = piece.text.removesuffix(".descending").removesuffix(".ascending")
        is_read_back = any(isinstance(column, FieldRef) and column.text == written for *_, column in columns)
        if dot and modifier.text not in ("ascending", "descending") and not is_read_back:
            raise self._source.error(("Invalid sort modifier", modifier))
        is_descending = piece.text.endswith(".descending")
        ending = ".descending" if is_descending else ""
        if written == "hitcount":
            return SortKey("hitcount", 0, is_descending, f"hitcount{ending}")
        for what, index, column in columns:
            if written == column.text if is_read_back else name.text == column.name:
                return SortKey(what, index, is_descending, f"{column.text}{ending}")
        raise self._source.error(("Sort field must be a key or a val", name))

    def _check_hitcount(self, values: tuple[Expression, ...]) -> None:
        if self._no_hitcount is None:
            return
        if all(isinstance(value, FieldRef) and value.kind == "hitcount" for value in values):
            message = "Non-hitcount value is required for 'nohitcount'"
            raise self._source.error((message, self._no_hitcount), number=errno.ENOENT)

    def _clock(self, expressions: list[Expression]) -> str:
        if not any(_has_time(expression) for expression in expressions):
            return ""
        return self._assigned["clock"].text if "clock" in self._assigned else "global"


def _has_time(expression: Expression) -> bool:
    return any(isinstance(leaf, FieldRef) and leaf.kind == "time" for leaf in leaves(expression))


# ---- refusals that need to know the event's other triggers


def _refused(spec: HistSpec, command: str, message: str, word: str, number: int) -> HistError:
    component = f"hist:{spec.system}:{spec.event}"
    return HistError(message, component, command, max(command.find(word), 0), number=number)


def already_exists(spec: HistSpec, command: str) -> HistError:
    """Return the error for a trigger that is_same() as one of the event's."""
    return _refused(spec, command, "Hist trigger already exists", "", errno.EEXIST)


def nonexistent(spec: HistSpec, command: str) -> HistError:
    """Return the error for `cont` and `clear` of a trigger that is not there."""
    message = "Can't clear or continue a nonexistent hist trigger"
    return _refused(spec, command, message, f":{spec.control}", errno.ENOENT)


def named_differs(spec: HistSpec, command: str) -> HistError:
    """Return the error for a name whose table has other keys, values or variables."""
    message = "Named hist trigger doesn't match existing named trigger (includes variables)"
    return _refused(spec, command, message, f"name={spec.name}", errno.EINVAL)
