"""Checks limits and counters: slots, the shadow stack, calls made by callbacks, errors in callbacks."""

from __future__ import annotations

import errno
import sys
from collections.abc import Generator
from contextlib import ExitStack
from functools import partial
from typing import Any

import funcgraph
from funcgraph.selftest import program
from funcgraph.selftest.observer import FailedError, Observer, expect, in_thread, patterns

SLOTS = 64  # FG_MAX_USERS
_TOO_DEEP = 50_000  # so many calls with 256 bytes of data each do not fit on a shadow stack of 8 MiB
_OVERRUN = 50  # the recursion stops after this many calls without room
_FRAME_WORDS, _DATA_WORDS = 6, 33  # the size of a frame, and of 256 bytes of data with their descriptor


def all_slots() -> None:
    """With a user in each slot, all see a call. One more is refused, and the error names the users."""
    free = SLOTS - len(funcgraph.users())
    with ExitStack() as stack:
        users = [stack.enter_context(Observer("leaf")) for _ in range(free)]
        expect(sorted(user.slot for user in funcgraph.users()), list(range(SLOTS)), "slots in use")
        _refused_for(errno.ENOSPC, "self-test", Observer("leaf").ops)
        _refused_for(errno.EBUSY, "self-test", users[0].ops)
        program.leaf(1)
        for user in users:
            user.expect(["leaf {", "} leaf: return"], f"events of the user in slot {user.ops.slot}")
    expect(len(funcgraph.users()), SLOTS - free, "users after all of the check's have left")


def _refused_for(number: int, text: str, ops: Any) -> None:
    try:
        funcgraph.register_ftrace_graph(ops)
    except OSError as error:
        expect(error.errno, number, "errno of register_ftrace_graph()")
        if text not in str(error):
            raise FailedError(f"the error does not name {text!r}: {error}") from None
    else:
        raise FailedError(f"register_ftrace_graph() did not fail with {errno.errorcode[number]}")


class _Owner(Observer):
    """One of many owners of a slot. Its generator is suspended when it leaves."""

    def __init__(self) -> None:
        super().__init__("steps")
        self.suspended = program.steps(1)
        self.returns = 0

    def entered(self, trace: Any, regs: Any) -> None:
        self.ops.reserve_data(8)

    def ended(self, trace: Any, regs: Any) -> None:
        self.returns += 1


def slot_reuse() -> None:
    """If a user left during a call, nobody sees the call's return, not even the next owner of the slot.

    192 owners use all slots three times. Each owner leaves with its own generator suspended. While the next
    owner has the slot, the generator of the previous owner runs to its end, and the one before is collected.
    """
    previous: dict[int, list[Generator[int, None, int]]] = {}
    owners = [_Owner() for _ in range(3 * SLOTS)]
    for owner in owners:
        with owner:
            program.send(owner.suspended)
            suspended = previous.setdefault(owner.ops.slot or 0, [])
            while len(suspended) > 1:
                del suspended[0]
            if suspended:
                program.send(suspended[-1])
            suspended.append(owner.suspended)
            del owner.suspended
            owner.expect(["steps {"], f"events of the owner of slot {owner.ops.slot}")
    expect(len(previous), SLOTS - len(funcgraph.users()), "slots used")
    expect(sum(owner.returns for owner in owners), 0, "returns seen by users that had left")


class _Deep(Observer):
    """Fills the shadow stack, and verifies its data at each return."""

    def __init__(self) -> None:
        super().__init__("recurse_until")
        self.calls = self.entries = self.returns = self.without_data = self.overrun = 0

    def is_deep(self) -> bool:
        """Called within each call, traced or not."""
        self.calls += 1
        return self.calls >= min(self.entries + _OVERRUN, _TOO_DEEP)

    def _entry(self, trace: Any, ops: Any, regs: Any) -> bool:
        self.entries += 1
        view = ops.reserve_data(256)
        if view is None:
            self.without_data += 1
        else:
            view[:4] = trace.depth.to_bytes(4, "little")
        return True

    def _return(self, trace: Any, ops: Any, regs: Any) -> None:
        self.returns += 1
        self.overrun = trace.overrun
        view = ops.retrieve_data()
        if view is not None:
            expect(int.from_bytes(view[:4], "little"), trace.depth, "the depth kept in the call's data")


