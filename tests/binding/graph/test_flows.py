"""Each thread, pool worker and task has its own stack, data and variables.

Broken by hand: fg_callback_current was shared by all threads (a callback got data of other threads' calls);
two callbacks shared one spare object (fg_spare_take did not remove it).
"""

from __future__ import annotations

import asyncio
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import funcgraph

pytest_plugins = ("probes",)
pytestmark = pytest.mark.usefixtures("no_users_left")

HERE = f"{__name__}."


def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


async def nested(n: int) -> int:
    await asyncio.sleep(0)
    return 1 + await nested(n - 1) if n else 0


def counting() -> Any:
    total = 0
    while True:
        total += (yield total) or 1


def loses_its_user(ops: Any) -> None:
    ops.set_filter([HERE + "nothing"], reset=True)


@pytest.fixture
def small_switch_interval():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def calls_of_fib(n: int) -> int:
    return 1 if n < 2 else 1 + calls_of_fib(n - 1) + calls_of_fib(n - 2)


def test_threads(probe, small_switch_interval):
    user = probe(HERE + "fib")
    threads = [threading.Thread(target=fib, args=(10,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(user.of("fib")) == 8 * 2 * calls_of_fib(10)
    by_thread: dict[int, int] = {}
    for call in user.calls:
        depth = by_thread.setdefault(call.thread, 0)
        by_thread[call.thread] = depth + 1 if call.what == "entry" else depth - 1
        assert call.depth == (depth if call.what == "entry" else depth - 1)


def test_data_of_threads(small_switch_interval):
    wrong: list[object] = []

    def entry(trace, ops, regs):
        data = ops.reserve_data(16).cast("Q")
        data[0] = threading.get_ident()
        for _ in range(20):
            pass  # let other threads run
        data[1] = trace.start_ns
        ops.task_var += 1
        return True

    def ret(trace, ops, regs):
        data = ops.retrieve_data().cast("Q")
        if (data[0], data[1]) != (threading.get_ident(), trace.start_ns):
            wrong.append(list(data))
        if ops.task_var <= trace.depth:
            wrong.append(ops.task_var)

    with funcgraph.registered(funcgraph.FgraphOps(entry, ret, filter=[HERE + "fib"])) as ops:
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(fib, [9] * 24)) == [34] * 24
    assert ops.last_error is None
    assert not wrong


def test_a_pool(probe):
    user = probe(HERE + "fib", "concurrent.futures.thread._WorkItem.run")
    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(fib, [5] * 20)) == 100
    assert (
        user.of("run") == ["entry", "return"] * 20
        or sorted(user.of("run")) == ["entry"] * 20 + ["return"] * 20
    )
    assert len(user.of("fib")) == 20 * 2 * calls_of_fib(5)


def test_tasks_of_an_event_loop(probe):
    user = probe(HERE + "nested")

    async def main() -> list[int]:
        return await asyncio.gather(*(nested(10) for _ in range(20)))

    assert asyncio.run(main()) == [10] * 20
    assert sorted(user.of("nested")) == ["entry"] * 220 + ["return"] * 220


def test_what_one_thread_begins_another_ends(probe):
    user = probe(HERE + "counting")
    generators = [counting() for _ in range(10)]
    for generator in generators:
        next(generator)

    def go_on() -> None:
        for generator in generators:
            generator.send(10)

    def close() -> None:
        for generator in generators:
            generator.close()

    for step in (go_on, go_on, close):
        thread = threading.Thread(target=step)
        thread.start()
        thread.join()
    assert user.of("counting") == ["entry"] * 10 + ["close"] * 10
    assert {call.thread for call in user.calls if call.what == "close"} != {threading.get_ident()}


def test_calls_whose_end_nobody_told_end_with_their_thread():
    """A function that loses its last user may lose the events of its calls in progress. The thread then
    reports their ends when it exits; at that time it no longer has a Python thread state.

    Broken by hand: fg_call_retfunc did not check task->exiting (a crash).
    """
    ends: list[object] = []
    done = threading.Event()

    def ret(trace, ops, regs):
        ends.append((trace.func.qualname, ops.retrieve_object()))
        done.set()

    ops = funcgraph.FgraphOps(
        lambda trace, ops, regs: ops.reserve_object(trace.depth), ret, filter=[HERE + "loses_its_user"]
    )
    with funcgraph.registered(ops):
        thread = threading.Thread(target=loses_its_user, args=(ops,))
        thread.start()
        thread.join()
        assert done.wait(10)
    assert ops.last_error is None
    assert ends == [("loses_its_user", 0)]
