"""Checks users that register and unregister while the functions that they watch are running."""

from __future__ import annotations

import threading
from typing import Any

import funcgraph
from funcgraph.selftest import program
from funcgraph.selftest.observer import WAIT_S, FailedError, Observer, expect, patterns

_HELD_S = 0.05  # a callback runs at least this long after unregistering began


def in_the_middle() -> None:
    """A user that registers during a call gets no return for it, nor does one that left during the call."""
    _between_two()
    _alone()
    _other_filter()
    suspended = program.steps(1)
    program.send(suspended)
    with Observer("steps") as late:
        program.send(suspended)
        late.expect([], "events of a generator that began before the user registered")


def _between_two() -> None:
    late, early, stays = Observer("call", "leaf"), Observer("call", "leaf"), Observer("call")
    with stays:
        early.__enter__()

        def change() -> None:
            late.__enter__()
            early.__exit__(None, None, None)
            program.leaf(1)

        program.call(change)
        late.__exit__(None, None, None)
        late.expect(["leaf {", "} leaf: return"], "events of a user that registered during call()")
        early.expect(["call {"], "events of a user that left during call()")
        stays.expect(["call {", "} call: return"], "events of the user that stayed")


def _alone() -> None:
    """The only user of a function leaves during a call of it: no frame stays on the shadow stack."""
    user = Observer("call")
    user.__enter__()
    program.call(lambda: user.__exit__(None, None, None))
    user.expect(["call {"], "events of the only user, which left during call()")
    expect(funcgraph.get_ret_stack(), [], "calls in progress after call() returned")


def _other_filter() -> None:
    """A user that saw a call's entry sees its return, even if its filter no longer matches."""
    with Observer("call") as user:
        program.call(lambda: user.ops.set_filter(patterns("leaf"), reset=True))
        user.expect(["call {", "} call: return"], "events of a user whose filter changed during call()")


def unregister_waits() -> None:
    """After unregister_ftrace_graph() has returned, no callback of the user is running."""
    inside, go_on, left = threading.Event(), threading.Event(), threading.Event()
    order: list[str] = []

    def entry(trace: Any, ops: Any, regs: Any) -> None:
        inside.set()
        go_on.wait(WAIT_S)
        order.append("callback ended")

    ops = funcgraph.FgraphOps(entry, filter=patterns("leaf"), name="self-test")

    def unregister() -> None:
        funcgraph.unregister_ftrace_graph(ops)
        order.append("unregistered")
        left.set()

    funcgraph.register_ftrace_graph(ops)
    caller = threading.Thread(target=program.leaf, args=(1,), daemon=True)
    caller.start()
    if not inside.wait(WAIT_S):
        raise FailedError(f"the callback did not begin within {WAIT_S:.0f} s")
    threading.Thread(target=unregister, daemon=True).start()
    left.wait(_HELD_S)
    go_on.set()
    caller.join(WAIT_S)
    if not left.wait(WAIT_S):
        raise FailedError(
            f"unregister_ftrace_graph() did not return within {WAIT_S:.0f} s of the callback's end"
        )
    expect(order, ["callback ended", "unregistered"], "order of the two ends")
