"""Calls made by a callback are not traced but counted as missed. A callback can still make calls when the
program has reached its recursion limit.

Broken by hand: fg_callback_begin did not raise the limit (RecursionError in the callback); fg_callback_end
did not lower it fully (the program recursed too deep); fg_callback_is_own_call returned false (the callback
itself was counted); fg_is_only_tool returned false (3.12+ counted nothing) or true (the other tool saw the
callback's calls).
"""

from __future__ import annotations

import json
import sys

import pytest

import funcgraph

pytest_plugins = ("probes",)
pytestmark = pytest.mark.usefixtures("no_users_left")

FILTER = [f"{__name__}.traced", f"{__name__}.helper"]


def traced() -> int:
    return 1


def helper() -> int:
    return 2


def deepest(count: list[int]) -> None:
    count[0] += 1
    deepest(count)


def test_what_a_callback_calls_is_not_traced():
    seen: list[str] = []

    def entry(trace, ops, regs):
        seen.append(trace.func.qualname)
        helper()
        helper()
        return True

    def ret(trace, ops, regs):
        helper()

    with funcgraph.registered(funcgraph.FgraphOps(entry, ret, filter=FILTER)) as ops:
        for _ in range(10):
            traced()
    assert ops.last_error is None
    assert seen == ["traced"] * 10
    assert ops.nmissed == 30


@pytest.mark.skipif(sys.version_info < (3, 12), reason="there is no sys.monitoring")
def test_another_tool_does_not_hear_of_what_a_callback_calls():
    """CPython reports a call to all tools or to none. With another tool, missed calls are not counted."""
    received: list[str] = []

    def entry(trace, ops, regs):
        helper()
        return False

    events = sys.monitoring.events
    sys.monitoring.use_tool_id(2, "another")
    sys.monitoring.register_callback(2, events.PY_START, lambda code, offset: received.append(code.co_name))
    try:
        with funcgraph.registered(funcgraph.FgraphOps(entry, None, filter=FILTER)) as ops:
            sys.monitoring.set_events(2, events.PY_START)
            traced()
            sys.monitoring.set_events(2, 0)
            while_there = ops.nmissed
            sys.monitoring.register_callback(2, events.PY_START, None)
            sys.monitoring.free_tool_id(2)
            traced()
    finally:
        if sys.monitoring.get_tool(2):
            sys.monitoring.free_tool_id(2)
    assert ops.last_error is None
    assert received == ["traced"]
    assert (while_there, ops.nmissed) == (0, 1)


def test_the_callbacks_themselves_are_not_missed():
    def entry(trace, ops, regs):
        return True

    ops = funcgraph.FgraphOps(entry, lambda trace, ops, regs: None, filter=[f"{__name__}.*"])
    with funcgraph.registered(ops):
        for _ in range(10):
            traced()
    assert ops.last_error is None
    assert ops.nmissed == 0


def depth_reached() -> int:
    count = [0]
    with pytest.raises(RecursionError):
        deepest(count)
    return count[0]


def test_the_recursion_limit_is_the_programs():
    encoded: list[str] = []

    def entry(trace, ops, regs):
        encoded.append(
            json.dumps({"depth": [[[[[trace.depth]]]]]}, indent=1)
        )  # this makes several nested Python calls
        return True

    plain = depth_reached()
    ops = funcgraph.FgraphOps(entry, lambda trace, ops, regs: json.dumps(1), filter=[f"{__name__}.deepest"])
    with funcgraph.registered(ops):
        assert depth_reached() == plain
        limit = sys.getrecursionlimit()
    assert limit == sys.getrecursionlimit()
    assert ops.last_error is None
    # Some CPythons report a call's start before they check the limit: there, the failing call is counted too.
    assert plain <= len(encoded) <= plain + 1
    assert depth_reached() == plain


def test_a_callback_that_never_ends_its_recursion(no_users_left):
    def entry(trace, ops, regs):
        deepest([0])

    plain = depth_reached()
    with funcgraph.registered(funcgraph.FgraphOps(entry, filter=FILTER)) as ops:
        assert traced() == 1
    assert isinstance(ops.last_error, RecursionError)
    assert len(no_users_left) == 1
    assert depth_reached() == plain


def test_a_callback_may_change_the_limit():
    limit = sys.getrecursionlimit()

    def entry(trace, ops, regs):
        sys.setrecursionlimit(limit + 500)

    plain = depth_reached()
    try:
        with funcgraph.registered(funcgraph.FgraphOps(entry, filter=FILTER)) as ops:
            traced()
        assert ops.last_error is None
        assert depth_reached() == plain + 500
    finally:
        sys.setrecursionlimit(limit)


def test_trace_and_profile_functions_do_not_see_callbacks():
    seen: list[str] = []

    def entry(trace, ops, regs):
        helper()
        return True

    def watch(frame, event, arg):
        if frame.f_code.co_filename == __file__ and event in ("call", "return"):
            seen.append(f"{event} {frame.f_code.co_name}")
        return watch

    with funcgraph.registered(
        funcgraph.FgraphOps(entry, lambda trace, ops, regs: helper(), filter=[f"{__name__}.traced"])
    ) as ops:
        before = sys.gettrace()
        sys.settrace(watch)
        try:
            traced()
        finally:
            sys.settrace(before)
        profile = sys.getprofile()
        sys.setprofile(watch)
        try:
            traced()
        finally:
            sys.setprofile(profile)
    assert ops.last_error is None
    assert seen == ["call traced", "return traced", "call traced", "return traced"]
