"""Calls of a function grouped by their values: arguments, results, exceptions; and which value tells what."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from funcgraph import _tracedata
from funcgraph.answers.facts import Names, Place, place_at
from funcgraph.answers.value_text import recorded_text, size_text
from funcgraph.names import nearest_names, printable
from funcgraph.tracedata.description import OUTCOMES, SelectionError, encodable, reading_error
from funcgraph.tracedata.selection import Selection
from funcgraph.tracedata.summary import function_key

if TYPE_CHECKING:
    from funcgraph._tracedata import ValueFieldTuple, ValueGroupTuple, ValuesTuple
    from funcgraph.tracedata.description import Function
    from funcgraph.tracedata.opened import Trace

FieldKind: TypeAlias = Literal["argument", "result", "exception"]
#: What a value may explain: how long calls take, or which raise.
Ranking: TypeAlias = Literal["slow", "raise"]

_BINS = 160  # FG_VALUE_BINS
_OUTCOMES: tuple[FieldKind, ...] = ("result", "exception")
_LEAST_CALLS = 2  # for each group on average: with fewer, the correction is larger than what it corrects
_SIMPLER = 0.02  # what a value explains ranks so much lower for twice the number of values
_NEARLY = 0.02  # a grouping by value is easier to read than one by size that says so much more
_FEW = 8  # values that are read at a glance: of so few, chance durations do not decide what is shown


@dataclass(slots=True)
class ValueGroup:
    """Calls that have one value.

    Attributes:
        text: the value, as a report prints it; of a size, as `128..255`; "" stands for all other values.
        calls: how many.
        raised: how many of them an exception ended.
        timed: those whose duration is known.
        total_ns, min_ns, max_ns: of these, without suspended time.
        log_sum: the sum of the binary logarithms of their durations.
        slowest: where the longest one is.
        bins: counts by duration, four for each power of two of nanoseconds.
    """

    text: str
    calls: int
    raised: int
    timed: int
    total_ns: int
    min_ns: int
    max_ns: int
    log_sum: float
    slowest: Place
    bins: list[int]

    @property
    def mean_ns(self) -> float:
        """The mean duration."""
        return self.total_ns / self.timed if self.timed else 0.0

    def quantile_ns(self, share: float) -> float:
        """Return the duration below which so many calls are, to about 12 percent."""
        least, seen = share * self.timed, 0
        for number, count in enumerate(self.bins):
            seen += count
            if count and seen >= least:
                return min(max(_bin_ns(number), self.min_ns), self.max_ns)
        return float(self.max_ns)

    def add(self, other: ValueGroup) -> None:
        """Add the calls of another group."""
        if other.timed and (not self.timed or other.max_ns > self.max_ns):
            self.max_ns, self.slowest = other.max_ns, other.slowest
        timed = [group.min_ns for group in (self, other) if group.timed]
        self.min_ns = min(timed, default=0)
        self.calls += other.calls
        self.raised += other.raised
        self.timed += other.timed
        self.total_ns += other.total_ns
        self.log_sum += other.log_sum
        self.bins = [mine + its for mine, its in zip(self.bins, other.bins, strict=True)]


class Distribution(NamedTuple):
    """The durations of groups of calls on one scale.

    Attributes:
        least_ns, most_ns: where the scale begins and ends; it is logarithmic.
        counts: of each group: how many calls in each column of the scale.
    """

    least_ns: float
    most_ns: float
    counts: list[list[int]]


@dataclass(slots=True)
class ValueField:
    """What calls were grouped by.

    Attributes:
        name: of an argument; else `result` or `exception`. An attribute of one that `--values` recorded has
            its name behind that: `cart.user`.
        kind: which of these it is, or is an attribute of.
        by_size: whether the groups are sizes, by powers of two, as there are too many values.
        groups: one for each value, those with the most time first; the last one may be all others.
        slow_share: which share of the variance of the durations (their logarithms) the value explains, 0 to
            1, corrected for the number of groups; None: not known.
        raise_share: the same of the uncertainty (entropy) whether a call raises; None: no call does, all do,
            or the field is none of the arguments.
    """

    name: str
    kind: FieldKind
    by_size: bool
    groups: list[ValueGroup]
    slow_share: float | None
    raise_share: float | None

    def share(self, by: Ranking) -> float | None:
        """Return `slow_share` or `raise_share`."""
        return self.slow_share if by == "slow" else self.raise_share


@dataclass(slots=True)
class FunctionValues:
    """The calls of a function by their values.

    Attributes:
        function: the function.
        all: all its calls.
        open: how many did not end in the trace.
        fields: what they were grouped by, the arguments first.
    """

    function: Function
    all: ValueGroup
    open: int
    fields: list[ValueField]

    def field(self, name: str) -> ValueField | None:
        """Return the field of a name, of which `ret` and `exc` are others for `result` and `exception`, as in
        a filter over values; None: nothing of it is recorded."""
        named = {one.name: one for one in reversed(self.fields)}
        owner, dot, attribute = name.partition(".")
        same = next((one for one, other in OUTCOMES.items() if other == owner), owner)
        return named.get(name) or named.get(f"{same}{dot}{attribute}")

    def ranked(self, by: Ranking) -> list[ValueField]:
        """Return the fields that explain durations, or exceptions, the best one first. Of those that explain
        about as much, that with fewer values is the better explanation."""
        shares = [(one.share(by), one) for one in self.fields]
        known = [
            (share - _SIMPLER * math.log2(len(one.groups)), one) for share, one in shares if share is not None
        ]
        return [one for _, one in sorted(known, key=lambda pair: -pair[0])]


def values(trace: Trace, function: str, *, select: Selection | None = None) -> list[FunctionValues]:
    """Group the calls of functions by each of their arguments, results and exceptions, and by each attribute
    of these that was recorded.

    Args:
        trace: what `funcgraph.open` returned.
        function: a function's name, or a pattern as of `funcgraph record -l`.
        select: the part of the trace that is read; None: all.

    Returns:
        The functions that were called, the one with the most time first.

    Raises:
        SelectionError: no function of the trace matches, or more than 64 that were called; or the trace has
            no such part.
        TraceError: the file is damaged.
        OSError: it cannot be read.

    Example:
        >>> with funcgraph.open("trace.fg") as trace:
        ...     for field in answers.values(trace, "shop.price")[0].ranked("slow"):
        ...         print(field.name, field.slow_share)
    """
    reading = trace.reading(select)
    mask = function_mask(trace, function)
    try:
        rows = reading.reader.call_values(
            reading.functions, reading.tasks, reading.select_unknown, mask, reading.selection
        )
    except OverflowError as error:
        raise SelectionError(f"'{printable(function)}': {error}") from None
    except ValueError as error:
        raise reading_error(error) from None
    merged: dict[object, _Calls] = {}
    names = Names(trace.functions)
    for row in rows:
        found = names.function(row[0])
        assert found is not None  # the mask has only functions of the trace
        calls = merged.setdefault(function_key(found), _Calls(found))
        calls.add(row, trace)
    made = [calls.values() for calls in merged.values()]
    return sorted(made, key=lambda calls: (-calls.all.total_ns, calls.function.name))


def function_mask(trace: Trace, pattern: str) -> bytes:
    """Return for each function of a trace 1 if a name or a pattern is about it, else 0. A name comes first.

    Raises:
        SelectionError: no function of the trace matches.
    """
    names = [(encodable(f.name), encodable(f.module)) for f in trace.functions]
    exact = bytes(function.name == pattern for function in trace.functions)
    if any(exact):
        return exact
    try:
        found = _tracedata.match_functions(encodable(pattern), names)
    except ValueError as error:
        raise SelectionError(f"'{printable(pattern)}': {error}") from None
    if any(found):
        return found
    near = nearest_names(pattern, [name for name, _ in names])
    hint = f"; similar names: {', '.join(map(printable, near))}" if near else ""
    raise SelectionError(f"no function of the trace matches '{printable(pattern)}'{hint}")


# ---- groups


class _FieldKey(NamedTuple):
    """What a field is: an argument of a number, the result or the exception, or an attribute of it."""

    kind: FieldKind
    number: int = 0
    attribute: str = ""

    def place(self) -> tuple[bool, int, bool, bool]:
        """Return what sorts fields: arguments by number, then outcomes; each before its attributes."""
        return self.kind != "argument", self.number, self.kind == "exception", bool(self.attribute)


@dataclass(slots=True)
class _Grouping:
    """Groups by key; None: those that came when there were too many."""

    groups: dict[bytes | None, ValueGroup] = field(default_factory=dict)

    def add(self, key: bytes | None, group: ValueGroup) -> None:
        if key in self.groups:
            self.groups[key].add(group)
        else:
            self.groups[key] = group


class _Calls:
    """The calls of a function, which may have several numbers in the trace."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.all: ValueGroup | None = None
        self.log_squares = 0.0
        self.open = 0
        self.fields: dict[_FieldKey, tuple[_Grouping, _Grouping]] = {}

    def add(self, row: ValuesTuple, trace: Trace) -> None:
        _, whole, log_squares, nr_open, arguments, outcomes, attributes = row
        group = _group(whole, "", trace)
        if self.all is None:
            self.all = group
        else:
            self.all.add(group)
        self.log_squares += log_squares
        self.open += nr_open
        for number, one in enumerate(arguments):
            self._add_field(_FieldKey("argument", number), one, trace)
        for kind, one in zip(_OUTCOMES, outcomes, strict=True):
            self._add_field(_FieldKey(kind), one, trace)
        for is_argument, number, attribute, one in attributes:
            base = _FieldKey("argument", number) if is_argument else _FieldKey(_OUTCOMES[number])
            self._add_field(base._replace(attribute=attribute), one, trace)

    def _add_field(self, key: _FieldKey, rows: ValueFieldTuple, trace: Trace) -> None:
        groupings = self.fields.setdefault(key, (_Grouping(), _Grouping()))
        for grouping, (groups, rest), text in zip(groupings, rows, (recorded_text, size_text), strict=True):
            for group in groups:
                grouping.add(group[0], _group(group, text(group[0]), trace))
            if rest is not None:
                grouping.add(None, _group(rest, "", trace))

    def values(self) -> FunctionValues:
        assert self.all is not None  # a row was added
        fields = [self._field(key, *self.fields[key]) for key in sorted(self.fields, key=_FieldKey.place)]
        return FunctionValues(self.function, self.all, self.open, [one for one in fields if one.groups])

    def _field(self, key: _FieldKey, by_value: _Grouping, by_size: _Grouping) -> ValueField:
        assert self.all is not None
        exact, coarse = list(by_value.groups.values()), list(by_size.groups.values())
        shares = [self._shares(key.kind, groups) for groups in (exact, coarse)]
        too_many = None in by_value.groups or self.all.timed < _LEAST_CALLS * len(exact)
        use_size = len(coarse) < len(exact) and (
            too_many
            or (
                len(exact) > _FEW
                and any((large or 0) > (small or 0) + _NEARLY for small, large in zip(*shares, strict=True))
            )
        )
        groups = coarse if use_size else exact
        groups.sort(key=lambda group: (not group.text, -group.total_ns, -group.calls, group.text))
        return ValueField(self._name(key), key.kind, use_size, groups, *shares[use_size])

    def _name(self, key: _FieldKey) -> str:
        name = self._argument_name(key.number) if key.kind == "argument" else str(key.kind)
        return printable(f"{name}.{key.attribute}" if key.attribute else name)

    def _argument_name(self, number: int) -> str:
        names = self.function.starred_arguments()
        return names[number].lstrip("*") if number < len(names) else f"argument {number + 1}"

    def _shares(self, kind: FieldKind, groups: Sequence[ValueGroup]) -> tuple[float | None, float | None]:
        assert self.all is not None
        slow = _variance_share(self.all, self.log_squares, groups)
        return slow, _information_share(self.all, groups) if kind == "argument" else None


