"""What a histogram trigger says, as typed objects.

Each of them has a `text`: how it reads back in the trigger file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from funcgraph.events.event_field import EventField

__all__ = [
    "Action",
    "Binary",
    "Expression",
    "FieldRef",
    "HistSpec",
    "Negated",
    "NoOthers",
    "Number",
    "Others",
    "Param",
    "SortKey",
    "Variable",
    "VariableRef",
    "field_of",
    "is_real",
    "is_signed",
    "is_stack",
    "leaves",
]

_SIGNED = ("s8", "s16", "s32", "s64")


class FieldRef(NamedTuple):
    """A field in a key, a value or an expression.

    Attributes:
        name: as it is printed.
        kind: "field", or "stack field" of one that is a stack; or, of a common field, "pid", "cpu", "comm",
            "time" or "stack"; or "hitcount".
        type: the field's, one of FIELD_TYPES; of a common one the type that it would have.
        modifier: "hex", "buckets" and so on; "": none.
        bucket: N of `buckets=N`.
    """

    name: str
    kind: str
    type: str
    modifier: str = ""
    bucket: int = 0

    @property
    def text(self) -> str:
        modifier = f"buckets={self.bucket}" if self.modifier == "buckets" else self.modifier
        return f"{self.name}.{modifier}" if modifier else self.name


def field_of(field: EventField) -> FieldRef:
    """Return the reference to a field of an event. An array of functions is a stack."""
    is_stack = field.type == "symbol" and field.count > 0
    return FieldRef(field.name, "stack field" if is_stack else "field", field.type)


class Number(NamedTuple):
    """A constant of 64 bits."""

    value: int

    @property
    def text(self) -> str:
        return str(self.value)

    @property
    def name(self) -> str:
        return self.text


class VariableRef(NamedTuple):
    """A variable of another histogram.

    Attributes:
        name: without `$`.
        system: of the event whose histogram sets it.
        event: its name.
        text: as it was written, `$ts0` or `sched.sched_waking.$ts0`.
        value: what it is set to.
    """

    name: str
    system: str
    event: str
    text: str
    value: Expression


class Negated(NamedTuple):
    """A minus before an expression in parentheses."""

    operand: Expression

    @property
    def text(self) -> str:
        return f"-({self.operand.text})"

    @property
    def name(self) -> str:
        return self.text


class Binary(NamedTuple):
    """Two operands and one of + - * /."""

    operator: str
    left: Expression
    right: Expression

    @property
    def text(self) -> str:
        return f"{self.left.text}{self.operator}{self.right.text}"

    @property
    def name(self) -> str:
        return self.text


Expression = FieldRef | Number | VariableRef | Negated | Binary


def leaves(expression: Expression) -> list[FieldRef | Number | VariableRef]:
    """Return the operands of an expression, from left to right."""
    if isinstance(expression, Negated):
        return leaves(expression.operand)
    if isinstance(expression, Binary):
        return [*leaves(expression.left), *leaves(expression.right)]
    return [expression]


def is_stack(expression: Expression) -> bool:
    """Return whether it is a stack: who called, a field, or a variable that holds one."""
    if isinstance(expression, VariableRef):
        return is_stack(expression.value)
    return isinstance(expression, FieldRef) and expression.kind in ("stack", "stack field")


def is_signed(expression: Expression) -> bool:
    """Return whether it can be negative: differences can, whatever their operands are."""
    if isinstance(expression, Negated):
        return True
    if isinstance(expression, Binary):
        return expression.operator == "-" or is_signed(expression.left) or is_signed(expression.right)
    if isinstance(expression, VariableRef):
        return is_signed(expression.value)
    return isinstance(expression, FieldRef) and expression.type in _SIGNED


def is_real(expression: Expression) -> bool:
    """Return whether it is a float by the types of its fields."""
    return any(
        is_real(leaf.value)
        if isinstance(leaf, VariableRef)
        else isinstance(leaf, FieldRef) and leaf.type == "f64"
        for leaf in leaves(expression)
    )


class Variable(NamedTuple):
    """`name=expression`: what each hit stores in its row, for other histograms and actions."""

    name: str
    value: Expression

    @property
    def text(self) -> str:
        return f"{self.name}={self.value.text}"


class SortKey(NamedTuple):
    """What rows are sorted by.

    Attributes:
        what: "hitcount", "key" or "value".
        place: in `keys` or `values`, from 0.
        is_descending: the largest first.
        text: as it reads back.
    """

    what: str
    place: int
    is_descending: bool
    text: str


class Param(NamedTuple):
    """A parameter of an action.

    Attributes:
        text: as it was written.
        value: what it is: an expression of this event, or the reference to another histogram's variable.
        variable: of this histogram; "": it is no variable of it.
        event: (system, event) whose field it is; None: it is none of another event.
    """

    text: str
    value: Expression
    variable: str = ""
    event: tuple[str, str] | None = None


class Action(NamedTuple):
    """What a hit does beside being counted.

    Attributes:
        handler: "onmatch", "onmax" or "onchange".
        match: (system, event) of onmatch.
        variable: of onmax and onchange, without `$`.
        action: "trace", "save" or "snapshot".
        synthetic: the event that "trace" generates.
        params: of "trace" the event's values, of "save" the fields.
        by_name: it was written `.EVENT(...)`, not `.trace(EVENT,...)`.
    """

    handler: str
    match: tuple[str, str]
    variable: str
    action: str
    synthetic: str
    params: tuple[Param, ...]
    by_name: bool

    @property
    def text(self) -> str:
        argument = ".".join(self.match) if self.handler == "onmatch" else f"${self.variable}"
        params = [param.text for param in self.params]
        name = self.synthetic if self.by_name else self.action
        if self.action == "trace" and not self.by_name:
            params.insert(0, self.synthetic)
        return f"{self.handler}({argument}).{name}({','.join(params)})"


class HistSpec(NamedTuple):
    """A histogram trigger.

    Attributes:
        system: of the event.
        event: its name.
        name: of a table that several events share; "": it has its own.
        keys: at least one.
        values: what is summed, beside the hitcount.
        variables: what each hit stores.
        sort: one or two.
        size: of the table, a power of two.
        clock: of common_timestamp; "": it is not used.
        has_hitcount: it is printed.
        actions: what a hit does beside being counted.
        filter: what comes after ` if `, as it was written; "": none.
        control: "pause", "cont" or "clear": what the command asks for; "": none of them.
    """

    system: str
    event: str
    name: str
    keys: tuple[Expression, ...]
    values: tuple[Expression, ...]
    variables: tuple[Variable, ...]
    sort: tuple[SortKey, ...]
    size: int
    clock: str
    has_hitcount: bool
    actions: tuple[Action, ...]
    filter: str
    control: str

    @property
    def text(self) -> str:
        """As it reads back, without the state in brackets."""
        values = ["hitcount"] if self.has_hitcount else []
        parts = [
            *([f"name={self.name}"] if self.name else []),
            "keys=" + ",".join(key.text for key in self.keys),
            "vals=" + ",".join([*values, *(value.text for value in self.values)]),
            *([",".join(variable.text for variable in self.variables)] if self.variables else []),
            "sort=" + ",".join(key.text for key in self.sort),
            f"size={self.size}",
            *([f"clock={self.clock}"] if self.clock else []),
            *([] if self.has_hitcount else ["nohitcount"]),
            *(action.text for action in self.actions),
        ]
        return f"hist:{':'.join(parts)}" + (f" if {self.filter}" if self.filter else "")

    @property
    def nr_snapshots(self) -> int:
        """How many of its actions take snapshots."""
        return sum(action.action == "snapshot" for action in self.actions)

    def info(self, is_paused: bool = False) -> str:
        """Return the line of the trigger file."""
        return f"{self.text} [{'paused' if is_paused else 'active'}]"

    def is_same(self, other: HistSpec) -> bool:
        """Return whether both name the same trigger of an event: everything but sizes counts."""
        return self._replace(size=0).text == other._replace(size=0).text

    def shares_with(self, other: HistSpec) -> bool:
        """Return whether both can share a table: the same keys, values and variables."""
        return self._columns() == other._columns()

    def _columns(self) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(part.text for part in parts) for parts in (self.keys, self.values, self.variables))


class Others(Protocol):
    """What a histogram trigger may refer to beside its own event."""

    def event_fields(self, system: str, event: str) -> Sequence[EventField] | None:
        """Return the fields of an event; None: there is no such event."""

    def synthetic_fields(self, event: str) -> Sequence[EventField] | None:
        """Return the fields of a synthetic event; None: there is no such event."""

    def variables(self) -> Mapping[tuple[str, str], Mapping[str, Expression]]:
        """Return what the variables of all histograms are set to, by (system, event) and name."""


class NoOthers:
    """There is nothing else."""

    def event_fields(self, system: str, event: str) -> Sequence[EventField] | None:
        del system, event
        return None

    def synthetic_fields(self, event: str) -> Sequence[EventField] | None:
        del event
        return None

    def variables(self) -> Mapping[tuple[str, str], Mapping[str, Expression]]:
        return {}
