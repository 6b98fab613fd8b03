"""The package in CPython against the model: random programs call real functions; each user logs callbacks."""

from __future__ import annotations

import gc
import sys
import threading
import warnings
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from builds import HAS_GIL
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from model import MAX_USERS, Event, Kind, Model, Set
from random_program import (
    ASYNC_GENERATORS,
    COROUTINES,
    FUNCTIONS,
    GENERATORS,
    NR_THREADS,
    PLAIN,
    Action,
    BoomError,
    Program,
)
from sizes import CPYTHON_MODEL_EXAMPLES

import funcgraph

NR_USERS = 4
INDEX = {func.name: func.index for func in FUNCTIONS}
ENDS = {"return": 0, "raise": 1, "close": 2}
# Without the GIL, the thread that made an object frees it at an unpredictable time.
GOES_AT_ONCE = HAS_GIL


class Thing:
    """An object that a user reserves at an entry."""

    def __init__(self, token: int) -> None:
        self.token = token


class User:
    """A registered FgraphOps that behaves as the program says and logs its callbacks."""

    def __init__(
        self,
        session: Session,
        number: int,
        sets: tuple[list[str], ...],
        tids: list[int] | None,
        refused: set[int],
        size_bytes: int,
        has_object: bool,
    ) -> None:
        self.session, self.number = session, number
        self.refused, self.size_bytes, self.has_object = refused, size_bytes, has_object
        include, notrace, graph, graph_notrace = sets
        self.ops = funcgraph.FgraphOps(
            self._entered, self._returned, filter=include, notrace=notrace, graph=graph,
            graph_notrace=graph_notrace, tids=tids, name=f"user {number}",
        )  # fmt: skip

    def _entered(self, trace: Any, ops: Any, regs: Any) -> bool:
        token = self.session.next_token()
        func = INDEX[trace.func.name]
        if self.has_object and token % 2:
            self._reserve_object(token)
        if self.size_bytes:
            view = ops.reserve_data(self.size_bytes)
            assert bytes(view) == bytes(self.size_bytes)
            view[:] = _contents(token, self.size_bytes)
        if self.has_object and not token % 2:
            self._reserve_object(token)
        self._log(Kind.ENTRY, trace, func, 0, token)
        return func not in self.refused

    def _returned(self, trace: Any, ops: Any, regs: Any) -> None:
        token = self._token_in(ops.retrieve_data())
        thing = ops.retrieve_object()
        assert (thing is not None) == self.has_object
        assert not (token and thing) or thing.token == token
        self._log(Kind.RETURN, trace, INDEX[trace.func.name], ENDS[trace.end], token)

    def _log(self, kind: Kind, trace: Any, func: int, end: int, token: int) -> None:
        parent, grandparent = (self._token_in(self.ops.retrieve_parent_data(depth)) for depth in (1, 2))
        var = self.ops.task_var
        self.ops.task_var = var + 1
        self.session.logged.append(
            Event(kind, self.number, func, trace.depth, end, token, parent, grandparent, var)
        )

    def _reserve_object(self, token: int) -> None:
        thing = Thing(token)
        self.session.things[token] = weakref.ref(thing)
        assert self.ops.reserve_object(thing)

    def _token_in(self, view: memoryview | None) -> int:
        if view is None:
            return 0
        token = int.from_bytes(view[:8], "little")
        assert bytes(view[: self.size_bytes]) == _contents(token, self.size_bytes)
        return token


def _contents(token: int, size_bytes: int) -> bytes:
    return token.to_bytes(8, "little") + bytes([token % 251]) * (size_bytes - 8)


