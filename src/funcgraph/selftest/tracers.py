"""Checks instances, and each tracer that an instance can have."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from errno import EOPNOTSUPP
from typing import Any

import funcgraph
from funcgraph.selftest import program
from funcgraph.selftest.observer import (
    PROGRAM,
    WAIT_S,
    FailedError,
    Observer,
    expect,
    in_thread,
    patterns,
    shortened,
)

_NAME = "self-test"
# The lines of one pair() in the layout function_graph.
_PAIR = [f"{PROGRAM}.pair() {{", f"  {PROGRAM}.leaf();", f"  {PROGRAM}.leaf();", "}"]


def _instance(tracer: str, name: str = _NAME, **settings: Any) -> AbstractContextManager[funcgraph.Instance]:
    return funcgraph.Instance(name, tracer=tracer, **settings)


def _graph(instance: funcgraph.Instance) -> list[str]:
    """Return the calls in the text of a function_graph trace, without the columns."""
    lines = [line for line in instance.trace().splitlines() if line and not line.startswith("#")]
    return [line.partition("|  ")[2].rstrip() for line in lines]


def _functions(instance: funcgraph.Instance) -> list[str]:
    """Return the functions in the text of a function trace, with their callers."""
    return re.findall(rf": {re.escape(PROGRAM)}\.(\w+(?: <-.*)?)$", instance.trace(), re.MULTILINE)


def instances() -> None:
    """Each instance has its own filter, buffer and texts. An idle one has no slot, and keeps its texts."""
    idle = [funcgraph.Instance(f"{_NAME}-{number}") for number in range(100)]
    try:
        with Observer("leaf"), _instance("function_graph", filter=patterns("pair", "leaf")) as graph:
            with _instance("function_graph", f"{_NAME}-other", filter=patterns("leaf")) as other:
                idle[0].trace_marker.write("idle")
                program.pair(1)
                other.trace_marker.write("other")
                expect(_graph(other), [f"{PROGRAM}.leaf();"] * 2 + ["/* other */"], "the second's trace")
            program.leaf(1)
            expect(_graph(graph), [*_PAIR, f"{PROGRAM}.leaf();"], "the first instance's trace")
            graph.tracing_on = False
            program.leaf(1)
            graph.tracing_on = True
            expect(len(_graph(graph)), 5, "lines after calls with tracing_on 0")
            graph.clear()
            expect(_graph(graph), [], "the trace after clear()")
        expect(idle[0].trace().count("tracing_mark_write: idle"), 1, "texts of an idle instance")
        expect(idle[1].trace().count("idle"), 0, "texts of another idle instance")
        held = {user.name for user in funcgraph.users()} & {instance.name for instance in idle}
        expect(held, set(), "idle instances with a slot")
    finally:
        for instance in idle:
            instance.close()


def function_graph() -> None:
    """The tracer function_graph writes each call with its nesting, its arguments and its result."""
    options = {"funcgraph-args": True, "funcgraph-retval": True}
    with _instance("function_graph", filter=patterns("pair", "leaf"), options=options) as instance:
        program.pair(2)
        in_thread(lambda: program.leaf(5))
        leaf = f"{PROGRAM}.leaf(value=2); /* ret=2 */"
        pair = [f"{PROGRAM}.pair(value=2) {{", f"}} /* {PROGRAM}.pair ret=4 */"]
        got = _graph(instance)
        expect(got[:4], [pair[0], f"  {leaf}", f"  {leaf}", pair[1]], "the lines of a call")
        expect(got[-1], f"{PROGRAM}.leaf(value=5); /* ret=5 */", "the line of a call in another thread")


def function() -> None:
    """The tracer function writes each call once, with its caller."""
    with _instance("function", filter=patterns("pair", "leaf")) as instance:
        program.pair(2)
        program.leaf(2)
        expect(_functions(instance)[1:3], [f"leaf <-{PROGRAM}.pair"] * 2, "functions and callers")
        expect(len(_functions(instance)), 4, "calls")


def nop() -> None:
    """The tracer nop writes no calls, and takes no slot."""
    with _instance("nop", filter=patterns("*")) as instance:
        program.pair(1)
        expect(_functions(instance) + _graph(instance), [], "calls")
        expect(_NAME in [user.name for user in funcgraph.users()], False, "it has a slot")


def profiler() -> None:
    """The function profiler counts each call, in each thread."""
    with funcgraph.FunctionProfile(filter=patterns("pair", "leaf")) as profile:
        program.pair(1)
        in_thread(lambda: program.leaf(1))
        hits = {row.name.rpartition(".")[2]: row.hit for row in profile.rows()}
        expect(hits, {"pair": 1, "leaf": 3}, "calls")
        times = {row.name: row.time_ns for row in profile.rows()}
        expect(all(times.values()), True, "every function took time")


def _reported(instance: funcgraph.Instance, what: str) -> str:
    """Return what a latency tracer's report has after "started at:" and the like."""
    found = re.search(rf"^#  => {what}: +(.*)$", instance.trace(), re.MULTILINE)
    if not found:
        raise FailedError(f"the report has no line {what!r}: {shortened(instance.trace())}")
    return found[1]


