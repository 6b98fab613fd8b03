"""Checks which calls each user sees: filters, nesting, and the data of a call."""

from __future__ import annotations

import threading
from typing import Any

import funcgraph
from funcgraph.selftest import program
from funcgraph.selftest.observer import PROGRAM, FailedError, Observer, expect, in_thread, patterns

LEAF = ["leaf {", "} leaf: return"]
PAIR = ["pair {", "} pair: return"]
# The events of one pair() for a user of both functions.
NESTED = ["pair {", "  leaf {", "  } leaf: return", "  leaf {", "  } leaf: return", "} pair: return"]


def one_user() -> None:
    """A user sees each call and each return once, nested; nothing before it registers or after it leaves."""
    user = Observer("pair", "leaf", "recurse")
    program.pair(1)
    with user:
        user.expect([], "events before any call")
        expect(program.pair(21), 42, "the program's result")
        user.expect(NESTED)
        expect(program.recurse(2), 2, "the program's result")
        user.expect([
            "recurse {", "  recurse {", "    recurse {",
            "    } recurse: return", "  } recurse: return", "} recurse: return",
        ])  # fmt: skip
        expect(in_thread(lambda: program.pair(1)), 2, "the program's result in a thread")
        user.expect(NESTED, "events of a call in another thread")
    program.pair(1)
    user.expect([], "events after the user left")


class _Values(Observer):
    """Keeps the values of each call."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        self.values: list[object] = []

    def entered(self, trace: Any, regs: Any) -> None:
        self.values.append(
            (trace.func.name, trace.func.code.co_qualname, regs.arguments(), regs.get_argument(0))
        )
        self.values.append(trace.parent.name)

    def ended(self, trace: Any, regs: Any) -> None:
        self.values.append(regs.get_return_value())
        if not trace.start_ns <= trace.calltime_ns <= trace.rettime_ns:
            raise FailedError(f"{trace.func.name}: the return's time is before the entry's")


def arguments_and_results() -> None:
    """A user sees the call's own function, caller, arguments and result, with times in order."""
    with _Values("leaf") as user:
        program.pair(1234567)
        call = [(f"{PROGRAM}.leaf", "leaf", {"value": 1234567}, 1234567), f"{PROGRAM}.pair", 1234567]
        expect(user.values, call * 2, "functions, arguments, callers and results")


def two_users() -> None:
    """Each user sees only its own functions, with its own depths. One stays when the others leave."""
    outer, inner, both = Observer("pair"), Observer("leaf"), Observer("pair", "leaf")
    with both:
        with outer, inner:
            program.pair(1)
            outer.expect(PAIR, "events of the user of pair()")
            inner.expect(LEAF * 2, "events of the user of leaf()")
            both.expect(NESTED, "events of the user of both")
            expect(
                len({user.slot for user in funcgraph.users() if user.name == "self-test"}), 3, "slots in use"
            )
        program.pair(1)
        outer.expect([], "events of the user of pair(), after it left")
        inner.expect([], "events of the user of leaf(), after it left")
        both.expect(NESTED, "events of the user that stayed")


def filters_in_use() -> None:
    """A filter takes effect when the setter returns, also for functions that are defined later."""
    with Observer("leaf") as user:
        user.ops.set_filter(patterns("pair"))
        program.pair(1)
        user.expect(NESTED, "events after a pattern was added")
        user.ops.set_filter(patterns("pair"), reset=True)
        program.pair(1)
        user.expect(PAIR, "events after the patterns were replaced")
        user.ops.set_filter(patterns("leaf"))
        user.ops.set_notrace(patterns("pair"))
        program.pair(1)
        user.expect(LEAF * 2, "events with notrace set")
        user.ops.set_notrace([], reset=True)
        user.ops.set_filter(["selftest_later.defined_*"], reset=True)
        namespace: dict[str, Any] = {"__name__": "selftest_later"}
        exec("def defined_now(): pass", namespace)
        namespace["defined_now"]()
        user.expect(
            ["defined_now {", "} defined_now: return"],
            "events of a function defined later",
        )
        user.ops.set_filter(patterns("leaf"), reset=True)
        user.ops.set_tids([threading.get_native_id()])
        in_thread(lambda: program.leaf(1))
        user.expect([], "events of a thread outside set_tids")
        program.leaf(1)
        user.expect(LEAF, "events of the thread in set_tids")


def graph_filters() -> None:
    """`graph` selects a function and its callees, `graph_notrace` hides both; `filter` affects no callees."""
    with Observer(graph=patterns("pair")) as user:
        program.leaf(1)
        user.expect([], "events outside of `graph`")
        program.pair(1)
        user.expect(NESTED, "events inside of `graph`")
    with Observer(graph_notrace=patterns("pair")) as user:
        program.pair(1)
        user.expect([], "events inside of `graph_notrace`")
        program.leaf(1)
        user.expect(LEAF, "events outside of `graph_notrace`")


def calls_in_progress() -> None:
    """get_ret_stack() lists the traced calls of a thread and their callers, newest first."""

    def look() -> list[tuple[str, str]]:
        return [
            (frame.func.qualname, frame.parent.qualname)
            for frame in funcgraph.get_ret_stack()
            if frame.parent
        ]

    def nested() -> list[tuple[str, str]]:
        return program.call(look)

    with Observer("call"):
        expect(funcgraph.get_ret_stack(), [], "calls in progress outside of any traced call")
        seen = program.call(nested)
        expected = [("call", nested.__qualname__), ("call", "calls_in_progress")]
        expect(seen, expected, "calls in progress and their callers")
        others = program.call(lambda: in_thread(funcgraph.get_ret_stack))
        expect(others, [], "calls in progress in another thread")