def overrun() -> None:
    """A call that finds no room on the shadow stack runs untraced and is counted."""
    with _Deep() as user:
        sys.setrecursionlimit(2 * _TOO_DEEP)
        in_thread(partial(_fill_twice, user))


def _fill_twice(user: _Deep) -> None:
    _fill(user)
    _fill_again(user)


def _fill(user: _Deep) -> None:
    expect(program.recurse_until(user.is_deep), user.calls - 1, "the program's result")
    expect(user.overrun, _OVERRUN, "calls counted as overrun")
    expect(user.entries, user.calls - _OVERRUN, "entries of calls that found room")
    expect(user.returns, user.entries, "returns of calls that found room")
    # Where data no longer fits, a few frames without data still fit.
    most = _DATA_WORDS // _FRAME_WORDS
    expect(user.without_data <= most, True, f"at most {most} entries without data ({user.without_data})")


def _fill_again(user: _Deep) -> None:
    """After the calls have returned there is room again."""
    before, user.calls, user.entries, user.returns = user.entries, 0, 0, 0
    program.recurse_until(user.is_deep)
    expect((user.entries, user.returns), (before, before), "entries and returns of the second recursion")
    expect(user.overrun, 2 * _OVERRUN, "calls counted as overrun after the second recursion")


class _Caller(Observer):
    def entered(self, trace: Any, regs: Any) -> None:
        expect(program.pair(3), 6, "the result of a call made by a callback")


def _is_alone() -> bool:
    """Return True if no other tool watches this interpreter. CPython then reports a callback's calls."""
    if not hasattr(sys, "monitoring"):
        return True
    tools = sum(sys.monitoring.get_tool(tool_id) is not None for tool_id in range(6))
    return tools == 1 and sys.gettrace() is None and sys.getprofile() is None


def missed() -> None:
    """Calls made by a callback are not traced. Where CPython reports them, they are counted."""
    bystander = Observer("leaf")
    with _Caller("pair", "leaf") as user, bystander:
        expect(program.pair(1), 2, "the program's result")
        user.expect(["pair {", *["  leaf {", "  } leaf: return"] * 2, "} pair: return"])
        bystander.expect(["leaf {", "} leaf: return"] * 2, "events of the other user")
        # The three entry callbacks call pair() once each, which calls leaf() twice. From 3.12 on CPython
        # reports a callback's calls either to all tools of sys.monitoring or to none.
        counted = (9, 6) if _is_alone() else (0, 0)
        expect((user.ops.nmissed, bystander.ops.nmissed), counted, "calls counted as missed")


class _UserError(Exception):
    pass


def errors() -> None:
    """A callback's exception is reported and counted, disables its user, and never reaches the program."""
    for keep_on_error, entries in ((False, 1), (True, 3)):
        _errors_of(keep_on_error, entries)


def _errors_of(keep_on_error: bool, entries: int) -> None:
    errors: list[object] = []

    def entry(trace: Any, ops: Any, regs: Any) -> bool:
        raise _UserError

    ops = funcgraph.FgraphOps(
        entry,
        filter=patterns("catching", "passing", "failing"),
        name="self-test",
        keep_on_error=keep_on_error,
    )
    with Observer("failing") as other:
        sys.unraisablehook = lambda unraisable: errors.append(unraisable.exc_type)
        funcgraph.register_ftrace_graph(ops)
        result = program.catching()
        funcgraph.unregister_ftrace_graph(ops)
        expect(result, "failing", "the program's result")
        other.expect(["failing {", "} failing: raise"], "events of the other user")
    expect(errors, [_UserError] * entries, "exceptions reported")
    expect((ops.errors, type(ops.last_error)), (entries, _UserError), "number of errors and the last error")
    expect(ops.enabled, keep_on_error, "the user is enabled")
