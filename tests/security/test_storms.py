"""Storms: attaches and connections, more at a time than anybody makes, and values that change while they are
read. The process goes on, and nothing of it stays. At night there are as many as an attack on funcgraph had.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from builds import HAS_GIL
from sizes import ATTACH_STORM, CONNECTION_STORM, FETCH_STORM, NIGHTLY, seed

import funcgraph
from funcgraph.attach.errors import AttachError
from funcgraph.attach.inject import run_in
from funcgraph.control import wire
from funcgraph.control.client import connect
from funcgraph.control.server import _OPERATIONS

pytestmark = [pytest.mark.one_python, pytest.mark.timeout(1800 if NIGHTLY else 300)]

HERE = Path(__file__).parent
sys.path += [str(HERE.parent / "attach"), str(HERE.parent / "control")]

from running import PROGRAMS, Running  # noqa: E402
from served import HELLO, Served, exchange, served  # noqa: E402


def together(count: int, act: Callable[[random.Random], None]) -> None:
    """Have threads act, each with random numbers of its own; raise the error of one that has one."""
    begin = seed()
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            act(random.Random(begin + number))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in errors:
        raise error


# ---- attaches

ATTACHERS = 4


def test_a_storm_of_attaches_harms_no_program() -> None:
    """Each runs its code once, or says in one line why not."""
    names = ("busy", "allocating", "many threads", "with signals", "joining")
    running = [Running(PROGRAMS[name]) for name in names]
    made = [0]

    def attach(chance: random.Random) -> None:
        for number in range(ATTACH_STORM // ATTACHERS):
            program = chance.choice(running)
            try:
                assert run_in(program.pid, f"answer = {number}", 60) == str(number)
                made[0] += 1
            except AttachError as error:
                assert str(error).isprintable() and program.process.poll() is None

    try:
        together(ATTACHERS, attach)
        assert made[0] > ATTACH_STORM // 2
        for program in running:
            assert program.end() == (7, "", "")
    finally:
        for program in running:
            program.__exit__(None, None, None)


# ---- connections


def visit(program: Served, chance: random.Random) -> None:
    """Connect, and go in one of the ways that there are."""
    with program.raw() as connection:
        way = chance.randrange(6)
        if way == 0:
            return
        if way == 1:
            connection.sendall(wire.LENGTH.pack(chance.randrange(1, 1 << 20)) + b"half of it")
            return
        exchange(connection, HELLO)
        if way > 2:
            operation = chance.choice(sorted(_OPERATIONS))
            connection.sendall(wire.framed(wire.pack({"op": operation, "path": "trace", "flags": 0})))
        if way > 4:
            wire.receive(connection)


def test_a_storm_of_connections_leaves_nothing(tmp_path: Path) -> None:
    with served(tmp_path) as program, program.connect() as first:
        assert first.call("info")["pid"] == program.pid
        descriptors = len(program.descriptors())

        def come_and_go(chance: random.Random) -> None:
            for _ in range(CONNECTION_STORM // 8):
                try:
                    visit(program, chance)
                except (EOFError, ConnectionError):  # a later one needed its place
                    continue

        together(8, come_and_go)
        for _ in range(1000):  # ends of connections are noticed one after the other
            with connect(program.pid) as process:
                assert process.call("info")["pid"] == program.pid
            if len(program.descriptors()) <= descriptors + 1:
                break
        assert len(program.descriptors()) <= descriptors + 1
        assert program.end() == 0
        assert program.errors.read_text() == ""


# ---- values


class Thing:
    """What is changed all the time."""

    def __init__(self) -> None:
        self.text = "a"
        self.items: Any = [1, "two", 3.0]
        self.table: Any = {"key": 1}
        self.next: Any = self


def turn(thing: Thing) -> None:
    pass


FETCHED = (
    "text=thing.text:string", "item=thing.next.items[1]", 'key=thing.table["key"]',
    'deep=thing.next.next.table["other"]:string', "last=thing.items[2]", "thing", "what=thing.items",
    "next=thing.next.text",
)  # fmt: skip
MUTATORS = 3


def mutate(thing: Thing, chance: random.Random) -> None:
    """Change one thing: its type, its size, or whether it is there at all."""
    way = chance.randrange(10)
    if way == 0:
        thing.text = "x" * chance.randrange(4000)
    elif way == 1:
        thing.items = chance.choice(([], [None] * chance.randrange(100), (1, 2), None, "abc", Thing()))
    elif way == 2 and isinstance(thing.items, list):
        thing.items[:] = [Thing() for _ in range(chance.randrange(20))]
    elif way == 3:
        thing.table = chance.choice(({}, {"key": [1]}, {"other": "text" * 99}, None, 7))
    elif way == 4 and isinstance(thing.table, dict):
        thing.table[str(chance.randrange(1000))] = thing
    elif way == 5 and isinstance(thing.table, dict):
        thing.table.clear()
    elif way == 6:
        thing.next = chance.choice((thing, Thing(), None, 1, type))
    elif way == 7:
        vars(thing).pop(chance.choice(("text", "items", "table", "next")), None)
    elif way == 8:
        vars(thing).update(vars(Thing()))
    else:
        setattr(thing, f"name{chance.randrange(100)}", 1)


@pytest.fixture
def instance() -> Iterator[funcgraph.Instance]:
    with funcgraph.Instance("storm") as made:
        yield made
    funcgraph.dynamic_events.clear()


def test_values_that_change_while_they_are_fetched_are_values_or_faults(instance: funcgraph.Instance) -> None:
    """Its threads change all that an event fetches. Fails if one reads memory that is gone."""
    name = f"f:storm/turn {__name__}.turn {' '.join(FETCHED)}"
    made = funcgraph.dynamic_events.define(name)
    instance.events[f"{made.group}/{made.event}"].enable = True
    thing = Thing()
    stops = threading.Event()

    def change(chance: random.Random) -> None:
        with suppress(AttributeError, RuntimeError, TypeError):  # another thread has changed it
            mutate(thing, chance)

    def keep_changing(chance: random.Random) -> None:
        while not stops.is_set():
            change(chance)

    def call() -> None:
        chance = random.Random(0)
        for number in range(FETCH_STORM // len(FETCHED)):
            turn(thing)
            if number % 4 == 0:  # also where threads are seldom switched
                change(chance)
        stops.set()

    first = threading.Thread(target=call)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        first.start()
        together(MUTATORS, keep_changing)
        first.join()
    finally:
        sys.setswitchinterval(interval)
    assert funcgraph.killed() is None
    lines = instance.trace().splitlines()
    found = {line.partition(": turn: ")[2] for line in lines}
    items = {text.partition(" item=")[2].partition(" key=")[0] for text in found}
    if HAS_GIL:
        assert len(found) > 20
        assert "(fault)" in items and len(items) > 2, items
    else:  # what another thread may change meanwhile is not read
        assert items == {"", "(fault)"}
