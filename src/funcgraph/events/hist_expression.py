"""The fields, variables and expressions of a histogram trigger: `count+1`, `common_timestamp.usecs-$ts0`.

Operators bind as the kernel's do: `*` and `/` before `+` and `-`, from left to right. Parentheses only follow
a minus at the very beginning. There are at most 3 operators, with that minus.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping, Sequence

from funcgraph.events.event_field import EventField
from funcgraph.events.hist_error import Part, Source
from funcgraph.events.hist_spec import (
    Binary,
    Expression,
    FieldRef,
    Negated,
    Number,
    Others,
    VariableRef,
    field_of,
    is_stack,
    leaves,
)

__all__ = ["MODIFIERS", "ExpressionParser", "integer", "usable_in"]

_MAX_OPERATORS = 3
_U64 = 1 << 64

#: Common fields: kind and type. The short names give way to fields of the event.
_COMMON = {
    "common_pid": ("pid", "s32"),
    "common_cpu": ("cpu", "u32"),
    "common_comm": ("comm", "string"),
    "common_timestamp": ("time", "u64"),
    "common_stacktrace": ("stack", "u64"),
    "common_type": ("field", "u16"),
    "common_flags": ("field", "u8"),
    "common_preempt_count": ("field", "u8"),
    "hitcount": ("hitcount", "u64"),
    "cpu": ("cpu", "u32"),
    "stacktrace": ("stack", "u64"),
}

MODIFIERS = (
    *("hex", "sym", "sym-offset", "execname", "syscall", "log2", "usecs", "percent", "graph"),
    *("stacktrace", "string"),
)
_TEXTS = ("string", "object", "value")

# These hyphens are no operators.
_HYPHENS = re.compile(r"\.sym-offset(?!\w)|\.buckets=-")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,24}|0[0-7]{0,24}|[1-9][0-9]{0,24}")

_INVALID_MODIFIER = "Invalid field modifier"
_NO_FIELD = "Couldn't find field"
_ARRAY = "Arrays can't be keys, values or variables"
_NO_VARIABLE = "Couldn't find variable"
_STRING = "String type can not be an operand in expression"


class ExpressionParser:
    """Parses the expressions of one trigger.

    Args:
        source: the trigger's text.
        fields: of the event.
        others: for variables of other histograms.
    """

    def __init__(self, source: Source, fields: Sequence[EventField], others: Others) -> None:
        self._source = source
        self._fields = {field.name: field for field in fields}
        self._others = others
        self._nr_operators = 0  # of the expression so far
        #: Variables of this histogram so far: those that are plain fields can be used in expressions.
        self.own: dict[str, Expression] = {}

    def parse(self, part: Part) -> Expression:
        """Return the expression that a piece of the trigger means.

        Raises:
            HistError: it means none.
        """
        self._nr_operators = 0
        if part.text.startswith("-"):
            return self._negated(part)
        return self._parse(part)

    def _negated(self, part: Part) -> Expression:
        text = part.text
        if text.startswith("-(") and ")" in text and not text.endswith(")"):
            raise self._source.error(("Unary minus not supported in sub-expressions", part.from_(2)))
        if not text.startswith("-(") or text[2:3] == "-" or text.find(")") != len(text) - 1:
            raise self._source.unlogged("a minus in front needs parentheses: -(a+b)", part)
        self._nr_operators += 1
        inner = self._parse(Part(text[2:-1], part.at + 2))
        self._check_operand(inner, part.from_(2))
        return Negated(inner)

    def _parse(self, part: Part) -> Expression:
        """The kernel counts operators on its way down, the left side first, and names the operand there."""
        if self._nr_operators > _MAX_OPERATORS:
            raise self._source.error((f"Too many subexpressions ({_MAX_OPERATORS} max)", part))
        places = _operators_at(part.text)
        if not places:
            return self.atom(part)
        weak = [place for place in places if part.text[place] in "+-"]
        at = (weak or places)[-1]
        operator = part.text[at]
        sides = Part(part.text[:at], part.at), part.from_(at + 1)
        for side in sides:
            if not side.text:
                raise self._source.unlogged(f"the operator {operator!r} needs two operands", part)
        self._nr_operators += 1
        left = self._parse(sides[0])
        self._check_operand(left, sides[0])
        right = self._parse(sides[1])
        self._check_operand(right, sides[1])
        if operator == "/" and right == Number(0):
            raise self._source.error(("Division by zero", sides[1]), number=errno.EDOM)
        self._check_units(left, right, part)
        if isinstance(left, Number) and isinstance(right, Number):
            return _fold(operator, left, right)
        return Binary(operator, left, right)

    def _check_operand(self, expression: Expression, part: Part) -> None:
        value = expression.value if isinstance(expression, VariableRef) else expression
        if is_stack(value) or (isinstance(value, FieldRef) and value.type == "string"):
            raise self._source.error((_STRING, part))

    def _check_units(self, left: Expression, right: Expression, part: Part) -> None:
        units = {_unit(left), _unit(right)} - {""}
        if len(units) > 1:
            raise self._source.error(("Timestamp units in expression don't match", part))

    # ---- operands

    def atom(self, part: Part) -> Expression:
        """Return the field, constant or variable that a piece without operators names."""
        text = part.text
        if text.startswith("$") and "." not in text:
            return self._plain_variable(part)
        if text[:1].isdigit():
            return self._number(part)
        pieces = part.cut(".")
        if len(pieces) > 2:
            return self._qualified(pieces, part)
        return self._field(part)

    def _number(self, part: Part) -> Number:
        value = integer(part.text)
        if value is None:
            raise self._source.error(("Expecting numeric literal", part))
        return Number(value)

    def _plain_variable(self, part: Part) -> Expression:
        name = part.from_(1)
        own = self.own.get(name.text)
        if isinstance(own, FieldRef):
            return own
        found = [
            (place, variables[name.text])
            for place, variables in self._others.variables().items()
            if name.text in variables
        ]
        if len(found) == 1:
            ((system, event), value) = found[0]
            return VariableRef(name.text, system, event, part.text, value)
        entries = [(_NO_VARIABLE, name), (_NO_FIELD, part)]
        if found:
            message = (
                "Variable name not unique, need to use fully qualified name (subsys.event.var) for variable"
            )
            entries.insert(0, (message, name))
        raise self._source.error(*entries)

    def _qualified(self, pieces: list[Part], part: Part) -> Expression:
        """SYSTEM.EVENT.$variable: a variable whose name several events have."""
        system, event = pieces[0].text, pieces[1].text
        rest = part.from_(pieces[2].at - part.at)
        if not rest.text.startswith("$"):
            raise self._source.error((_NO_FIELD, rest))
        name = rest.from_(1)
        variables = self._others.variables().get((system, event), {})
        if name.text not in variables:
            raise self._source.error((_NO_VARIABLE, name), (_NO_FIELD, rest))
        return VariableRef(name.text, system, event, part.text, variables[name.text])

    def _field(self, part: Part) -> FieldRef:
        name, dot, modifier = part.partition(".")
        if dot and not _is_modifier(modifier.text):
            raise self._source.error((_INVALID_MODIFIER, modifier))
        field = self.field(name)
        if field.kind == "stack field" and modifier.text != "stacktrace":
            raise self._source.error((_ARRAY, name))
        if not dot:
            return field
        if modifier.text.startswith("buckets="):
            return field._replace(modifier="buckets", bucket=self._bucket(modifier))
        self._check_modifier(field, name, modifier)
        # The stack of who called has only one form.
        return field if field.kind == "stack" else field._replace(modifier=modifier.text)

    def field(self, part: Part) -> FieldRef:
        """Return the field of this name, of the event or a common one."""
        field = self._fields.get(part.text)
        if field is not None:
            found = field_of(field)
            if field.count and not is_stack(found):
                raise self._source.error((_ARRAY, part))
            return found
        if part.text not in _COMMON:
            raise self._source.error((_NO_FIELD, part))
        kind, type_ = _COMMON[part.text]
        return FieldRef("common_stacktrace" if kind == "stack" else part.text, kind, type_)

    def _bucket(self, modifier: Part) -> int:
        size = modifier.from_(len("buckets="))
        value = integer(size.text)
        if not value:
            raise self._source.error((_INVALID_MODIFIER, size if size.text else modifier))
        return value

    def _check_modifier(self, field: FieldRef, name: Part, modifier: Part) -> None:
        if modifier.text == "stacktrace" and not is_stack(field):
            raise self._source.error((_INVALID_MODIFIER, name))
        if modifier.text == "execname" and field.kind != "pid":
            raise self._source.error((_INVALID_MODIFIER, modifier))
        if modifier.text == "string" and field.type not in _TEXTS:
            raise self._source.error((_INVALID_MODIFIER, modifier))


def integer(text: str) -> int | None:
    """Return the number of 64 bits that a text is, as C writes it: 10, 0xa or 012; None: it is none."""
    if not _NUMBER.fullmatch(text):
        return None
    value = int(text, 8 if text.isdigit() and text.startswith("0") else 0)
    return value if value < _U64 else None


def _is_modifier(text: str) -> bool:
    return text in MODIFIERS or text.startswith("buckets=")


def _operators_at(text: str) -> list[int]:
    """Return the places of the operators, but for a minus at the beginning."""
    hyphens = {place for found in _HYPHENS.finditer(text) for place in range(*found.span())}
    return [
        place
        for place, character in enumerate(text)
        if character in "+-*/" and place not in hyphens and (place or character != "-")
    ]


def _fold(operator: str, left: Number, right: Number) -> Number:
    a, b = left.value, right.value
    results: Mapping[str, int] = {"+": a + b, "-": a - b, "*": a * b, "/": a // b if b else 0}
    return Number(results[operator] % _U64)


def _unit(expression: Expression) -> str:
    """Return "ns" or "us" for a time, "" for anything else."""
    for leaf in leaves(expression):
        if isinstance(leaf, VariableRef):
            unit = _unit(leaf.value)
            if unit:
                return unit
        elif isinstance(leaf, FieldRef) and leaf.kind == "time":
            return "us" if leaf.modifier == "usecs" else "ns"
    return ""


def usable_in(source: Source, expression: Expression, part: Part, what: str) -> None:
    """Check the modifier of a key, a value or a variable.

    Raises:
        HistError: it has none of these modifiers.
    """
    modifier = expression.modifier if isinstance(expression, FieldRef) else ""
    after_dot = part.from_(part.text.find(".") + 1)
    if what != "value" and modifier in ("percent", "graph"):
        raise source.error((_INVALID_MODIFIER, after_dot))
    refused = {
        "key": (),
        "value": ("log2", "buckets", "sym", "sym-offset", "syscall", "usecs", "string", "stacktrace"),
        "variable": ("log2", "buckets"),
    }
    if modifier in refused[what]:
        raise source.error((_INVALID_MODIFIER, part))
