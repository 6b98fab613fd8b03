"""What recording tests costs: an estimate from the size of the records and from calls that are timed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from funcgraph.instance.whole_trace import written_bytes
from funcgraph.testing.instances import open_instance

_CALLS, _ROUNDS, _BUFFER_KB = 1000, 5, 512


class CallCost(NamedTuple):
    """What recording an ordinary call costs.

    Attributes:
        seconds: the time that it adds.
        size: bytes of its records.
    """

    seconds: float
    size: float


def measure_call() -> CallCost:
    """Record some calls, and time them. Takes some milliseconds.

    Raises:
        OSError, RuntimeError: as of Instance.
    """
    plain = min(_timed() for _ in range(_ROUNDS))
    with open_instance("overhead", [f"{__name__}._sample"], True, _BUFFER_KB) as instance:
        recorded = min(_timed(instance.clear) for _ in range(_ROUNDS))
        size = written_bytes(instance)
    return CallCost(max(recorded - plain, 0) / _CALLS, max(size, 1) / _CALLS)


def _timed(prepare: Callable[[], object] = int) -> float:
    prepare()
    begin = time.perf_counter()
    for _ in range(_CALLS):
        _sample(1, "text")
    return time.perf_counter() - begin


def _sample(number: int, text: str) -> str:
    return text * number
