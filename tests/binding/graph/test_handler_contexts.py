"""A signal handler that runs in the middle of a callback is the program's: its calls are traced, by the other
users and by the interrupted one. What callbacks call themselves stays missed, also in the handler's context.

Failed before contexts were told apart: each of these calls was missed.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import funcgraph

pytest_plugins = ("probes",)
pytestmark = pytest.mark.usefixtures("no_users_left", "usr1")

FILTER = [f"{__name__}.{name}" for name in ("work", "handler", "leaf", "numbers", "Handler.*", "raising")]


def work() -> None:
    pass


def work_often() -> None:
    for _ in range(100):
        work()


def leaf() -> None:
    pass


def numbers() -> Iterator[int]:
    yield 1
    yield 2


def handler(number: int, frame: object) -> None:
    del number, frame
    leaf()
    sum(numbers())


class Handler:
    def __call__(self, number: int, frame: object) -> None:
        leaf()

    def method(self, number: int, frame: object) -> None:
        leaf()


class RaisedError(Exception):
    pass


def raising(number: int, frame: object) -> None:
    leaf()
    raise RaisedError


@pytest.fixture
def usr1() -> Iterator[None]:
    before = signal.getsignal(signal.SIGUSR1)
    yield
    signal.signal(signal.SIGUSR1, before)


def name_of(function: Any) -> str:
    return function.name.rpartition(".")[2]


class Hears:
    """A user that notes its events; in the first of one kind the signal arrives."""

    def __init__(self, interrupted: str = "") -> None:
        self.events: list[str] = []
        self.left = [interrupted]
        self.ops = funcgraph.FgraphOps(self.entry, self.end, filter=FILTER)

    def note(self, kind: str, function: Any) -> None:
        self.events.append(f"{kind} {name_of(function)}")
        if self.left == [kind]:
            self.left.clear()
            signal.raise_signal(signal.SIGUSR1)

    def entry(self, trace: Any, ops: Any, regs: Any) -> bool:
        self.note("entry", trace.func)
        return True

    def end(self, trace: Any, ops: Any, regs: Any) -> None:
        self.note("end", trace.func)


def call(name: str, *inside: str) -> list[str]:
    return [f"entry {name}", *inside, f"end {name}"]


HANDLED = call("handler", *call("leaf"), *call("numbers"))


@pytest.mark.parametrize("kind", ["entry", "end"])
def test_the_calls_of_a_handler_are_heard_by_all_users(kind: str) -> None:
    signal.signal(signal.SIGUSR1, handler)
    before, interrupted, after = Hears(), Hears(kind), Hears()
    users = [before, interrupted, after]
    for user in users:
        funcgraph.register_ftrace_graph(user.ops)
    try:
        work()
        work()
    finally:
        for user in users:
            funcgraph.unregister_ftrace_graph(user.ops)
    for user in users:
        assert sorted(user.events) == sorted(call("work") * 2 + HANDLED)
        assert user.ops.nmissed == 0 and user.ops.errors == 0
    assert "".join(HANDLED) in "".join(interrupted.events)
    inside = [*call("work"), *HANDLED] if kind == "end" else ["entry work", *HANDLED, "end work"]
    assert before.events == ([*inside, *call("work")] if kind == "entry" else before.events)


@pytest.mark.parametrize("how", [Handler(), Handler().method], ids=["object", "method"])
def test_any_kind_of_handler(how: Callable[[int, object], None]) -> None:
    signal.signal(signal.SIGUSR1, how)
    user = Hears("entry")
    with funcgraph.registered(user.ops):
        work()
    name = "__call__" if isinstance(how, Handler) else "method"
    assert user.events == ["entry work", *call(name, *call("leaf")), "end work"]


def test_what_a_handler_raises_leaves_no_frame() -> None:
    signal.signal(signal.SIGUSR1, raising)
    user = Hears("entry")
    depths: list[int] = []
    late = funcgraph.FgraphOps(lambda trace, ops, regs: depths.append(trace.depth), filter=FILTER)
    with funcgraph.registered(user.ops), pytest.raises(RaisedError):
        work_often()
    with funcgraph.registered(late):
        work()
    assert depths == [0]
    assert user.events[:5] == ["entry work", *call("raising", *call("leaf"))]
    assert user.ops.nmissed == 0


def test_calls_of_callbacks_stay_missed() -> None:
    """Also those of a callback in the handler's context, and those of a second handler there."""

    def entry(trace: Any, ops: Any, regs: Any) -> bool:
        received.append(name_of(trace.func))
        if len(received) == 1:
            signal.raise_signal(signal.SIGUSR1)
        elif len(received) == 2:
            signal.raise_signal(signal.SIGUSR1)
            leaf()
        leaf()
        return True

    received: list[str] = []
    signal.signal(signal.SIGUSR1, lambda number, frame: work())
    ops = funcgraph.FgraphOps(entry, filter=FILTER)
    with funcgraph.registered(ops):
        work()
    assert received == ["work", "work"]
    assert ops.nmissed == 1 + 2 + 1


