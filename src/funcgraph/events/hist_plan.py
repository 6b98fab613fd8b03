"""From a histogram trigger to what the engine gets: terms in postfix form, without names of Python.

The binding makes struct fg_hist_plan (src/engine/hist/hist.h) of a Plan. A step ("field", NAME) becomes the
place of that field in the event's image.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from funcgraph.events.hist_spec import (
    Binary,
    Expression,
    FieldRef,
    HistSpec,
    Negated,
    Number,
    Param,
    VariableRef,
    is_real,
    is_signed,
    is_stack,
    leaves,
)

__all__ = [
    "KIND_WORDS",
    "ActionPlan",
    "Compiled",
    "Plan",
    "Reference",
    "Step",
    "Term",
    "Track",
    "compile_field",
    "compile_hist",
    "compile_plan",
    "sum_of",
]

Step = tuple[str | int, ...]

#: 8-byte words of a key of each kind: FG_HIST_KINDS of src/engine/hist/hist_term.h.
KIND_WORDS = {
    "number": 1,
    "real": 1,
    "fetched": 2,
    "fetched_real": 2,
    "text": 15,
    "comm": 3,
    "value": 8,
    "stack": 9,
}

_COMMON_STEPS = {"pid": "pid", "cpu": "cpu", "comm": "comm", "stack": "stack"}
_OPERATORS = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}
_DYNAMIC = ("value", "object")
_FETCHED = {"number": "fetched", "real": "fetched_real"}


class Term(NamedTuple):
    """A key, a value, a variable or what is saved: struct fg_hist_term.

    Attributes:
        kind: a name of FG_HIST_KINDS.
        steps: each a name of FG_HIST_STEPS and its argument: ("field", "count"), ("number", 1),
            ("variable", 0), ("add",).
        modifier: "", "log2" or "buckets".
        bucket: the size of a bucket, or 0.
        is_signed: a "number" can be negative.
    """

    kind: str
    steps: tuple[Step, ...]
    modifier: str = ""
    bucket: int = 0
    is_signed: bool = False


class Track(NamedTuple):
    """What a row keeps for an onmax() or onchange(): struct fg_hist_track.

    Attributes:
        variable: its place among the variables.
        is_change: onchange().
    """

    variable: int
    is_change: bool


class Reference(NamedTuple):
    """A variable of another histogram.

    Attributes:
        system, event: the event whose histogram has it.
        name: the variable; or a field of the event, which a histogram of its own keeps.
        is_field: it is such a field.
    """

    system: str
    event: str
    name: str
    is_field: bool = False


class ActionPlan(NamedTuple):
    """What a hit does beside being counted: struct fg_hist_action.

    Attributes:
        tracked: the one of the plan's that must be due; -1: each hit acts.
        synthetic: the event that it generates; "": it generates none.
        values: of the event's fields.
        is_snapshot: it takes a snapshot of the instance.
    """

    tracked: int
    synthetic: str
    values: tuple[Term, ...]
    is_snapshot: bool


class Plan(NamedTuple):
    """What a histogram is made of: struct fg_hist_plan.

    Attributes:
        size: of the table.
        keys: as in the trigger.
        values: what is summed; a sum that is printed twice (`count,count.percent`) is there once.
        variables: as in the trigger.
        keeps_comm: each row keeps the comm of the thread that hit it first.
        tracked: one for each action with onmax() or onchange(), in order.
        saver: the one of them that has save(); -1: none.
        saved: its fields.
    """

    size: int
    keys: tuple[Term, ...]
    values: tuple[Term, ...]
    variables: tuple[Term, ...]
    keeps_comm: bool
    tracked: tuple[Track, ...]
    saver: int
    saved: tuple[Term, ...]


class Compiled(NamedTuple):
    """What the engine gets of a trigger.

    Attributes:
        plan: of its histogram.
        references: variables of other histograms, by the number in ("variable", N).
        actions: in order.
    """

    plan: Plan
    references: tuple[Reference, ...]
    actions: tuple[ActionPlan, ...]


def compile_plan(spec: HistSpec) -> Plan:
    """Return what the engine gets of a trigger's histogram."""
    return compile_hist(spec).plan


def compile_field(name: str, type: str) -> Term:
    """Return the term that is a field of an event.

    Args:
        name: the field's.
        type: one of FIELD_TYPES.
    """
    return _Compiler().key(FieldRef(name, "field", type))


def compile_hist(spec: HistSpec) -> Compiled:
    """Return what the engine gets of a trigger."""
    compiler = _Compiler()
    keys = tuple(compiler.key(key) for key in spec.keys)
    values = tuple(compiler.number(value) for value in _sums(spec.values))
    variables = tuple(compiler.key(variable.value) for variable in spec.variables)
    names = [variable.name for variable in spec.variables]
    tracking = [action for action in spec.actions if action.handler != "onmatch"]
    tracked = tuple(Track(names.index(action.variable), action.handler == "onchange") for action in tracking)
    kinds = [action.action for action in tracking]
    saver = kinds.index("save") if "save" in kinds else -1
    saved = tuple(compiler.key(param.value) for param in tracking[saver].params) if saver >= 0 else ()
    keeps_comm = any(isinstance(key, FieldRef) and key.modifier == "execname" for key in spec.keys)
    plan = Plan(spec.size, keys, values, variables, keeps_comm, tracked, saver, saved)
    actions = _actions(spec, compiler)
    return Compiled(plan, tuple(compiler.references), actions)


