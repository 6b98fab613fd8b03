"""A signal handler may run inside a callback but belongs to the program: its exceptions reach the program and
do not count as errors of the callback.

Broken by hand: is_programs was always false (the program's exception was swallowed and the user disabled);
handler_traceback() was ignored (handlers in Python); is_interrupt() was ignored (Ctrl-C).
"""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from collections.abc import Iterator
from typing import Any

import pytest

import funcgraph

pytest_plugins = ("probes",)
pytestmark = pytest.mark.usefixtures("no_users_left")

FILTER = [f"{__name__}.work"]


class TimeoutRaisedError(Exception):
    pass


def work() -> None:
    pass


def raise_timeout(number: int, frame: object) -> None:
    raise TimeoutRaisedError(number)


def work_until(time_s: float) -> None:
    while time.monotonic() < time_s:
        work()


def work_until_alarm() -> None:
    """Call work() until a signal's handler raises. The caller is ready for that: a busy machine may take the
    10 ms from here to the next line."""
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    work_until(time.monotonic() + 20)


class Handler:
    def __call__(self, number: int, frame: object) -> None:
        raise_timeout(number, frame)

    def method(self, number: int, frame: object) -> None:
        raise_timeout(number, frame)


def busy(trace: Any, ops: Any, regs: Any) -> bool:
    """The program spends nearly all its time in this callback."""
    for _ in range(2000):
        pass
    return True


@pytest.fixture
def alarm() -> Iterator[None]:
    before = signal.getsignal(signal.SIGALRM)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    "handler", [raise_timeout, Handler(), Handler().method], ids=["function", "object", "method"]
)
@pytest.mark.parametrize(
    "callbacks", [(busy, None), (None, busy), (busy, busy)], ids=["entry", "return", "both"]
)
def test_what_a_handler_raises_reaches_the_program(alarm, handler, callbacks, no_users_left):
    ops = funcgraph.FgraphOps(*callbacks, filter=FILTER)
    signal.signal(signal.SIGALRM, handler)
    with funcgraph.registered(ops):
        for _ in range(10):
            with pytest.raises(TimeoutRaisedError) as caught:
                work_until_alarm()
            names = [entry.name for entry in traceback.extract_tb(caught.value.__traceback__)]
            assert "raise_timeout" in names and "busy" not in names
        assert ops.enabled
    assert (ops.errors, ops.last_error, no_users_left) == (0, None, [])


def test_ctrl_c_reaches_the_program(no_users_left):
    def entry(trace, ops, regs):
        if threading.current_thread() is threading.main_thread() and not sent:
            sent.append(1)
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(2000):
                pass
        return True

    sent: list[int] = []
    ops = funcgraph.FgraphOps(entry, filter=FILTER)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with funcgraph.registered(ops):
            with pytest.raises(KeyboardInterrupt):
                work_until(time.monotonic() + 20)
            assert ops.enabled
    finally:
        signal.signal(signal.SIGINT, before)
    assert sent
    assert (ops.errors, no_users_left) == (0, [])


def test_a_handler_that_raises_nothing(alarm):
    ran: list[int] = []
    signal.signal(signal.SIGALRM, lambda number, frame: ran.append(number))
    with funcgraph.registered(funcgraph.FgraphOps(busy, busy, filter=FILTER)) as ops:
        signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
        begin = time.monotonic()
        while len(ran) < 20 and time.monotonic() - begin < 20:
            work()
    assert len(ran) >= 20
    assert ops.last_error is None


def test_a_callbacks_own_exception_is_an_error_also_with_handlers_installed(alarm, no_users_left):
    def entry(trace, ops, regs):
        raise TimeoutRaisedError

    signal.signal(signal.SIGALRM, raise_timeout)
    with funcgraph.registered(funcgraph.FgraphOps(entry, filter=FILTER)) as ops:
        work()
    assert ops.errors == 1
    assert len(no_users_left) == 1
