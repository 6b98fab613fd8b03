"""Checks a user's state: data and objects from a call's entry to its return, and task variables."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import funcgraph
from funcgraph.selftest import program
from funcgraph.selftest.observer import FailedError, Observer, expect, in_thread, patterns

MAX_BYTES = 256  # FGRAPH_MAX_DATA_BYTES: a user can reserve so many at one entry
_DEPTH = 3


class _Keeper(Observer):
    """Reserves `size_bytes` at each entry, fills them, and verifies them at the return."""

    def __init__(self, seed: int) -> None:
        super().__init__("recurse")
        self.seed = seed
        self.size_bytes = 0
        self.found = 0

    def pattern(self, depth: int) -> bytes:
        """Return the bytes of one call: different for each user, depth and size."""
        first = self.seed + 37 * depth + self.size_bytes
        return bytes((first + 5 * i) % 255 + 1 for i in range(self.size_bytes))

    def entered(self, trace: Any, regs: Any) -> None:
        view = self.ops.reserve_data(self.size_bytes)
        if view is None:
            raise FailedError(f"reserve_data({self.size_bytes}) found no room")
        expect(bytes(view), bytes(self.size_bytes), f"the {self.size_bytes} bytes reserved at the entry")
        view[:] = self.pattern(trace.depth)
        expect(self.ops.reserve_data(1), None, "a second reserve_data() at one entry")

    def ended(self, trace: Any, regs: Any) -> None:
        view = self.ops.retrieve_data()
        if view is None:
            raise FailedError(
                f"retrieve_data() did not find the {self.size_bytes} bytes reserved at the entry"
            )
        expect(bytes(view), self.pattern(trace.depth), f"the {self.size_bytes} bytes at the return")
        self.found += 1


def each_size() -> None:
    """Two users at once, one with 1, 2, ... 256 bytes and the other with 256, 255, ... 1, in recursion."""
    with _Keeper(1) as up, _Keeper(101) as down:
        for size_bytes in range(1, MAX_BYTES + 1):
            up.size_bytes, down.size_bytes = size_bytes, MAX_BYTES + 1 - size_bytes
            expect(program.recurse(_DEPTH), _DEPTH, "the program's result")
        for user in (up, down):
            expect(user.found, MAX_BYTES * (_DEPTH + 1), "returns that found their data")
    _refused(0)
    _refused(MAX_BYTES + 1)


def _refused(size_bytes: int) -> None:
    errors: list[str] = []

    def entry(trace: Any, ops: Any, regs: Any) -> None:
        try:
            ops.reserve_data(size_bytes)
        except ValueError as error:
            errors.append(str(error))

    with funcgraph.registered(funcgraph.FgraphOps(entry, filter=patterns("leaf"), name="self-test")):
        program.leaf(1)
    expect(len(errors), 1, f"ValueErrors of reserve_data({size_bytes})")


class _Parents(Observer):
    """Keeps each call's depth, and reads the depths of all enclosing calls."""

    def __init__(self) -> None:
        super().__init__("recurse")
        self.seen: list[list[int | None]] = []

    def entered(self, trace: Any, regs: Any) -> None:
        view = self.ops.reserve_data(1)
        assert view is not None
        view[0] = 100 + trace.depth
        self.look(trace)

    def ended(self, trace: Any, regs: Any) -> None:
        self.look(trace)

    def look(self, trace: Any) -> None:
        views = [self.ops.retrieve_parent_data(depth) for depth in range(trace.depth + 2)]
        self.seen.append([None if view is None else view[0] for view in views])


def parent_data() -> None:
    """A user reads the data of its own enclosing calls, and None beyond the outermost one."""
    with Observer(), _Parents() as user, Observer("recurse"):  # frames of other users lie in between
        program.recurse(2)
        entries = [[100 + depth - out for out in range(depth + 1)] + [None] for depth in range(3)]
        expect(user.seen, entries + entries[::-1], "data of the enclosing calls")


class _Token:
    """An object that supports weak references, unlike an int."""


class _Objects(Observer):
    def __init__(self) -> None:
        super().__init__("recurse")
        self.tokens: list[weakref.ref[_Token]] = []
        self.found: list[bool] = []

    def entered(self, trace: Any, regs: Any) -> None:
        token = _Token()
        self.tokens.append(weakref.ref(token))
        expect(self.ops.reserve_object(token), True, "the first reserve_object() at an entry")
        expect(self.ops.reserve_object(token), False, "a second reserve_object() at the entry")

    def ended(self, trace: Any, regs: Any) -> None:
        self.found.append(self.ops.retrieve_object() is self.tokens[trace.depth]())
        alive = [token() is not None for token in self.tokens]
        expect(alive, [depth <= trace.depth for depth in range(len(alive))], "which objects are alive")


def objects() -> None:
    """An object is found at its call's return, and is released when that call is over."""
    with _Objects() as user:
        program.recurse(_DEPTH)
        expect(user.found, [True] * (_DEPTH + 1), "objects found at the return")
        expect(
            [token() for token in user.tokens], [None] * (_DEPTH + 1), "objects after their calls are over"
        )
    refused: list[weakref.ref[_Token]] = []

    def entry(trace: Any, ops: Any, regs: Any) -> bool:
        token = _Token()
        refused.append(weakref.ref(token))
        ops.reserve_object(token)
        return False

    with funcgraph.registered(funcgraph.FgraphOps(entry, filter=patterns("leaf"), name="self-test")):
        program.leaf(1)
    expect([token() for token in refused], [None], "the object of a call whose return the user did not want")


def task_variables() -> None:
    """Each thread and user has its own word. It is zero in a new thread and after each registration."""
    one, other = Observer("leaf"), Observer("leaf")
    with one, other:
        expect((one.ops.task_var, other.ops.task_var), (0, 0), "words of new users")
        one.ops.task_var, other.ops.task_var = 2**64 - 1, 7
        expect(in_thread(lambda: _exchanged(one, 5)), 0, "the word of a new thread")
        expect(in_thread(lambda: _exchanged(one, 6)), 0, "the word of the next new thread")
        expect((one.ops.task_var, other.ops.task_var), (2**64 - 1, 7), "the words of this thread")
        _left_alone_by_registering(one)


def _exchanged(user: Observer, value: int) -> int:
    old: int = user.ops.task_var
    user.ops.task_var = value
    program.leaf(1)
    expect(user.ops.task_var, value, "the word of a thread after a call")
    return old


def _left_alone_by_registering(first: Observer) -> None:
    """Register users until one has the slot of `first`: its word is zero, also where `first` had set it."""
    slot = first.ops.slot
    ready, done = threading.Event(), threading.Event()
    words: list[int] = []

    def other_thread() -> None:
        first.ops.task_var = 8
        ready.set()
        done.wait()
        words.append(again.ops.task_var)

    thread = threading.Thread(target=other_thread, daemon=True)
    thread.start()
    ready.wait()
    funcgraph.unregister_ftrace_graph(first.ops)
    again = Observer("leaf")
    for _ in range(128):
        with again:
            if again.ops.slot == slot:
                words.append(again.ops.task_var)
                done.set()
                thread.join()
                break
    done.set()
    expect(words, [0, 0], "words of the slot's next user, in two threads")