def _actions(spec: HistSpec, compiler: _Compiler) -> tuple[ActionPlan, ...]:
    found = []
    nr_tracked = 0
    for action in spec.actions:
        tracked = -1
        if action.handler != "onmatch":
            tracked, nr_tracked = nr_tracked, nr_tracked + 1
        params = action.params if action.action == "trace" else ()
        values = tuple(compiler.param(param) for param in params)
        found.append(ActionPlan(tracked, action.synthetic, values, action.action == "snapshot"))
    return tuple(found)


def sum_of(spec: HistSpec, place: int) -> int | None:
    """Return which of the plan's values is the sum of a value of the trigger; None: the hitcount is."""
    value = _bare(spec.values[place])
    return None if _is_hitcount(value) else _sums(spec.values).index(value)


def _is_hitcount(value: Expression) -> bool:
    return isinstance(value, FieldRef) and value.kind == "hitcount"


def _bare(value: Expression) -> Expression:
    """Return a value without what changes only its text."""
    return value._replace(modifier="") if isinstance(value, FieldRef) else value


def _sums(values: Sequence[Expression]) -> list[Expression]:
    return [value for value in dict.fromkeys(map(_bare, values)) if not _is_hitcount(value)]


class _Compiler:
    def __init__(self) -> None:
        self.references: list[Reference] = []

    def param(self, param: Param) -> Term:
        """A parameter of an action: it may be a field of another event."""
        if not param.event:
            return self.key(param.value)
        assert isinstance(param.value, FieldRef)
        step = self._variable(Reference(*param.event, param.value.name, is_field=True))
        return Term(_key_kind(param.value), (step,), is_signed=is_signed(param.value))

    def key(self, key: Expression) -> Term:
        kind = _key_kind(key)
        modifier = key.modifier if isinstance(key, FieldRef) else ""
        if modifier not in ("log2", "buckets"):
            return Term(kind, self._steps(key), is_signed=is_signed(key))
        assert isinstance(key, FieldRef)
        kind = {"real": "number", "fetched_real": "fetched"}.get(kind, kind)
        return Term(kind, self._steps(key), modifier, key.bucket, is_signed(key))

    def number(self, value: Expression) -> Term:
        """A text and a stack count as 0."""
        kind = _kind(value)
        kind = kind if kind in ("real", "value") else "number"
        return Term(kind, self._steps(value), is_signed=is_signed(value))

    def _steps(self, expression: Expression) -> tuple[Step, ...]:
        if isinstance(expression, Number):
            return (("number", expression.value),)
        if isinstance(expression, Negated):
            return (*self._steps(expression.operand), ("negate",))
        if isinstance(expression, Binary):
            left, right = self._steps(expression.left), self._steps(expression.right)
            return (*left, *right, (_OPERATORS[expression.operator],))
        if isinstance(expression, VariableRef):
            return (self._reference(expression),)
        return (_field_step(expression),)

    def _reference(self, variable: VariableRef) -> Step:
        return self._variable(Reference(variable.system, variable.event, variable.name))

    def _variable(self, reference: Reference) -> Step:
        if reference not in self.references:
            self.references.append(reference)
        return ("variable", self.references.index(reference))


def _field_step(field: FieldRef) -> Step:
    if field.kind == "time":
        return ("time_usecs" if field.modifier == "usecs" else "time",)
    if field.kind == "hitcount":  # as a key or in an expression: the kernel's is 0 there
        return ("number", 0)
    return (_COMMON_STEPS[field.kind],) if field.kind in _COMMON_STEPS else ("field", field.name)


def _kind(expression: Expression) -> str:
    if is_stack(expression):
        return "stack"
    if isinstance(expression, FieldRef):
        if expression.kind == "comm":
            return expression.kind
        if expression.type in ("string", *_DYNAMIC):
            return "text" if expression.type == "string" else "value"
    if isinstance(expression, VariableRef):
        return _kind(expression.value)
    if any(_is_dynamic(leaf) for leaf in leaves(expression)):
        return "value"
    return "real" if is_real(expression) else "number"


def _key_kind(expression: Expression) -> str:
    """Return the kind of a key, a variable or what is saved: a number that could not be read is no 0."""
    kind = _kind(expression)
    if kind not in _FETCHED or not any(map(_is_fetched, leaves(expression))):
        return kind
    return _FETCHED[kind]


def _is_fetched(leaf: Expression) -> bool:
    if isinstance(leaf, VariableRef):
        return any(map(_is_fetched, leaves(leaf.value)))
    return isinstance(leaf, FieldRef) and leaf.kind == "field"


def _is_dynamic(leaf: Expression) -> bool:
    if isinstance(leaf, VariableRef):
        return any(_is_dynamic(inner) for inner in leaves(leaf.value))
    return isinstance(leaf, FieldRef) and leaf.type in _DYNAMIC
