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


class Test(NamedTuple):
    """A comparison of two samples.

    Attributes:
        difference: mean of the second less mean of the first.
        p: how probable so large a difference is if both have one mean.
        margin: half the width of the difference's 95 % confidence interval.
    """

    difference: float
    p: float
    margin: float


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
    return Test(difference, two_sided(difference / error, degrees), _quantile(degrees) * error)


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


def _quantile(degrees: float) -> float:
    """Return the t whose two-sided probability is 5 %, by Newton's method.

    The probability falls from t = 0 on, ever more slowly, so each step from below stays below.
    """
    scale = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(degrees * math.pi)
    t = 1.9  # of the normal distribution it is 1.96, and more of any t distribution
    for _ in range(_MAX_STEPS):
        step = (two_sided(t, degrees) - 0.05) / (2 * scale * (1 + t * t / degrees) ** (-(degrees + 1) / 2))
        t += step
        if step <= t * 1e-12:
            break
    return t


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
