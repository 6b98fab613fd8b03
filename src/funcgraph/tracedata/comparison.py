"""Two versions of a program side by side: calls and times of each function, in one or several runs of each.

Times of runs scatter by factors, not by sums, and their large values are rarer than their small ones. So
their logarithms are compared, by Welch's t-test: it needs no equal variances, and works from two runs on,
where rank tests need four. As many functions are tested at once, Benjamini's and Hochberg's procedure keeps
the share of false verdicts at 5 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from funcgraph.tracedata.summary import FunctionSummary
from funcgraph.tracedata.welch import significant, welch

# Of each run of each side: calls, own time and total time by function.
_Sides: TypeAlias = Sequence[Sequence[Mapping[str, tuple[int, int, int]]]]
Verdict: TypeAlias = Literal["more", "less", "same", "noise", "unknown", "new", "gone"]


@dataclass(slots=True)
class Measure:
    """One figure in the runs of both sides.

    Attributes:
        a, b: its value in each run of the first and of the second side.
        p: the probability of so large a difference by chance; None: a side has only one run.
        low, high: the ratio's 95 % confidence interval; None likewise.
        verdict: `more`, `less`: b is, beyond noise; `noise`: the difference may be chance; `same`: there is
            none; `unknown`: one run does not tell; `new`, `gone`: of a function that only one side has.
    """

    a: list[int]
    b: list[int]
    p: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: Verdict = "unknown"

    @property
    def mean_a(self) -> float:
        """The geometric mean of the first side; 0 if all its values are."""
        return _mean(self.a)

    @property
    def mean_b(self) -> float:
        """The geometric mean of the second side."""
        return _mean(self.b)

    @property
    def ratio(self) -> float | None:
        """How many times b is a; None if a is 0."""
        return self.mean_b / self.mean_a if any(self.a) else None

    def test(self) -> None:
        """Compare the two sides, without regard to other tests."""
        result = welch(*([math.log(max(value, 1)) for value in side] for side in (self.a, self.b)))
        if result is not None:
            self.p = result.p
            self.low, self.high = (
                math.exp(result.difference + sign * min(result.margin, 300)) for sign in (-1, 1)
            )

    def judge(self, is_found: bool) -> None:
        """Say what the test means, or, without one, what is plain."""
        if not any(self.a) or not any(self.b):
            self.verdict = "new" if any(self.b) else "gone" if any(self.a) else "same"
        elif sorted(self.a) == sorted(self.b):
            self.verdict = "same"
        elif self.p is not None:
            up: Verdict = "more" if self.mean_b > self.mean_a else "less"
            self.verdict = up if is_found else "noise"


def _mean(values: Sequence[int]) -> float:
    """Return the geometric mean, in which 0 counts as 1, unless all are 0."""
    if not any(values):
        return 0.0
    if len(set(values)) == 1:
        return float(values[0])
    return math.exp(math.fsum(math.log(max(value, 1)) for value in values) / len(values))


@dataclass(slots=True)
class Compared:
    """A function, or all of them (`name` is "")."""

    name: str
    calls: Measure
    self_ns: Measure
    total_ns: Measure

    def measures(self) -> tuple[Measure, Measure, Measure]:
        """Return its three figures."""
        return self.calls, self.self_ns, self.total_ns

    @property
    def is_new(self) -> bool:
        """Whether only the second side calls it."""
        return not any(self.calls.a)

    @property
    def is_gone(self) -> bool:
        """Whether only the first side calls it."""
        return not any(self.calls.b)


@dataclass(slots=True)
class Comparison:
    """Two sides.

    Attributes:
        runs: how many runs each has.
        functions: all that one of them calls, those with the largest difference of own time first.
        whole: their sums; `total_ns` is the sum of own times, as `self_ns`.
    """

    runs: tuple[int, int]
    functions: list[Compared] = field(default_factory=list)
    whole: Compared = field(default_factory=lambda: Compared("", *(Measure([], []) for _ in range(3))))


def compare(a: Sequence[Iterable[FunctionSummary]], b: Sequence[Iterable[FunctionSummary]]) -> Comparison:
    """Compare the summaries of the runs of two sides. A function is the same if its name is."""
    sides = [[_by_name(rows) for rows in runs] for runs in (a, b)]
    names = sorted({name for runs in sides for rows in runs for name in rows})
    functions = [Compared(name, *(_measure(sides, name, place) for place in range(3))) for name in names]
    whole = Compared("", _sums(sides, 0), _sums(sides, 1), _sums(sides, 1))
    _judge(functions)
    _judge([whole])
    functions.sort(key=lambda f: (-abs(f.self_ns.mean_b - f.self_ns.mean_a), f.name))
    return Comparison((len(a), len(b)), functions, whole)


def _by_name(rows: Iterable[FunctionSummary]) -> dict[str, tuple[int, int, int]]:
    """Return calls, own time and total time of each function by name."""
    figures: dict[str, tuple[int, int, int]] = {}
    for row in rows:
        calls, self_ns, total_ns = figures.get(row.name, (0, 0, 0))
        figures[row.name] = (calls + row.calls, self_ns + row.self_ns, total_ns + row.total_ns)
    return figures


def _measure(sides: _Sides, name: str, place: int) -> Measure:
    a, b = ([rows.get(name, (0, 0, 0))[place] for rows in runs] for runs in sides)
    return Measure(a, b)


def _sums(sides: _Sides, place: int) -> Measure:
    """Return the sums over all functions."""
    a, b = ([sum(row[place] for row in rows.values()) for rows in runs] for runs in sides)
    return Measure(a, b)


def _judge(rows: Sequence[Compared]) -> None:
    """Test each figure; the tests of one figure for all functions are one family."""
    for figures in zip(*(row.measures() for row in rows), strict=True):
        for figure in figures:
            figure.test()
        tested = [figure for figure in figures if figure.p is not None]
        found = significant([figure.p or 0.0 for figure in tested])
        verdicts = dict(zip(map(id, tested), found, strict=True))
        for figure in figures:
            figure.judge(verdicts.get(id(figure), False))