def _group(row: ValueGroupTuple, text: str, trace: Trace) -> ValueGroup:
    _, calls, raised, timed, total, least, most, log_sum, begin, end, task, bins = row
    counts = list(memoryview(bins).cast("I"))
    place = place_at(trace, begin, end, task)
    return ValueGroup(text, calls, raised, timed, total, least, most, log_sum, place, counts)


def distribution(groups: Sequence[ValueGroup], columns: int) -> Distribution:
    """Return how many calls of each group took how long, on one logarithmic scale.

    Args:
        groups: the groups.
        columns: of the scale, at most.
    """
    used = [number for group in groups for number, count in enumerate(group.bins) if count]
    low, high = (min(used), max(used) + 1) if used else (0, 1)
    columns = min(columns, high - low)
    counts = [[0] * columns for _ in groups]
    for row, group in zip(counts, groups, strict=True):
        for number in range(low, high):
            row[(number - low) * columns // (high - low)] += group.bins[number]
    return Distribution(2.0 ** (low / 4), 2.0 ** (high / 4), counts)


def _bin_ns(number: int) -> float:
    """Return the middle of a bin."""
    exponent, quarter = divmod(number, 4)
    if exponent < 2:
        return float(number)
    return math.ldexp(1 + (quarter + 0.5) / 4, exponent)


# ---- rankings


def _variance_share(whole: ValueGroup, log_squares: float, groups: Iterable[ValueGroup]) -> float | None:
    """Return the share of variance between groups (eta squared), corrected for their number (epsilon squared:
    1 - (1 - eta^2) (n - 1) / (n - k)). Calls in no group are one more. None: there are too few calls."""
    parts = [(group.timed, group.log_sum) for group in groups if group.timed]
    n, log_sum = whole.timed, whole.log_sum
    rest = n - sum(count for count, _ in parts)
    if rest > 0:
        parts.append((rest, log_sum - sum(part for _, part in parts)))
    if n < _LEAST_CALLS * len(parts) or not n:
        return None
    mean = log_sum / n
    all_of_it = log_squares - n * mean * mean
    if all_of_it <= 1e-9 * n:
        return 0.0
    between = sum(part * part / count for count, part in parts) - n * mean * mean
    share = 1 - (1 - between / all_of_it) * (n - 1) / (n - len(parts))
    return min(max(share, 0.0), 1.0)


def _information_share(whole: ValueGroup, groups: Sequence[ValueGroup]) -> float | None:
    """Return how much of the entropy of raising the groups explain, corrected for their number (Miller and
    Madow: (k - 1) / 2n). None: there is no uncertainty, or there are too few calls."""
    n = whole.calls
    entropy = _entropy(whole.raised, n)
    parts = [(group.calls, group.raised) for group in groups]
    rest = n - sum(calls for calls, _ in parts)
    if rest > 0:
        parts.append((rest, whole.raised - sum(raised for _, raised in parts)))
    if not entropy or n < _LEAST_CALLS * len(parts):
        return None
    left = sum(calls * _entropy(raised, calls) for calls, raised in parts) / n
    gain = entropy - left - (len(parts) - 1) / (2 * n * math.log(2))
    return min(max(gain / entropy, 0.0), 1.0)


def _entropy(some: int, of: int) -> float:
    """Return the entropy of a yes or no, in bits."""
    if not 0 < some < of:
        return 0.0
    share = some / of
    return -share * math.log2(share) - (1 - share) * math.log2(1 - share)
