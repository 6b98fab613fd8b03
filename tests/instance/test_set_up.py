"""What tracing sets up at a call takes no time of that call."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from traced import leaf

import funcgraph

TIMES = 20


def _first_call(call: Callable[[], object]) -> tuple[float, float]:
    """Start an instance; return the duration of its first call, and the time around that call, in us."""
    with funcgraph.Instance("one", tracer="function_graph", filter=["traced.leaf"]) as one:
        begin = time.perf_counter_ns()
        call()
        around = time.perf_counter_ns() - begin
        durations = re.findall(r"([\d.]+) us +\|  traced.leaf\(\);", one.trace())
    assert len(durations) == 1
    return float(durations[0]), around / 1000


@pytest.mark.parametrize("others", ["alone", "beside a profile"])
def test_the_first_call_after_a_start_is_as_short_as_any(others: str) -> None:
    """The buffer is mapped, and named, at that call: most of the time around it is not the call's own."""
    profile = funcgraph.FunctionProfile() if others != "alone" else None
    if profile:
        profile.start()
    leaf(1)
    first = [_first_call(lambda: leaf(1)) for _ in range(TIMES)]
    if profile:
        profile.stop()
    shortest = min(duration for duration, _ in first)
    assert shortest < min(around - duration for duration, around in first), first
