"""The functions that the tests of instances trace. The module has nothing else."""

from __future__ import annotations

import time
from typing import Any


def leaf(number: int) -> int:
    return number + 1


def middle(number: int) -> int:
    return leaf(number) + leaf(number)


def outer(number: int = 1) -> int:
    return middle(number) + leaf(number)


def slow() -> None:
    time.sleep(0.02)


def marks(instance: Any) -> None:
    """Write texts into an instance's trace, before and after a call."""
    assert instance.trace_marker.write("first\n") == 6
    leaf(1)
    instance.trace_printk("%s and %d", "second", 2)
