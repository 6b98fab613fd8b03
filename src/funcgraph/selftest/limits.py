"""What is limited, and what is counted: slots, the shadow stack, calls that callbacks make, their errors."""

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

SLOTS = 64  # of the table of users: FG_MAX_USERS
# A shadow stack of 8 MiB has room for fewer calls than that with 256 bytes each.
_TOO_DEEP = 50_000
_OVERRUN = 50  # calls without room, and it is enough
_FRAME_WORDS, _DATA_WORDS = 6, 33  # of a call, and of its 256 bytes with their descriptor


def all_slots() -> None:
    """Each slot has its user, all are told of a call; one more is refused, with who is there."""
    free = SLOTS - len(funcgraph.users())
    with ExitStack() as stack:
        users = [stack.enter_context(Observer("leaf")) for _ in range(free)]
        expect(sorted(user.slot for user in funcgraph.users()), list(range(SLOTS)), "slots in use")
        _refused_for(errno.ENOSPC, "self-test", Observer("leaf").ops)
        _refused_for(errno.EBUSY, "self-test", users[0].ops)
        program.leaf(1)
        for user in users:
            user.expect(["leaf {", "} leaf: return"], f"the user in slot {user.ops.slot} was told")
    expect(len(funcgraph.users()), SLOTS - free, "users when all have left")


def _refused_for(number: int, text: str, ops: Any) -> None:
    try:
        funcgraph.register_ftrace_graph(ops)
    except OSError as error:
        expect(error.errno, number, "the error's number")
        if text not in str(error):
            raise FailedError(f"the error does not name {text!r}: {error}") from None
    else:
        raise FailedError(f"no error with number {errno.errorcode[number]}")


class _Owner(Observer):
    """One of many owners of a slot, with a call of its own in progress when it leaves."""

    def __init__(self) -> None:
        super().__init__("steps")
        self.suspended = program.steps(1)
        self.told_of_end = 0

    def entered(self, trace: Any, regs: Any) -> None:
        self.ops.reserve_data(8)

    def ended(self, trace: Any, regs: Any) -> None:
        self.told_of_end += 1


def slot_reuse() -> None:
    """The end of a call goes to nobody when its user has left: not to the next owner of its slot either.

    Three times around all slots. Each owner leaves with a generator of its own suspended; that of the slot's
    previous owner is run to its end, and the one before is collected, while the slot is the next one's.
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
            owner.expect(["steps {"], f"the owner of slot {owner.ops.slot} was told")
    expect(len(previous), SLOTS - len(funcgraph.users()), "slots that were used")
    expect(sum(owner.told_of_end for owner in owners), 0, "ends told to users that had left")


class _Deep(Observer):
    """Fills the shadow stack; finds its data at each return."""

    def __init__(self) -> None:
        super().__init__("recurse_until")
        self.calls = self.entries = self.returns = self.without_data = self.overrun = 0

    def is_deep(self) -> bool:
        """Called by each call, traced or not."""
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
            expect(int.from_bytes(view[:4], "little"), trace.depth, "the depth that is kept in the data")


def overrun() -> None:
    """A call that finds no room on the shadow stack is counted, not traced; the program does not notice."""
    with _Deep() as user:
        sys.setrecursionlimit(2 * _TOO_DEEP)
        in_thread(partial(_fill_twice, user))


def _fill_twice(user: _Deep) -> None:
    _fill(user)
    _fill_again(user)


def _fill(user: _Deep) -> None:
    expect(program.recurse_until(user.is_deep), user.calls - 1, "the program's result")
    expect(user.overrun, _OVERRUN, "calls counted as overrun")
    expect(user.entries, user.calls - _OVERRUN, "entries of the other calls")
    expect(user.returns, user.entries, "their returns")
    # Where there is no room for data any more, there is for a few calls without.
    expect(
        user.without_data <= _DATA_WORDS // _FRAME_WORDS,
        True,
        f"{user.without_data} entries without data are few",
    )


def _fill_again(user: _Deep) -> None:
    """There is room again when the calls are over."""
    before, user.calls, user.entries, user.returns = user.entries, 0, 0, 0
    program.recurse_until(user.is_deep)
    expect((user.entries, user.returns), (before, before), "entries and returns when there is room again")
    expect(user.overrun, 2 * _OVERRUN, "calls counted as overrun, the second time")


class _Caller(Observer):
    def entered(self, trace: Any, regs: Any) -> None:
        expect(program.pair(3), 6, "the result of a call that a callback makes")


def _is_alone() -> bool:
    """No other tool listens to this interpreter: what a callback calls is told to us."""
    if not hasattr(sys, "monitoring"):
        return True
    tools = sum(sys.monitoring.get_tool(tool_id) is not None for tool_id in range(6))
    return tools == 1 and sys.gettrace() is None and sys.getprofile() is None


def missed() -> None:
    """What a callback calls is not traced; where CPython tells us of it, it is counted."""
    bystander = Observer("leaf")
    with _Caller("pair", "leaf") as user, bystander:
        expect(program.pair(1), 2, "the program's result")
        user.expect(["pair {", *["  leaf {", "  } leaf: return"] * 2, "} pair: return"])
        bystander.expect(["leaf {", "} leaf: return"] * 2, "the other user was told")
        # The three entries call pair() once each, and that calls leaf() twice. From 3.12 on CPython tells
        # either all tools of sys.monitoring of what is called in a callback, or none.
        counted = (9, 6) if _is_alone() else (0, 0)
        expect((user.ops.nmissed, bystander.ops.nmissed), counted, "calls counted as missed")


class _UserError(Exception):
    pass


def errors() -> None:
    """A callback's exception is reported and counted, disables its own user, never reaches the program."""
    for keep_on_error, entries in ((False, 1), (True, 3)):
        _errors_of(keep_on_error, entries)


def _errors_of(keep_on_error: bool, entries: int) -> None:
    reported: list[object] = []

    def entry(trace: Any, ops: Any, regs: Any) -> bool:
        raise _UserError

    ops = funcgraph.FgraphOps(
        entry,
        filter=patterns("catching", "passing", "failing"),
        name="self-test",
        keep_on_error=keep_on_error,
    )
    with Observer("failing") as other:
        sys.unraisablehook = lambda unraisable: reported.append(unraisable.exc_type)
        funcgraph.register_ftrace_graph(ops)
        result = program.catching()
        funcgraph.unregister_ftrace_graph(ops)
        expect(result, "failing", "the program's result")
        other.expect(["failing {", "} failing: raise"], "the other user was told")
    expect(reported, [_UserError] * entries, "errors reported")
    expect((ops.errors, type(ops.last_error)), (entries, _UserError), "errors counted, and the last one")
    expect(ops.enabled, keep_on_error, "it is enabled")