class Session:
    """One program: its users, their logs, and the model's predictions."""

    def __init__(self) -> None:
        self.logged: list[Event] = []
        self.things: dict[int, weakref.ref[Thing]] = {}
        self.tokens = 0
        self.users: dict[int, User] = {}
        names = [func.name for func in FUNCTIONS]
        self.model = Model(names, deque(range(MAX_USERS)), reports_suspends=False)
        self.program = Program(self.model, self.control)

    def next_token(self) -> int:
        self.tokens += 1
        return self.tokens

    def control(self, action: Action) -> None:
        """Run an action that changes users."""
        name, *arguments = action
        getattr(self, f"_{name}")(*arguments)

    def run(self, actions: list[Action]) -> None:
        for action in actions:
            self.program.top([action])
            self.compare()
        self.program.finish()
        self.compare()

    def compare(self) -> None:
        logged, self.logged = self.logged, []
        events, self.model.events = self.model.events, []
        assert [user.ops.last_error for user in self.users.values() if user.ops.errors] == []
        assert logged == events
        must, may = self.model.objects()
        alive = {token for token, thing in self.things.items() if thing() is not None}
        assert must <= alive
        assert alive <= may or not GOES_AT_ONCE

    def finish(self) -> None:
        """Unregister all users, and check that all reserved objects are freed."""
        for number, user in list(self.users.items()):
            if user.ops.registered:  # a failed program may leave users registered
                self._unregister(number)
        self.program.finish()
        # The next registration frees the remains of unregistered users; the next reserved object frees those
        # of ended threads.
        last = funcgraph.FgraphOps(lambda trace, ops, regs: ops.reserve_object(None), filter=["fgm.f0"])
        with funcgraph.registered(last):
            self.program.do_call(PLAIN[0], [], False)
        assert [token for token, thing in self.things.items() if thing()] == []

    def _register(
        self,
        number: int,
        sets: tuple[list[str], ...],
        threads: tuple[int, ...],
        refused: set[int],
        size: int,
        thing: bool,
    ) -> None:
        tids = self._tids_of(threads)
        if self.model.register(number, sets, tids, refused, size > 0, thing):
            self.users[number] = User(self, number, sets, tids, refused, size, thing)
            funcgraph.register_ftrace_graph(self.users[number].ops)

    def _unregister(self, number: int) -> None:
        if self.model.unregister(number):
            funcgraph.unregister_ftrace_graph(self.users.pop(number).ops)

    def _edit(self, number: int, which: Set, patterns: list[str], reset: bool) -> None:
        if number not in self.users or (reset and not patterns and which is Set.FILTER):
            return  # without patterns, the user would trace every function of this process
        self.model.edit_filter(number, which, patterns, reset)
        ops = self.users[number].ops
        change = (ops.set_filter, ops.set_notrace, ops.set_graph, ops.set_graph_notrace)[which]
        change(patterns, reset=reset)

    def _tids(self, number: int, threads: tuple[int, ...]) -> None:
        if number in self.users:
            tids = self._tids_of(threads)
            self.model.set_tids(number, tids)
            self.users[number].ops.set_tids(tids)

    def _tids_of(self, threads: tuple[int, ...]) -> list[int] | None:
        return [self.model.tids[thread] for thread in threads if thread in self.model.tids] or None


ALL = ["fg[mn].*"]
INCLUDES = [ALL, ALL, ALL, ALL, ["fgm.*"], ["fgn.*"], ["fgm.?0"], ["fgn.C.*", "fgm.g0"]]
NOTRACE = [[], [], [], [], [], [], ["fgm.f1"], ["fgn.*"], ["fg?.[gc]1"], ["fgm.[!f]*"]]
GRAPHS = [[], [], [], [], [], [], ["fgm.f0"], ["fgm.*"], ["fgn.C.method"], ["fg?.?0"]]
HIDDEN = [[], [], [], [], [], [], [], ["fgm.f1"], ["fgn.*"], ["fgm.g0"]]
THREADS = [(), (), (), (), (), (), (0,), (0, 1), (2,)]
SIZES = [0, 8, 9, 30, 64, 255, 256]
ANSWERS = ["raise", "raise", "return", "go on"]
RESUMES = ["send", "send", "send", "throw", "close", *(["drop", "collect"] if GOES_AT_ONCE else [])]
MAX_NESTING = 6


