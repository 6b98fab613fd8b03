"""The functions that the self-test traces. They only call, raise, yield and await."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar

T = TypeVar("T")


class ProgramError(Exception):
    """Raised by the functions below."""


def leaf(value: int) -> int:
    return value


def pair(value: int) -> int:
    return leaf(value) + leaf(value)


def recurse(depth: int) -> int:
    """Call itself `depth` times; return `depth`."""
    return 1 + recurse(depth - 1) if depth else 0


def recurse_until(is_deep: Callable[[], bool]) -> int:
    """Call itself until is_deep() is true; return the number of such calls."""
    return 0 if is_deep() else 1 + recurse_until(is_deep)


def summed(count: int) -> int:
    """Return the sum of the numbers below `count`."""
    total = 0
    for number in range(count):
        total += number
    return total


def call(function: Callable[[], T]) -> T:
    """Call `function`: whatever it does happens in the middle of this call."""
    return function()


def failing() -> None:
    raise ProgramError("failing")


def passing() -> None:
    failing()


def catching() -> str:
    try:
        passing()
    except ProgramError as error:
        return str(error)
    return "nothing was raised"


def nothing() -> None:
    pass


def steps(count: int, between: Callable[[], object] = nothing) -> Generator[int, None, int]:
    """Yield 0, 1, 2, ..., and call `between` after each; return the sum."""
    total = 0
    for step in range(count):
        total += step
        yield step
        between()
    return total


class _Pause:
    def __await__(self) -> Generator[int, None, None]:
        yield 0


async def waiting(count: int, between: Callable[[], object] = nothing) -> int:
    """Suspend `count` times, and call `between` after each; return `count`."""
    for _ in range(count):
        await _Pause()
        between()
    return count


def busy(is_over: Callable[[], bool]) -> None:
    """Compute, and give the interpreter lock away only when CPython asks for it."""
    while not is_over():
        sum(range(20_000))


def naps(is_over: Callable[[], bool]) -> None:
    """Sleep again and again: a thread needs the interpreter lock after each sleep."""
    while not is_over():
        time.sleep(0)


def sleeps(seconds: float) -> None:
    time.sleep(seconds)


def send(coroutine: Coroutine[Any, Any, T] | Generator[Any, Any, T]) -> T | None:
    """Resume it. Return None if it suspends again, or its result if it ends."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    return None
