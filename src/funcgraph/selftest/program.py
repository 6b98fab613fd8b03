"""The functions that the self-test traces. They do nothing but call, raise, and give way."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar

T = TypeVar("T")


class ProgramError(Exception):
    """What the functions below raise."""


def leaf(value: int) -> int:
    return value


def pair(value: int) -> int:
    return leaf(value) + leaf(value)


def recurse(depth: int) -> int:
    """Call itself `depth` times; return `depth`."""
    return 1 + recurse(depth - 1) if depth else 0


def recurse_until(is_deep: Callable[[], bool]) -> int:
    """Call itself until it is told that this is deep enough; return how often it did."""
    return 0 if is_deep() else 1 + recurse_until(is_deep)


def call(function: Callable[[], T]) -> T:
    """Something in the middle of which anything can happen."""
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
    """Yield 0, 1, 2, ..., with a call of `between` after each; return their sum."""
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
    """Give way `count` times, with a call of `between` after each; return that."""
    for _ in range(count):
        await _Pause()
        between()
    return count


def send(coroutine: Coroutine[Any, Any, T] | Generator[Any, Any, T]) -> T | None:
    """Run it on to where it next gives way (None), or to its end (what it returned)."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    return None
