"""Two versions of a program side by side: calls and times of each function, in one or several runs of each.

Times of runs scatter by factors, not by sums, and their large values are rarer than their small ones. So
their logarithms are compared, by Welch's t-test: it needs no equal variances, and works from two runs on,
where rank tests need four. As many functions are tested at once, Benjamini's and Hochberg's procedure keeps
the share of false verdicts at 5 %. Beside it stands a bootstrap interval of the ratio, which takes no
distribution for granted, and is too narrow for a few runs: it has no part in the verdict.

On a loaded machine a run waits for the processor, and wall times say little. The shortest call of each run
is seldom interrupted: of a function without traced callees it tells what a call costs, however loaded the
machine is. So both are tested, each at half the rate. (J. Chen and J. Revels, "Robust benchmarking in noisy
environments", 2016, take the minimum for this reason.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from funcgraph.diff.bootstrap import bootstrap
from funcgraph.diff.welch import significant, welch
from funcgraph.tracedata.summary import FunctionSummary

# Of each run of each side: calls, own time, total time and the shortest call by function.
_Figures: TypeAlias = tuple[int, int, int, int]
_Sides: TypeAlias = Sequence[Sequence[Mapping[str, _Figures]]]
_NONE: _Figures = (0, 0, 0, 0)
_RATE = 0.05
Verdict: TypeAlias = Literal["more", "less", "same", "noise", "unknown", "new", "gone"]


@dataclass(slots=True)
class Measure:
    """One figure in the runs of both sides.

    Attributes:
        a, b: its value in each run of the first and of the second side.
        p: the probability of so large a difference by chance; None: a side has only one run.
        low, high: the ratio's 95 % confidence interval by Welch's t-test; None likewise.
        detectable: how many times the smaller side the larger one must be for such runs to show it in 80 % of
            all cases; None likewise.
        verdict: `more`, `less`: b is, beyond noise; `noise`: the difference may be chance; `same`: there is
            none; `unknown`: one run does not tell; `new`, `gone`: of a function that only one side has.
    """

    a: list[int]
    b: list[int]
    p: float | None = None
    low: float | None = None
    high: float | None = None
    detectable: float | None = None
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

    @property
    def bootstrap(self) -> tuple[float, float] | None:
        """The ratio's 95 % percentile bootstrap interval over the runs; None: a side has one, or only 0."""
        return bootstrap(self.a, self.b) if any(self.a) and any(self.b) else None

    def test(self, rate: float) -> None:
        """Compare the two sides, without regard to other tests.

        Args:
            rate: how often a difference that is none may be found, for `detectable`.
        """
        result = welch(*([math.log(max(value, 1)) for value in side] for side in (self.a, self.b)))
        if result is not None:
            self.p = result.p
            self.detectable = math.exp(min(result.detectable(rate), 300))
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
    """A function, or all of them (`name` is "").

    Attributes:
        best_ns: the shortest call of each run. Of all functions: own times, as `self_ns`.
    """

    name: str
    calls: Measure
    self_ns: Measure
    total_ns: Measure
    best_ns: Measure

    def measures(self) -> tuple[Measure, Measure, Measure, Measure]:
        """Return its figures."""
        return self.calls, self.self_ns, self.total_ns, self.best_ns

    @property
    def own_time(self) -> Measure:
        """What tells of its own time: that, or the shortest call if this tells a difference more surely."""
        return self._clearer(self.self_ns) if self.is_leaf else self.self_ns

    @property
    def is_leaf(self) -> bool:
        """Whether it had no traced callees: its shortest call is its own time."""
        return self.self_ns.a == self.total_ns.a and self.self_ns.b == self.total_ns.b

    @property
    def time(self) -> Measure:
        """What tells of its total time, likewise."""
        return self._clearer(self.total_ns)

    def _clearer(self, sums: Measure) -> Measure:
        found = [figure for figure in (sums, self.best_ns) if figure.verdict in ("more", "less")]
        # By chance one of two that are alike is a little surer: then it is the sums.
        return min(found, key=lambda figure: (figure.p or 0.0) * (1 if figure is sums else 2), default=sums)

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
    whole: Compared = field(default_factory=lambda: Compared("", *(Measure([], []) for _ in range(4))))


def compare(a: Sequence[Iterable[FunctionSummary]], b: Sequence[Iterable[FunctionSummary]]) -> Comparison:
    """Compare the summaries of the runs of two sides. A function is the same if its name is."""
    sides = [[_by_name(rows) for rows in runs] for runs in (a, b)]
    names = sorted({name for runs in sides for rows in runs for name in rows})
    functions = [Compared(name, *(_measure(sides, name, place) for place in range(4))) for name in names]
    whole = Compared("", _sums(sides, 0), *(_sums(sides, 1) for _ in range(3)))
    _judge(functions, _RATE / 2)
    _judge([whole], _RATE)
    functions.sort(key=lambda f: (-abs(f.self_ns.mean_b - f.self_ns.mean_a), f.name))
    return Comparison((len(a), len(b)), functions, whole)


def _by_name(rows: Iterable[FunctionSummary]) -> dict[str, _Figures]:
    """Return the figures of each function by name."""
    figures: dict[str, _Figures] = {}
    for row in rows:
        calls, self_ns, total_ns, best_ns = figures.get(row.name, _NONE)
        shortest = [time for time in (best_ns, row.min_ns) if time]
        figures[row.name] = (
            calls + row.calls,
            self_ns + row.self_ns,
            total_ns + row.total_ns,
            min(shortest, default=0),
        )
    return figures


def _measure(sides: _Sides, name: str, place: int) -> Measure:
    a, b = ([rows.get(name, _NONE)[place] for rows in runs] for runs in sides)
    return Measure(a, b)


def _sums(sides: _Sides, place: int) -> Measure:
    """Return the sums over all functions."""
    a, b = ([sum(row[place] for row in rows.values()) for rows in runs] for runs in sides)
    return Measure(a, b)


def _judge(rows: Sequence[Compared], rate: float) -> None:
    """Test each figure; the tests of one figure for all functions are one family."""
    for figures in zip(*(row.measures() for row in rows), strict=True):
        for figure in figures:
            figure.test(rate / len(figures))  # what the first one of them needs to be found
        tested = [figure for figure in figures if figure.p is not None]
        found = significant([figure.p or 0.0 for figure in tested], rate)
        verdicts = dict(zip(map(id, tested), found, strict=True))
        for figure in figures:
            figure.judge(verdicts.get(id(figure), False))
