"""The actions of a histogram trigger: onmatch(), onmax(), onchange() with trace(), save(), snapshot().

A trigger's text is read in two passes, as in the kernel. The first one takes the actions apart; the second
one looks up what they name, when the variables of the trigger are known.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from funcgraph.events.event_field import EventField
from funcgraph.events.hist_error import HistError, Part, Source
from funcgraph.events.hist_expression import ExpressionParser
from funcgraph.events.hist_spec import (
    Action,
    Binary,
    Expression,
    FieldRef,
    Negated,
    Others,
    Param,
    VariableRef,
    field_of,
    is_real,
    is_stack,
)

__all__ = ["HANDLERS", "ActionText", "is_action", "resolve_actions", "split_action"]

HANDLERS = ("onmatch", "onmax", "onchange")
_MISMATCH = "Param type doesn't match synthetic event field type"
_SIZES = {"8": 1, "16": 2, "32": 4, "64": 8}


class ActionText(NamedTuple):
    """An action, taken apart."""

    whole: Part
    handler: str
    argument: Part
    action: Part
    params: list[Part]


def is_action(text: str) -> bool:
    """Return whether a part of a trigger begins as an action."""
    name, paren, _ = text.partition("(")
    return bool(paren) and name in HANDLERS


def split_action(source: Source, part: Part) -> ActionText:
    """Take an action apart.

    Raises:
        HistError: something of it is missing.
    """
    name, _, rest = part.partition("(")
    argument, _, after = rest.partition(")")
    if name.text == "onmatch":
        system, dot, event = argument.partition(".")
        if not system.text:
            raise source.error(("Missing subsystem", argument))
        if not dot or not event.text:
            raise source.error(("Missing event name", argument))
    if not after.text.startswith(".") or "(" not in after.text:
        raise source.error(("No action found", after))
    action, _, inside = after.from_(1).partition("(")
    if not action.text:
        raise source.error(("No action found", after))
    if name.text == "onmatch" and action.text in ("save", "snapshot"):
        raise source.error(("Handler doesn't support action", action))
    closed, _, _ = inside.partition(")")
    params = [param.strip() for param in closed.cut(",")]
    if action.text != "snapshot" and not params[0].text:
        raise source.error(("Invalid action param", params[0]))
    return ActionText(part, name.text, argument, action, params)


def resolve_actions(
    source: Source, texts: Sequence[ActionText], parser: ExpressionParser, others: Others
) -> tuple[Action, ...]:
    """Look up what the actions of a trigger name.

    Raises:
        HistError: something is not there, or does not fit.
    """
    _check_saves(source, texts)
    resolver = _Resolver(source, parser, others)
    return tuple(resolver.action(text) for text in texts)


def _check_saves(source: Source, texts: Sequence[ActionText]) -> None:
    saves = [text for text in texts if text.action.text == "save"]
    if len(saves) > 1:
        message = "Can't have more than one save() action per hist"
        raise source.error((message, saves[1].whole), number=errno.EEXIST)


class _Resolver:
    def __init__(self, source: Source, parser: ExpressionParser, others: Others) -> None:
        self._source = source
        self._parser = parser
        self._own: Mapping[str, Expression] = parser.own
        self._others = others

    def action(self, text: ActionText) -> Action:
        match, variable = ("", ""), ""
        if text.handler == "onmatch":
            match = self._match(text.argument)
        else:
            variable = self._variable(text.argument)
        kind = text.action.text
        if kind == "snapshot":
            return Action(text.handler, match, variable, kind, "", (), False)
        if kind == "save":
            saved = tuple(self._saved(param) for param in text.params)
            return Action(text.handler, match, variable, kind, "", saved, False)
        by_name = kind != "trace"
        event = text.action if by_name else text.params[0]
        params = text.params if by_name else text.params[1:]
        values = self._values(event, params, match)
        return Action(text.handler, match, variable, "trace", event.text, values, by_name)

    def _match(self, argument: Part) -> tuple[str, str]:
        system, _, event = argument.text.partition(".")
        if self._others.event_fields(system, event) is None:
            raise self._source.error(("Invalid subsystem or event name", argument))
        return system, event

    def _variable(self, argument: Part) -> str:
        if not argument.text.startswith("$"):
            raise self._source.error(("For onmax(x) or onchange(x), x must be a variable", argument))
        name = argument.from_(1)
        if name.text not in self._own:
            raise self._source.error(("Couldn't find onmax or onchange variable", name))
        return name.text

    def _saved(self, param: Part) -> Param:
        try:
            return Param(param.text, self._parser.field(param))
        except HistError:
            raise self._source.error(
                ("Couldn't find field", param),
                ("Couldn't parse field variable", param),
                ("Couldn't create field variable", param),
            ) from None

    # ---- the values of a synthetic event

    def _values(self, event: Part, params: Sequence[Part], match: tuple[str, str]) -> tuple[Param, ...]:
        fields = self._others.synthetic_fields(event.text)
        if fields is None:
            raise self._source.error(("Couldn't find synthetic event", event))
        values = []
        for index, param in enumerate(params):
            value = self._value(param, match)
            if index >= len(fields) or not _fits(fields[index], value.value):
                raise self._source.error((_MISMATCH, param))
            values.append(value)
        if len(values) < len(fields):
            raise self._source.error((_MISMATCH, params[-1] if params else event))
        return tuple(values)

    def _value(self, param: Part, match: tuple[str, str]) -> Param:
        if "$" in param.text:
            return self._variable_value(param)
        event, field = _qualified(param)
        if event not in (None, self._source.event):
            return self._value_of(event, param, field)
        try:
            return Param(param.text, self._parser.field(field))
        except HistError as error:
            if match[0] and not event:
                return self._value_of(match, param, field)
            if error.message != "Couldn't find field":
                raise
            raise self._source.error(
                ("Couldn't find field", param),
                ("Couldn't parse field variable", param),
                ("Couldn't create field variable", param),
            ) from None

    def _variable_value(self, param: Part) -> Param:
        name = param.from_(param.text.rfind("$") + 1)
        if param.text.startswith("$") and name.text in self._own:
            return Param(param.text, self._own[name.text], variable=name.text)
        try:
            return Param(param.text, self._parser.atom(param))
        except HistError:
            raise self._source.error(("Couldn't find param", name)) from None

    def _value_of(self, event: tuple[str, str], param: Part, name: Part) -> Param:
        """A field of another event, mostly the matching one: its histogram is to keep it."""
        fields = {field.name: field for field in self._others.event_fields(*event) or ()}
        field = fields.get(name.text)
        if field is None or event not in self._others.variables():
            raise self._source.error(
                ("Couldn't find field", param),
                ("Couldn't parse field variable", param),
                ("Matching event histogram not found", param),
            )
        return Param(param.text, field_of(field), event=event)


def _qualified(param: Part) -> tuple[tuple[str, str] | None, Part]:
    """Return the event that a parameter names, if it is SYSTEM.EVENT.FIELD, and the field."""
    system, _, rest = param.partition(".")
    event, dot, field = rest.partition(".")
    return ((system.text, event.text), field) if dot else (None, param)


def _type_of(value: Expression) -> str:
    if isinstance(value, FieldRef):
        return value.type
    if isinstance(value, Binary | Negated) and is_real(value):
        return "f64"
    return "u64"


def _size(type_: str) -> int:
    """Return the size of an unsigned type; 0: it is something else."""
    if type_ in ("bool", "char"):
        return 1
    return _SIZES.get(type_[1:], 0) if type_[:1] in "ux" else 8 if type_ == "symbol" else 0


def _fits(field: EventField, value: Expression) -> bool:
    """Return whether a synthetic event's field takes a value.

    A signed one takes only the very same type, an unsigned one its size, a text any text. A value without a
    type fits everything, as it may be anything.
    """
    while isinstance(value, VariableRef):
        value = value.value
    type_ = _type_of(value)
    if "value" in (type_, field.type):
        return True
    if is_stack(value):
        return bool(field.count)
    if _size(field.type):
        return _size(field.type) == _size(type_) and not field.count
    return field.type == type_
