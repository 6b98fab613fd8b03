"""A user that records its events, and the comparisons that make a check fail."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import funcgraph

T = TypeVar("T")

PROGRAM = "funcgraph.selftest.program"
WAIT_S = 20.0  # limit for another thread, which needs microseconds


class FailedError(Exception):
    """A promise does not hold. The message says which one, for a person."""


def expect(got: object, expected: object, what: str) -> None:
    """Raise FailedError unless `got` equals `expected`."""
    if got != expected:
        raise FailedError(f"{what}: expected {shortened(expected)}, got {shortened(got)}")


def shortened(value: object) -> str:
    """Return a value's repr, cut to 200 characters."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:197]}..."


def patterns(*names: str) -> list[str]:
    """Return filter patterns that match these functions of program.py."""
    return [f"{PROGRAM}.{name}" for name in names]


def in_thread(function: Callable[[], T]) -> T:
    """Run `function` in a new thread; return its result or raise its exception."""
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
    """A user that is registered while a `with` block runs.

    It appends a line to `events` for each entry (``leaf {``) and each end (``} leaf: return``), indented by
    the call's depth. Subclasses override `entered` and `ended` to do more. If one of these raises, the check
    fails at the end of the block.

    Args:
        names: the functions of program.py to watch; without names, all of them.
        settings: keywords for FgraphOps, which override those that follow from `names`.
    """

    def __init__(self, *names: str, **settings: Any) -> None:
        self.events: list[str] = []
        settings = {"filter": patterns(*(names or ("*",))), "name": "self-test", **settings}
        self.ops = funcgraph.FgraphOps(self._entry, self._return, **settings)

    def entered(self, trace: Any, regs: Any) -> None:
        """Called for each entry."""

    def ended(self, trace: Any, regs: Any) -> None:
        """Called for each return."""

    def _entry(self, trace: Any, ops: Any, regs: Any) -> bool:
        self.events.append(f"{'  ' * trace.depth}{trace.func.qualname} {{")
        self.entered(trace, regs)
        return True

    def _return(self, trace: Any, ops: Any, regs: Any) -> None:
        self.events.append(f"{'  ' * trace.depth}}} {trace.func.qualname}: {trace.end}")
        self.ended(trace, regs)

    def expect(self, events: Sequence[str], what: str = "the user's events") -> None:
        """Raise FailedError unless exactly these events came since the last expect()."""
        got, self.events = self.events, []
        expect(got, list(events), what)

    def __enter__(self) -> Self:
        sys.unraisablehook = lambda unraisable: None  # __exit__() reports the error, as the check's result
        funcgraph.register_ftrace_graph(self.ops)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.ops.registered:
            funcgraph.unregister_ftrace_graph(self.ops)
        if self.ops.last_error is not None:
            raise FailedError(f"in a callback: {self.ops.last_error}") from self.ops.last_error
