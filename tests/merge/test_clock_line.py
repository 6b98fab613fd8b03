"""The line between two clocks: the true one is never further off than is said."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funcgraph.merge.clock_line import IDENTITY, Bound, ClockLine, fit
from funcgraph.merge.stamps import Exchange, stamp_bounds

pytestmark = pytest.mark.one_python

S = 1_000_000_000


def exchanges(seed: int, offset: int, drift: float, length_s: int) -> list[Exchange]:
    """Exchanges between two clocks of which the truth is known: reference = host + offset + drift * host."""
    chance = random.Random(seed)
    found = []
    for _ in range(chance.randrange(1, 30)):
        host = chance.randrange(length_s * S)
        there, answer, back = (chance.randrange(20_000, 3_000_000) for _ in range(3))
        sent = host - there + offset + round(drift * (host - there))
        returned = host + answer + back + offset + round(drift * (host + answer + back))
        found.append(Exchange(sent, host, host + answer, returned))
    return found


@given(
    st.integers(0, 2**32),
    st.integers(-(10**17), 10**17),
    st.floats(-9e-4, 9e-4),
    st.integers(1, 100_000),
)
@settings(max_examples=150, deadline=None)
def test_the_truth_is_within_the_bound(seed: int, offset: int, drift: float, length_s: int) -> None:
    line = fit(list(stamp_bounds(exchanges(seed, offset, drift, length_s))), 0, length_s * S)
    assert line is not None and line.error_ns is not None
    assert line.slack_ns <= 2  # whole nanoseconds and the 53 bits of floats contradict one another a little
    for host in (0, length_s * S // 3, length_s * S):
        truth = host + offset + round(drift * host)
        assert abs(line.at(host) - truth) <= line.error_ns + 20


def test_more_exchanges_make_the_bound_no_wider() -> None:
    bounds = list(stamp_bounds(exchanges(7, 5 * S, 1e-5, 60)))
    few, many = fit(bounds[:4], 0, 60 * S), fit(bounds, 0, 60 * S)
    assert few and many and few.error_ns is not None and many.error_ns is not None
    assert many.error_ns <= few.error_ns


def test_bounds_of_one_side_make_no_line() -> None:
    assert fit([Bound(5, 10.0, math.inf), Bound(9, 11.0, math.inf)], 0, S) is None
    assert fit([], 0, S) is None


def test_a_short_recording_has_an_offset_and_no_drift() -> None:
    line = fit([Bound(100, 400.0, 600.0)], 100, 200)
    assert line is not None
    assert line.first == line.last == (100, 600)
    assert line.error_ns == 100


def test_a_clock_that_jumped_gives_a_line_and_says_by_how_much_it_contradicts_itself() -> None:
    """An offset of 0, then of 10 s: no straight line has a drift like that."""
    bounds = [Bound(0, -1000.0, 1000.0), Bound(20 * S, 10 * S - 1000.0, 10 * S + 1000.0)]
    line = fit(bounds, 0, 20 * S)
    assert line is not None and line.error_ns is not None
    assert line.slack_ns > 4 * S
    assert line.error_ns >= line.slack_ns
    assert abs(line.at(0)) <= line.error_ns


def test_a_line_keeps_the_order_of_times() -> None:
    line = ClockLine((0, 1000), (10 * S, 1000 + 10 * S - 9_000_000), 5)
    times = [line.at(host) for host in range(0, 10 * S, 999_999_937)]
    assert times == sorted(set(times))
    assert IDENTITY.at(123) == 123
