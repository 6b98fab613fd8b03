"""A user that notes what it is told, and what a check says when that is not what it has to be."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import funcgraph

T = TypeVar("T")

PROGRAM = "funcgraph.selftest.program"
WAIT_S = 20.0  # for another thread, which needs microseconds


class FailedError(Exception):
    """Something does not hold. The text says what, for a person."""


def expect(got: object, wanted: object, what: str) -> None:
    """Raise FailedError unless `got` is `wanted`."""
    if got != wanted:
        raise FailedError(f"{what}: {shortened(got)}, not {shortened(wanted)}")


def shortened(value: object) -> str:
    """Return a value's text, on one line that can be read."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:197]}..."


def patterns(*names: str) -> list[str]:
    """Return the filter patterns of functions of the program."""
    return [f"{PROGRAM}.{name}" for name in names]


def in_thread(function: Callable[[], T]) -> T:
    """Run `function` in a new thread; return or raise what it does."""
    returned: list[T] = []
    raised: list[BaseException] = []

    def body() -> None:
        try:
            returned.append(function())
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    thread.join(WAIT_S)
    if thread.is_alive():
        raise FailedError(f"a thread did not end within {WAIT_S:.0f} s")
    if raised:
        raise raised[0]
    return returned[0]


class Observer:
    """A registered user for the time of a `with` block.

    It notes in `told` a line for each entry (``leaf {``) and for each end (``} leaf: return``), indented by
    the depth that it was told. What a subclass does in `entered` and `ended` comes on top; an error in them
    makes the check fail at the end of the block.

    Args:
        names: the functions of the program that it watches; all of them if there are none.
        settings: of FgraphOps, in the place of what follows from `names`.
    """

    def __init__(self, *names: str, **settings: Any) -> None:
        self.told: list[str] = []
        settings = {"filter": patterns(*(names or ("*",))), "name": "self-test", **settings}
        self.ops = funcgraph.FgraphOps(self._entry, self._return, **settings)

    def entered(self, trace: Any, regs: Any) -> None:
        """Called for each entry."""

    def ended(self, trace: Any, regs: Any) -> None:
        """Called for each return."""

    def _entry(self, trace: Any, ops: Any, regs: Any) -> bool:
        self.told.append(f"{'  ' * trace.depth}{trace.func.qualname} {{")
        self.entered(trace, regs)
        return True

    def _return(self, trace: Any, ops: Any, regs: Any) -> None:
        self.told.append(f"{'  ' * trace.depth}}} {trace.func.qualname}: {trace.end}")
        self.ended(trace, regs)

    def expect(self, told: Sequence[str], what: str = "the user was told") -> None:
        """Raise FailedError unless it was told exactly this since the last time; forget it."""
        got, self.told = self.told, []
        expect(got, list(told), what)

    def __enter__(self) -> Self:
        sys.unraisablehook = lambda unraisable: None  # the check says it, in its own line
        funcgraph.register_ftrace_graph(self.ops)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.ops.registered:
            funcgraph.unregister_ftrace_graph(self.ops)
        if self.ops.last_error is not None:
            raise FailedError(f"in a callback: {self.ops.last_error}") from self.ops.last_error
