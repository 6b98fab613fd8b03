"""A function whose users want only entries has only its entry hooked; users that want returns get all."""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from typing import Any

import pytest

import funcgraph

needs_monitoring = pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with 3.12")


def traced(x: int) -> int:
    return x + 1


def generate() -> Generator[int, None, None]:
    yield 1
    yield 2


def raises() -> None:
    raise LookupError


class Probe:
    """An fprobe on functions of this module that counts entries and exits."""

    def __init__(self, name: str, *, has_exit: bool) -> None:
        self.entries = self.exits = 0
        self.fprobe = funcgraph.Fprobe(self._entered, self._left if has_exit else None)
        self.pattern = f"{__name__}.{name}"

    def _entered(self, *args: Any) -> None:
        self.entries += 1

    def _left(self, *args: Any) -> None:
        self.exits += 1

    def __enter__(self) -> Probe:
        funcgraph.register_fprobe(self.fprobe, self.pattern)
        return self

    def __exit__(self, *args: object) -> None:
        funcgraph.unregister_fprobe(self.fprobe)


def local_events(function: Any) -> set[str]:
    tool = next(tool for tool in range(6) if sys.monitoring.get_tool(tool) == "funcgraph")
    found = sys.monitoring.get_local_events(tool, function.__code__)
    names = ("PY_START", "PY_RESUME", "PY_RETURN", "PY_YIELD", "PY_UNWIND")
    return {name for name in names if found & getattr(sys.monitoring.events, name)}


@needs_monitoring
def test_an_entry_only_function_has_no_events_behind_its_start() -> None:
    """Broken by hand: events_of_users did not check whether any user wants returns."""
    traced(0)
    with Probe("traced", has_exit=False) as entry:
        traced(1)
        assert local_events(traced) == {"PY_START"}
        with Probe("traced", has_exit=True) as both:
            assert local_events(traced) >= {"PY_START", "PY_RETURN", "PY_YIELD", "PY_RESUME"}
            traced(2)
        assert local_events(traced) == {"PY_START"}
        traced(3)
        assert (entry.entries, both.entries, both.exits) == (3, 1, 1)


@needs_monitoring
def test_a_user_that_wants_ends_brings_the_events() -> None:
    ends: list[str] = []
    ops = funcgraph.FgraphOps(
        None, lambda trace, *rest: ends.append(trace.end), filter=[f"{__name__}.raises"]
    )
    with Probe("raises", has_exit=False) as entry:
        with pytest.raises(LookupError):
            raises()
        with funcgraph.registered(ops), pytest.raises(LookupError):
            raises()
        assert local_events(raises) == {"PY_START"}
    assert (entry.entries, ends) == (2, ["raise"])


def test_a_generator_is_entered_once() -> None:
    with Probe("generate", has_exit=False) as entry:
        assert list(generate()) == [1, 2]
        never_ran = generate()
        with pytest.raises(LookupError):
            never_ran.throw(LookupError)
        suspended = generate()
        next(suspended)
        with Probe("generate", has_exit=True) as both:
            assert list(suspended) == [2]  # this generator began before the registration
            assert list(generate()) == [1, 2]
        assert (both.entries, both.exits) == (1, 1)
    assert entry.entries == 4


def test_no_end_is_lost_while_who_wants_it_comes_and_goes() -> None:
    """Other threads call the function all the time; a call whose return event is lost would end as closed."""
    over = threading.Event()
    ends: set[str] = set()
    ops = funcgraph.FgraphOps(None, lambda trace, *rest: ends.add(trace.end), filter=[f"{__name__}.traced"])

    def call() -> None:
        while not over.is_set():
            traced(1)

    threads = [threading.Thread(target=call) for _ in range(3)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with Probe("traced", has_exit=False):
            for thread in threads:
                thread.start()
            for _ in range(30):
                with funcgraph.registered(ops):
                    traced(1)
    finally:
        over.set()
        sys.setswitchinterval(interval)
        for thread in threads:
            thread.join()
    assert ends == {"return"}
