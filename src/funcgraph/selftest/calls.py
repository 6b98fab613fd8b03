"""Who is told of which call: users, their filters, their view of the nesting, what they see of a call."""

from __future__ import annotations

import threading
from typing import Any

import funcgraph
from funcgraph.selftest import program
from funcgraph.selftest.observer import PROGRAM, FailedError, Observer, expect, in_thread, patterns

LEAF = ["leaf {", "} leaf: return"]
PAIR = ["pair {", "} pair: return"]
# What a user of both is told of one pair().
NESTED = ["pair {", "  leaf {", "  } leaf: return", "  leaf {", "  } leaf: return", "} pair: return"]


def one_user() -> None:
    """Each call and each return once, in their nesting; nothing before and nothing after."""
    user = Observer("pair", "leaf", "recurse")
    program.pair(1)
    with user:
        user.expect([], "before any call it was told")
        expect(program.pair(21), 42, "the program's result")
        user.expect(NESTED)
        expect(program.recurse(2), 2, "the program's result")
        user.expect([
            "recurse {", "  recurse {", "    recurse {",
            "    } recurse: return", "  } recurse: return", "} recurse: return",
        ])  # fmt: skip
        expect(in_thread(lambda: program.pair(1)), 2, "the program's result in a thread")
        user.expect(NESTED, "of a call in a thread it was told")
    program.pair(1)
    user.expect([], "after it had left it was told")


class _Values(Observer):
    """Notes the values that it sees."""

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
            raise FailedError(f"{trace.func.name} ended before it began")


def arguments_and_results() -> None:
    """What a user sees of a call is the call's own: function, caller, arguments, result, times in order."""
    with _Values("leaf") as user:
        program.pair(1234567)
        call = [(f"{PROGRAM}.leaf", "leaf", {"value": 1234567}, 1234567), f"{PROGRAM}.pair", 1234567]
        expect(user.values, call * 2, "it saw")


def two_users() -> None:
    """Each is told of its own functions only, with depths of its own, and stays when the other one goes."""
    outer, inner, both = Observer("pair"), Observer("leaf"), Observer("pair", "leaf")
    with both:
        with outer, inner:
            program.pair(1)
            outer.expect(PAIR, "the user of pair() was told")
            inner.expect(LEAF * 2, "the user of leaf() was told")
            both.expect(NESTED, "the user of both was told")
            expect(
                len({user.slot for user in funcgraph.users() if user.name == "self-test"}), 3, "slots in use"
            )
        program.pair(1)
        outer.expect([], "the user of pair() was told after it had left")
        inner.expect([], "the user of leaf() was told after it had left")
        both.expect(NESTED, "the user that stayed was told")


def filters_in_use() -> None:
    """A filter holds from the moment on that it is set, also for functions that are defined later."""
    with Observer("leaf") as user:
        user.ops.set_filter(patterns("pair"))
        program.pair(1)
        user.expect(NESTED, "with a pattern more it was told")
        user.ops.set_filter(patterns("pair"), reset=True)
        program.pair(1)
        user.expect(PAIR, "with another pattern it was told")
        user.ops.set_filter(patterns("leaf"))
        user.ops.set_notrace(patterns("pair"))
        program.pair(1)
        user.expect(LEAF * 2, "with notrace it was told")
        user.ops.set_notrace([], reset=True)
        user.ops.set_filter(["selftest_later.defined_*"], reset=True)
        namespace: dict[str, Any] = {"__name__": "selftest_later"}
        exec("def defined_now(): pass", namespace)
        namespace["defined_now"]()
        user.expect(
            ["defined_now {", "} defined_now: return"], "of a function that was defined later it was told"
        )
        user.ops.set_filter(patterns("leaf"), reset=True)
        user.ops.set_tids([threading.get_native_id()])
        in_thread(lambda: program.leaf(1))
        user.expect([], "of another thread it was told")
        program.leaf(1)
        user.expect(LEAF, "of its own thread it was told")


def graph_filters() -> None:
    """`graph` asks for a function and what it calls, `graph_notrace` takes both away; `filter` neither."""
    with Observer(filter=[], graph=patterns("pair")) as user:
        program.leaf(1)
        user.expect([], "of a call outside of its graph it was told")
        program.pair(1)
        user.expect(NESTED, "of its graph it was told")
    with Observer(graph_notrace=patterns("pair")) as user:
        program.pair(1)
        user.expect([], "of a graph that it does not want it was told")
        program.leaf(1)
        user.expect(LEAF, "of a call outside of that graph it was told")


def calls_in_progress() -> None:
    """get_ret_stack() shows the traced calls of a thread, newest first, with where they return to."""

    def look() -> list[tuple[str, str]]:
        return [
            (frame.func.qualname, frame.parent.qualname)
            for frame in funcgraph.get_ret_stack()
            if frame.parent
        ]

    def nested() -> list[tuple[str, str]]:
        return program.call(look)

    with Observer("call"):
        expect(funcgraph.get_ret_stack(), [], "calls in progress outside of any")
        seen = program.call(nested)
        wanted = [("call", nested.__qualname__), ("call", "calls_in_progress")]
        expect(seen, wanted, "calls in progress, and where they return to")
        others = program.call(lambda: in_thread(funcgraph.get_ret_stack))
        expect(others, [], "calls in progress in another thread")
