"""Users that come and go while the functions that they watch are running."""

from __future__ import annotations

import threading
from typing import Any

import funcgraph
from funcgraph.selftest import program
from funcgraph.selftest.observer import WAIT_S, FailedError, Observer, expect, patterns

_HELD_S = 0.05  # a callback runs for so long at least, while it is unregistered


def in_the_middle() -> None:
    """No return without its entry, for a user that came too late for that, and none for one that has left."""
    _between_two()
    _alone()
    _other_filter()
    suspended = program.steps(1)
    program.send(suspended)
    with Observer("steps") as late:
        program.send(suspended)
        late.expect([], "of the end of a generator that began before it came, a user was told")


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
        late.expect(["leaf {", "} leaf: return"], "a user that came in the middle of call() was told")
        early.expect(["call {"], "a user that left in the middle of call() was told")
        stays.expect(["call {", "} call: return"], "the user that stayed was told")


def _alone() -> None:
    """The only user of a function leaves in the middle of it: nothing is left behind."""
    user = Observer("call")
    user.__enter__()
    program.call(lambda: user.__exit__(None, None, None))
    user.expect(["call {"], "the only user, which left in the middle of call(), was told")
    expect(funcgraph.get_ret_stack(), [], "calls in progress when they are over")


def _other_filter() -> None:
    """A call that was entered has its return, whatever the filter is by then."""
    with Observer("call") as user:
        program.call(lambda: user.ops.set_filter(patterns("leaf"), reset=True))
        user.expect(
            ["call {", "} call: return"], "a user whose filter changed in the middle of call() was told"
        )


def unregister_waits() -> None:
    """When unregister_ftrace_graph() has returned, no callback of the user runs any more."""
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
        raise FailedError("the callback did not begin")
    threading.Thread(target=unregister, daemon=True).start()
    left.wait(_HELD_S)
    go_on.set()
    caller.join(WAIT_S)
    if not left.wait(WAIT_S):
        raise FailedError("unregister_ftrace_graph() did not return when the callback had")
    expect(order, ["callback ended", "unregistered"], "what happened, in this order")