class Reader:
    """Decodes a list of numbers into a program: any list is valid; a shorter list is a simpler program."""

    def __init__(self, numbers: list[int]) -> None:
        self.numbers = iter(numbers)
        self.is_empty = False
        self.nesting = 0

    def program(self) -> list[Action]:
        actions = [self.register() for _ in range(1 + self.below(3))]
        while not self.is_empty:
            actions.append(self.action(self.ANYWHERE))
        return actions

    def below(self, end: int) -> int:
        number = next(self.numbers, None)
        self.is_empty = number is None
        return (number or 0) % end

    def pick(self, items: Sequence[Any]) -> Any:
        return items[self.below(len(items))]

    def action(self, kinds: Sequence[str]) -> Action:
        kind = self.pick(kinds)
        if kind in self.NESTING and self.nesting >= MAX_NESTING:
            kind = "resume"
        return getattr(self, kind)()

    def body(self, kinds: Sequence[str] | None = None, most: int = 6) -> list[Action]:
        self.nesting += 1
        actions = [self.action(kinds or self.ANYWHERE) for _ in range(self.below(most)) if not self.is_empty]
        self.nesting -= 1
        return actions

    # ---- actions of programs

    def call(self) -> Action:
        return ("call", self.pick(PLAIN), self.body(), bool(self.below(2)))

    def recurse(self) -> Action:
        return ("recurse", self.pick(PLAIN), self.below(6), self.body())

    def fail(self) -> Action:
        return ("raise",)

    def make_generator(self) -> Action:
        return ("make", *self._generator())

    def make_coroutine(self) -> Action:
        return ("make", *self._coroutine())

    def make_async_generator(self) -> Action:
        return ("make", *self._async_generator())

    def resume(self) -> Action:
        return ("resume", self.below(4), self.pick(RESUMES))

    def give_way(self) -> Action:
        return ("yield",)

    def delegate_to_generator(self) -> Action:
        return ("delegate", *self._generator())

    def delegate_to_coroutine(self) -> Action:
        return ("delegate", *self._coroutine())

    def iterate(self) -> Action:
        func, body, answer, _ = self._async_generator()
        return ("iterate", func, body, answer, [])

    def on(self) -> Action:
        return ("on", 1 + self.below(NR_THREADS - 1), self.body())

    def end_thread(self) -> Action:
        return ("end_thread", 1 + self.below(NR_THREADS - 1))

    def run_asyncio(self) -> Action:
        coroutines = [self._coroutine()[:3] for _ in range(1 + self.below(3))]
        return ("asyncio", coroutines, [self.below(3) for _ in range(self.below(3))])

    # ---- actions on users

    def register(self) -> Action:
        sets = tuple(self.pick(patterns) for patterns in (INCLUDES, NOTRACE, GRAPHS, HIDDEN))
        refused = {self.below(len(FUNCTIONS)) for _ in range(self.below(3))}
        return (
            "register",
            self.below(NR_USERS),
            sets,
            self.pick(THREADS),
            refused,
            self.pick(SIZES),
            bool(self.below(2)),
        )

    def unregister(self) -> Action:
        return ("unregister", self.below(NR_USERS))

    def edit(self) -> Action:
        which = self.pick(list(Set))
        patterns = self.pick((INCLUDES, NOTRACE, GRAPHS, HIDDEN)[which])
        return ("edit", self.below(NR_USERS), which, patterns, bool(self.below(2)))

    def tids(self) -> Action:
        return ("tids", self.below(NR_USERS), self.pick(THREADS))

    # ---- helpers

    def _generator(self) -> tuple[Any, ...]:
        return self.pick(GENERATORS), self.body(self.IN_GENERATOR), self.pick(ANSWERS), self.body(most=2)

    def _coroutine(self) -> tuple[Any, ...]:
        return self.pick(COROUTINES), self.body(self.IN_COROUTINE), self.pick(ANSWERS), self.body(most=2)

    def _async_generator(self) -> tuple[Any, ...]:
        return (
            self.pick(ASYNC_GENERATORS),
            self.body(self.IN_ASYNC_GENERATOR),
            self.pick(ANSWERS),
            self.body(most=2),
        )

    ANYWHERE = (
        *(["resume"] * 10),
        *(["call"] * 6),
        *("make_generator", "make_generator", "make_coroutine", "make_coroutine", "make_async_generator"),
        *(
            "recurse",
            "fail",
            "on",
            "on",
            "run_asyncio",
            "register",
            "register",
            "unregister",
            "edit",
            "edit",
            "tids",
        ),
        "end_thread",
    )
    IN_ASYNC_GENERATOR = (*(["give_way"] * 8), *ANYWHERE)
    IN_GENERATOR = (*IN_ASYNC_GENERATOR, *(["delegate_to_generator"] * 4))
    IN_COROUTINE = (*IN_ASYNC_GENERATOR, "iterate", "iterate", *(["delegate_to_coroutine"] * 4))
    NESTING = frozenset(
        (
            *("call", "recurse", "make_generator", "make_coroutine", "make_async_generator", "on"),
            *("delegate_to_generator", "delegate_to_coroutine", "iterate", "run_asyncio"),
        )
    )


numbers = st.lists(
    st.integers(0, 719), min_size=200, max_size=800
)  # 720 = 6!: every choice among up to 6 items is uniform


@contextmanager
def quiet() -> Iterator[None]:
    """Disable automatic collection, and ignore exceptions that finalisers raise."""
    hook = sys.unraisablehook

    def ignore_ours(raised: Any) -> None:
        if not issubclass(raised.exc_type, BoomError):
            hook(raised)

    gc.disable()
    sys.unraisablehook = ignore_ours
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # for coroutines that were never awaited
            yield
    finally:
        sys.unraisablehook = hook
        gc.enable()


def run(program: list[Action]) -> None:
    threads = threading.active_count()  # pytest's plugins may have their own
    session = Session()
    with quiet():
        try:
            session.run(program)
        finally:
            session.finish()
    assert not [user for user in funcgraph.users() if user.name.startswith("user ")]
    assert threading.active_count() == threads


# Broken by each of: a function's events disabled while a call whose return is wanted was in progress; marks
# not subtracted at a suspension; the task variable not cleared at a registration; a filter accepting any
# thread; objects not dropped with their frame.
@pytest.mark.timeout(300 + CPYTHON_MODEL_EXAMPLES // 10)
@settings(
    max_examples=CPYTHON_MODEL_EXAMPLES,
    deadline=None,
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
    suppress_health_check=[HealthCheck.too_slow],
)
@given(numbers)
def test_users_in_cpython_are_told_what_the_model_says(numbers: list[int]) -> None:
    program = Reader(numbers).program()
    note(str(program))
    run(program)