def test_a_handler_in_an_fprobes_entry_handler() -> None:
    def entry(fp: Any, func: Any, ret_ip: Any, regs: Any, data: Any) -> None:
        received.append(name_of(func))
        if len(received) == 1:
            signal.raise_signal(signal.SIGUSR1)

    def ends(fp: Any, func: Any, ret_ip: Any, regs: Any, data: Any) -> None:
        ended.append(name_of(func))

    received: list[str] = []
    ended: list[str] = []
    other: list[str] = []
    signal.signal(signal.SIGUSR1, handler)
    fp = funcgraph.Fprobe(entry, ends)
    second = funcgraph.Fprobe(lambda fp, func, ret_ip, regs, data: other.append(name_of(func)))
    funcgraph.register_fprobe(fp, FILTER)
    funcgraph.register_fprobe(second, FILTER)
    try:
        work()
    finally:
        funcgraph.unregister_fprobe(fp)
        funcgraph.unregister_fprobe(second)
    assert received == ["work", "handler", "leaf", "numbers"]
    assert ended == ["leaf", "numbers", "handler", "work"]
    assert sorted(other) == sorted(received)
    assert (fp.nmissed, second.nmissed, fp.errors) == (0, 0, 0)


def test_a_handler_in_the_only_fprobes_handlers() -> None:
    """The fast path of one fprobe."""

    def entry(fp: Any, func: Any, ret_ip: Any, regs: Any, data: Any) -> None:
        received.append(f"entry {name_of(func)}")
        if len(received) == 1:
            signal.raise_signal(signal.SIGUSR1)

    def ends(fp: Any, func: Any, ret_ip: Any, regs: Any, data: Any) -> None:
        received.append(f"end {name_of(func)}")
        if received[-1] == "end work":
            signal.raise_signal(signal.SIGUSR1)

    received: list[str] = []
    signal.signal(signal.SIGUSR1, Handler().method)
    fp = funcgraph.Fprobe(entry, ends)
    funcgraph.register_fprobe(fp, FILTER)
    try:
        work()
    finally:
        funcgraph.unregister_fprobe(fp)
    handled = call("method", *call("leaf"))
    assert received == ["entry work", *handled, "end work", *handled]
    assert fp.nmissed == 0


def test_a_handler_in_a_kprobes_handler() -> None:
    def at_line(kp: Any, regs: Any) -> None:
        hits.append(regs.get_regs().f_code.co_name)
        if len(hits) == 1:
            signal.raise_signal(signal.SIGUSR1)

    hits: list[str] = []
    signal.signal(signal.SIGUSR1, handler)
    probes = [
        funcgraph.Kprobe(at_line, function, line=function.__code__.co_firstlineno + 1)
        for function in (work, leaf)
    ]
    with funcgraph.probed(*probes):
        work()
    assert hits == ["work", "leaf"]
    assert [probe.nmissed for probe in probes] == [0, 0]


def test_a_recording_has_the_calls_of_the_handler() -> None:
    signal.signal(signal.SIGUSR1, Handler().method)
    user = Hears("entry")
    with (
        funcgraph.Instance("contexts", tracer="function_graph", filter=FILTER) as i,
        funcgraph.registered(user.ops),
    ):
        work()
        lines = [line.partition("|")[2].strip() for line in i.trace().splitlines()[4:]]
    names = [line.replace(f"{__name__}.", "") for line in lines if line]
    assert names == ["work() {", "Handler.method() {", "leaf();", "}", "}"]
