"""A pytest plugin for the tests of the Python API: a user that records all its callbacks.

It is no conftest.py, because that would hide tests/conftest.py, which other tests import from.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

import funcgraph


class Call(NamedTuple):
    """One callback: its data, and the thread in which it ran."""

    what: str  # "entry" or an end
    function: str
    depth: int
    value: object
    thread: int


class Probe:
    """A user that wants entry and return of each call, and records both.

    Each entry reserves its own object; the return must find exactly that object.
    """

    def __init__(self, *filter: str, **settings: Any) -> None:
        self.calls: list[Call] = []
        self.unpaired: list[str] = []
        self.open: set[object] = set()
        self.ops = funcgraph.FgraphOps(self._entry, self._ret, filter=filter, **settings)

    def _entry(self, trace: Any, ops: Any, regs: Any) -> bool:
        token = object()
        self.open.add(token)
        if not ops.reserve_object((trace.func.name, token)):
            self.unpaired.append(f"no room for {trace.func.name}")
        self.calls.append(Call("entry", trace.func.qualname, trace.depth, None, threading.get_ident()))
        return True

    def _ret(self, trace: Any, ops: Any, regs: Any) -> None:
        name, token = ops.retrieve_object()
        if name != trace.func.name or token not in self.open:
            self.unpaired.append(f"{trace.func.name} got the object of {name}")
        self.open.discard(token)
        value = None if trace.end == "close" else regs.get_return_value()
        self.calls.append(Call(trace.end, trace.func.qualname, trace.depth, value, threading.get_ident()))

    def of(self, name: str) -> list[str]:
        """Return the events of calls of functions whose last name is `name`, in order."""
        return [call.what for call in self.calls if call.function.rpartition(".")[2] == name]

    def check(self) -> None:
        """Assert that each entry had its return and found its object there, and that no callback raised."""
        assert self.ops.last_error is None
        assert not self.unpaired
        assert not self.open


@pytest.fixture
def probe() -> Iterator[Callable[..., Probe]]:
    """Return a function that makes registered probes. At the end it unregisters and checks them."""
    made: list[Probe] = []

    def make(*filter: str, **settings: Any) -> Probe:
        made.append(Probe(*filter, **settings))
        funcgraph.register_ftrace_graph(made[-1].ops)
        return made[-1]

    yield make
    for each in made:
        if each.ops.registered:
            funcgraph.unregister_ftrace_graph(each.ops)
        each.check()


@pytest.fixture
def no_users_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Assert that the test leaves no user registered. Gives the list of what reaches sys.unraisablehook."""
    unraisable: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    yield unraisable
    left = funcgraph.users()
    gc.collect()
    assert left == []
