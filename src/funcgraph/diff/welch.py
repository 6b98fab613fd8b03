"""Is the difference of two samples more than noise? Welch's t-test; the false discovery rate of many tests.

Sources: B. L. Welch, "The generalization of 'Student's' problem" (1947); Y. Benjamini and Y. Hochberg,
"Controlling the false discovery rate" (1995). The t distribution is computed by the continued fraction of the
incomplete beta function.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

_TINY = 1e-300
_EXACT = 1e-15
_MAX_STEPS = 300
_LONGEST_STEP = 1.0  # of log t: the first one may go far beyond, where the probability is 0
_NEARLY = 1e-10  # a step so short leaves an error that is its square


class Test(NamedTuple):
    """A comparison of two samples.

    Attributes:
        difference: mean of the second less mean of the first.
        p: how probable so large a difference is if both have one mean.
        margin: half the width of the difference's 95 % confidence interval.
        error: the standard error of the difference.
        degrees: its degrees of freedom.
    """

    difference: float
    p: float
    margin: float
    error: float = 0.0
    degrees: float = math.inf

    def detectable(self, rate: float = 0.05, power: float = 0.8) -> float:
        """Return the smallest difference that samples like these show with this power, if as many as `rate`
        may be wrong."""
        if not self.error:
            return 0.0
        return (quantile(self.degrees, rate) + quantile(self.degrees, 2 * (1 - power))) * self.error


def welch(first: Sequence[float], second: Sequence[float]) -> Test | None:
    """Compare two samples, whose variances may differ; None: one has fewer than two values."""
    if len(first) < 2 or len(second) < 2:
        return None
    mean_1, mean_2 = (math.fsum(sample) / len(sample) for sample in (first, second))
    errors = [_variance(sample) / len(sample) for sample in (first, second)]
    difference, squared = mean_2 - mean_1, sum(errors)
    if squared <= (max(abs(mean_1), abs(mean_2)) * _EXACT) ** 2:  # all values are alike, as counts often are
        return Test(difference, 1.0 if mean_1 == mean_2 else 0.0, 0.0)
    degrees = squared**2 / sum(
        error**2 / (len(sample) - 1) for error, sample in zip(errors, (first, second), strict=True)
    )
    error = math.sqrt(squared)
    margin = quantile(degrees, 0.05) * error
    return Test(difference, two_sided(difference / error, degrees), margin, error, degrees)


def significant(ps: Sequence[float], rate: float = 0.05) -> list[bool]:
    """Return which of many tests found a difference, of which at most this share is wrong on average."""
    order = sorted(range(len(ps)), key=ps.__getitem__)
    last = max((place for place, i in enumerate(order, 1) if ps[i] <= rate * place / len(ps)), default=0)
    found = [False] * len(ps)
    for i in order[:last]:
        found[i] = True
    return found


def two_sided(t: float, degrees: float) -> float:
    """Return the probability that Student's t is at least as far from 0 as `t`."""
    return _beta(degrees / (degrees + t * t), degrees / 2, 0.5)


def _variance(sample: Sequence[float]) -> float:
    mean = math.fsum(sample) / len(sample)
    return math.fsum((value - mean) ** 2 for value in sample) / (len(sample) - 1)


def quantile(degrees: float, p: float) -> float:
    """Return the t whose two-sided probability is `p`, by Newton's method.

    Between the logarithms of t and of its probability lies a concave curve, nearly straight in the tail. So
    from the second step on t only falls, and a few steps are enough.
    """
    t = 1.0
    for _ in range(_MAX_STEPS):
        chance = two_sided(t, degrees)
        slope = -2 * t * _density(t, degrees) / chance
        step = (math.log(p) - math.log(chance)) / slope
        t *= math.exp(min(step, _LONGEST_STEP))
        if abs(step) < _NEARLY:
            break
    return t


def _density(t: float, degrees: float) -> float:
    """Return the density of Student's t."""
    log = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2) - math.log(degrees * math.pi) / 2
    return math.exp(log - (degrees + 1) / 2 * math.log1p(t * t / degrees))


def _beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # the fraction converges on the other side
        return 1 - _beta(1 - x, b, a)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    return front / (a * _fraction(x, a, b))


def _fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction 1 + d1/(1 + d2/(1 + ...)) by Lentz's method."""
    value = c = 1.0
    d = 0.0
    for step in range(1, _MAX_STEPS):
        m = step // 2
        if step % 2:
            factor = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            factor = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / (1 + factor * d or _TINY)
        c = 1 + factor / c or _TINY
        value *= c * d
        if abs(c * d - 1) < _EXACT:
            break
    return value