def _longest_so_far(begin: float) -> float:
    """Return a time in seconds that is longer than all that happened since `begin`, on any machine."""
    return max(0.002, 2 * (time.monotonic() - begin))


def _in_a_loop(first: Callable[[], object], then: Callable[[], object]) -> None:
    """Have an event loop run `first`, then `then`, which are ready at the same time."""
    import asyncio  # by far the largest import of the self-test

    async def main() -> None:
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        loop.call_soon(first)
        loop.call_soon(then)
        loop.call_soon(done.set_result, None)
        await done

    asyncio.run(main())


def loopblock() -> None:
    """The tracer loopblock finds the callback that kept an event loop from running others."""
    import asyncio  # noqa: F401  # before the tracer, so that it hooks asyncio's method directly

    reports: list[str] = []
    begin = time.monotonic()
    with _instance("loopblock") as instance:

        def blocks() -> None:
            program.sleeps(_longest_so_far(begin))

        def reads() -> None:  # before the loop's own end could take longer
            reports.append(_reported(instance, "started at"))
            reports.append(f"{instance.tracing_max_latency >= 2000}")

        _in_a_loop(blocks, reads)
    where = f"{__name__}.loopblock.<locals>.blocks"
    expect([reports[0].partition(" (")[0], reports[1]], [where, "True"], "what blocked, for 2 ms or more")


def wakeup() -> None:
    """The tracer wakeup finds the callback that was ready and waited, and what ran instead."""
    import asyncio  # noqa: F401  # as above

    reports: list[str] = []
    begin = time.monotonic()
    with _instance("wakeup") as instance:

        def blocks() -> None:
            program.sleeps(_longest_so_far(begin))

        def reads() -> None:  # the wait has ended as this began
            reports.append(_reported(instance, "ended at"))
            reports.append(instance.trace())
            reports.append(f"{instance.tracing_max_latency >= 2000}")

        _in_a_loop(blocks, reads)
    where = f"{__name__}.wakeup.<locals>."
    expect(reports[0].partition(" (")[0], f"{where}reads", "what waited")
    expect([f"{where}blocks" in reports[1], reports[2]], [True, "True"], "what ran instead, for 2 ms or more")


def gilwait() -> None:
    """The tracer gilwait finds a thread that waited for the interpreter lock, or says why it cannot."""
    enabled: list[funcgraph.Instance] = []
    end = time.monotonic() + WAIT_S

    def is_over() -> bool:
        return time.monotonic() > end or any(instance.tracing_max_latency for instance in enabled)

    other = threading.Thread(target=program.naps, args=(is_over,), daemon=True)
    other.start()
    try:
        with _instance("gilwait") as instance:
            enabled.append(instance)
            program.busy(is_over)
            expect(instance.tracing_max_latency > 0, True, "a thread waited")
            expect(
                "/funcgraph/" in _reported(instance, "started at"), True, "the function that waited is named"
            )
    except OSError as error:
        expect((error.errno, bool(error.strerror)), (EOPNOTSUPP, True), "an error, and that it says why")
    finally:
        end = 0.0
        other.join(WAIT_S)
