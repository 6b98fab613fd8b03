"""A trace describes its call, even when the callback keeps the object.

Broken by hand: keep_facts() did not resolve the parent (kept traces had none); settle_trace() reused objects
that were still referenced (kept traces described later calls); caller_of() returned the newest frame (3.12+:
the function was its own parent).
"""

from __future__ import annotations

import inspect
import sys
import threading
import time
from typing import Any

import pytest
from builds import functions_go

import funcgraph

pytest_plugins = ("probes",)
pytestmark = pytest.mark.usefixtures("no_users_left")

FILTER = [f"{__name__}.leaf", f"{__name__}.generate"]
#: The trace clock is compared with CLOCK_MONOTONIC from time to time; its error is always below this limit.
CLOCK_ERROR_NS = 1_000_000


def leaf(value: object = None) -> object:
    return value


def branch(value: object = None) -> object:
    return leaf(value)


def generate():
    yield 1


def line_of(function: Any, text: str) -> int:
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def collect(run: Any, filter: list[str] = FILTER) -> tuple[list[Any], list[Any]]:
    """Call `run` with a user that keeps all traces; return the traces of entries and those of returns."""
    entries: list[Any] = []
    returns: list[Any] = []
    ops = funcgraph.FgraphOps(
        lambda trace, ops, regs: entries.append(trace) is None,
        lambda trace, ops, regs: returns.append(trace),
        filter=filter,
    )
    with funcgraph.registered(ops):
        run()
    assert ops.last_error is None
    return entries, returns


def test_the_function():
    entries, returns = collect(branch)
    func = entries[0].func
    assert func is returns[0].func
    assert (func.name, func.module, func.qualname) == (f"{__name__}.leaf", __name__, "leaf")
    assert (func.file, func.line) == (__file__, leaf.__code__.co_firstlineno)
    assert func.code is leaf.__code__
    assert func.id > 0
    assert repr(func) == f"<Function {__name__}.leaf at {__file__}:{func.line}>"


def test_functions_are_the_same_for_each_call_and_user_and_can_be_keys():
    first, _ = collect(branch)
    second, _ = collect(lambda: (branch(), list(generate())))
    assert first[0].func == second[0].func and hash(first[0].func) == hash(second[0].func)
    assert {first[0].func: 1}[second[0].func] == 1
    assert second[1].func != second[0].func


@functions_go
def test_a_function_does_not_keep_its_code():
    namespace: dict[str, Any] = {"__name__": "some.module"}
    exec("def late(): pass", namespace)
    entries, _ = collect(namespace["late"], ["some.module.*"])
    func = entries[0].func
    assert func.code is namespace["late"].__code__
    del namespace["late"]
    assert func.code is None
    assert (func.name, func.line) == ("some.module.late", 1)


@pytest.mark.parametrize("which", [0, 1])
def test_where_it_returns_to(which):
    parent = collect(branch)[which][0].parent
    assert (parent.name, parent.module, parent.qualname) == (f"{__name__}.branch", __name__, "branch")
    assert (parent.file, parent.line) == (__file__, line_of(branch, "leaf(value)"))
    assert parent.code is branch.__code__


def test_a_generator_returns_to_whoever_resumes_it():
    def consumer():
        return list(generate())

    entries, returns = collect(consumer)
    assert entries[0].parent.qualname.endswith("consumer")
    assert returns[0].parent.qualname.endswith("consumer")


def test_the_bottom_of_a_thread_has_no_parent():
    parents: list[object] = []
    ops = funcgraph.FgraphOps(
        lambda trace, ops, regs: parents.append(trace.parent), filter=["threading.Thread._bootstrap"]
    )
    with funcgraph.registered(ops):
        thread = threading.Thread(target=leaf)
        thread.start()
        thread.join()
    assert ops.last_error is None
    assert parents == [None]


def test_times():
    before = time.monotonic_ns()
    entries, returns = collect(lambda: time.sleep(0) or branch())
    after = time.monotonic_ns()
    entry, end = entries[0], returns[0]
    assert entry.calltime_ns == entry.start_ns == end.calltime_ns == end.start_ns
    assert before - CLOCK_ERROR_NS <= entry.calltime_ns <= end.rettime_ns <= after + CLOCK_ERROR_NS


def test_times_of_what_was_suspended():
    seen_ns: list[int] = []

    def slowly():
        generator = generate()
        next(generator)
        seen_ns.append(time.monotonic_ns())
        time.sleep(0.02)
        seen_ns.append(time.monotonic_ns())
        next(generator, None)
        seen_ns.append(time.monotonic_ns())

    entries, returns = collect(slowly)
    end = returns[0]
    suspended_ns, resumed_ns, ended_ns = seen_ns
    assert end.start_ns == entries[0].start_ns <= suspended_ns + CLOCK_ERROR_NS
    assert resumed_ns - CLOCK_ERROR_NS <= end.calltime_ns <= end.rettime_ns <= ended_ns + CLOCK_ERROR_NS


def test_an_entry_knows_nothing_of_the_end():
    (entry,), _ = collect(branch)
    for name in ("rettime_ns", "overrun", "end"):
        with pytest.raises(AttributeError):
            getattr(entry, name)


def test_kept_traces_tell_of_their_own_call():
    entries, returns = collect(lambda: [branch(), leaf()])
    assert len({id(each) for each in entries + returns}) == 4
    assert entries[0].parent.qualname == "branch" != entries[1].parent.qualname
    assert entries[0].calltime_ns < entries[1].calltime_ns
    assert [each.end for each in returns] == ["return", "return"]
    assert returns[0].overrun == returns[1].overrun >= 0
    assert [each.depth for each in returns] == [0, 0]


def test_what_nobody_keeps_is_used_again():
    """If no callback keeps a trace, no new objects are made."""
    ids: set[int] = set()
    ops = funcgraph.FgraphOps(lambda trace, ops, regs: ids.add((id(trace), id(regs))), filter=FILTER)
    with funcgraph.registered(ops):
        for _ in range(100):
            leaf()
    assert ops.last_error is None
    assert len(ids) == 1


def test_types_cannot_be_made_or_changed():
    (entry,), (end,) = collect(branch)
    for thing in (entry, end, entry.func):
        with pytest.raises(TypeError):
            type(thing)()
        with pytest.raises((TypeError, AttributeError)):
            thing.func = thing.name = 1
    assert sys.getrefcount(entry) == sys.getrefcount(end)
