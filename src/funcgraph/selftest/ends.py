"""Checks calls that end with an exception or a close, or in another thread than they began in."""

from __future__ import annotations

import gc
import threading
import traceback
from collections.abc import Callable, Coroutine, Generator
from typing import Any

import funcgraph
from funcgraph.selftest import program
from funcgraph.selftest.observer import FailedError, Observer, expect, in_thread

_Suspended = Coroutine[Any, Any, int] | Generator[int, None, int]


class _Exceptions(Observer):
    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        self.seen: list[object] = []

    def ended(self, trace: Any, regs: Any) -> None:
        self.seen.append(regs.get_return_value())
        try:  # raise and catch an exception while the program's own is in flight
            raise KeyError("the user's own")
        except KeyError:
            pass


def exceptions() -> None:
    """Each call that an exception ends has exactly one return; the program's exception is unchanged."""
    with _Exceptions("failing", "passing", "catching") as user:
        expect(program.catching(), "failing", "the program's result")
        user.expect([
            "catching {", "  passing {", "    failing {",
            "    } failing: raise", "  } passing: raise", "} catching: return",
        ])  # fmt: skip
        expect(
            [type(value).__name__ for value in user.seen],
            ["ProgramError", "ProgramError", "str"],
            "types of the return values",
        )
        try:
            program.passing()
        except program.ProgramError as error:
            names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
            expect(names, ["exceptions", "passing", "failing"], "the exception's traceback")
            expect(error.__context__, None, "the exception's context")
            expect(
                [value is error for value in user.seen[3:]],
                [True, True],
                "the return value is the program's exception",
            )
        else:
            raise FailedError("the program's exception did not reach the program")


class _Threads(Observer):
    """Reserves data and an object in each call, and records the threads of its entry and its end."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        self.threads: list[int] = []
        self.token = object()

    def entered(self, trace: Any, regs: Any) -> None:
        self.threads.append(threading.get_ident())
        view = self.ops.reserve_data(4)
        assert view is not None
        view[:] = b"kept"
        self.ops.reserve_object(self.token)

    def ended(self, trace: Any, regs: Any) -> None:
        self.threads.append(threading.get_ident())
        expect(bytes(self.ops.retrieve_data() or b"")[:4], b"kept", "data found in another thread")
        expect(self.ops.retrieve_object() is self.token, True, "the object is found in another thread")


def across_threads() -> None:
    """A call that suspends is one call, on however many threads it runs: one entry, one end, its own data."""
    _across("steps", program.steps, 1)
    _across("waiting", program.waiting, 2)


def _across(name: str, make: Callable[..., _Suspended], result: int) -> None:
    seen: list[str] = []
    suspended = make(2, lambda: seen.extend(frame.func.qualname for frame in funcgraph.get_ret_stack()[:1]))
    with _Threads(name) as user:
        program.send(suspended)
        expect(funcgraph.get_ret_stack(), [], f"calls in progress while {name}() is suspended")
        expect(in_thread(lambda: program.send(suspended)), None, f"result of the first resume of {name}()")
        user.expect([f"{name} {{"], f"events before {name}() ended")
        expect(in_thread(lambda: program.send(suspended)), result, f"result of {name}() in the third thread")
        user.expect([f"}} {name}: return"], f"events at the end of {name}()")
        expect(seen, [name] * 2, f"the newest call in progress after {name}() resumed")
        expect(len(user.threads), 2, "callbacks")
        expect(
            user.threads[0] == threading.get_ident() != user.threads[1],
            True,
            "the entry came in the first thread and the end in another",
        )


def closed() -> None:
    """A suspended call that is closed, collected or thrown into has exactly one end."""
    _ended_by("close", lambda generator: generator.close())
    _ended_by("close", lambda generator: gc.collect())  # the `del` in _ended_by() drops the last reference
    _ended_by("raise", _throw)


def _throw(generator: Generator[int, None, int]) -> None:
    try:
        generator.throw(program.ProgramError())
    except program.ProgramError:
        pass


def _ended_by(end: str, action: Callable[[Generator[int, None, int]], object]) -> None:
    with _Threads("steps") as user:
        generator = program.steps(2)
        program.send(generator)
        action(generator)
        del generator
        user.expect(["steps {", f"}} steps: {end}"], f"events of a generator that ends with {end!r}")
