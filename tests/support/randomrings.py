"""Random rings for the tests of the .fg format: processes, instances, tasks, and records of all kinds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import ringfile
from dat_events import random_fields
from event_image import TYPES, Kind, kind_of
from hypothesis import strategies as st
from ringfile import FUNC, SEEN, RingFile, record
from tracefile import value, word
from tracereader import Desk

S = 1_000_000_000
CALLER = 5
MARK, STACK, REPEATS, CALL_AT = 10, 11, 12, 13
NR_EVENTS = 4
IRQ = 0x40  # in a record's info
NAMES = ("m.f", "m.C.g", "app.main", "m.späte", "m.f with space")
INSTANCES = (b"", b"", b"", b"one", "zweite ü".encode())


@dataclass(frozen=True)
class Step:
    """What a task does next."""

    what: str
    passed: int  # ticks since its step before
    func: int
    number: int
    start: int | None  # ticks before now
    values: bytes
    is_irq: bool


@dataclass(frozen=True)
class Piece:
    """Steps of one task that lie in one sub-buffer."""

    task: int
    lost: int
    steps: tuple[Step, ...]
    is_damaged: bool


@dataclass(frozen=True)
class Process:
    """A ring."""

    pid: int
    instance: bytes
    has_counter: bool
    functions: tuple[tuple[int, str, int, int, int], ...]  # id, name, line, flags, type of symbol
    tasks: tuple[tuple[int, int, str], ...]  # number, tid, name
    pieces: tuple[Piece, ...]
    lost: int
    killed: bytes
    is_finished: bool
    events: tuple[tuple[int, Kind], ...] = ()  # number, kind


VALUES = st.lists(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(),
        st.text(max_size=20),
        st.binary(max_size=20),
        st.just([1, 2]),
        st.just(ValueError),
    ).map(value)
    | st.integers(0, 2**64 - 1).map(lambda bits: word(8, bits)),
    max_size=4,
).map(b"".join)

STEPS = st.builds(
    Step,
    what=st.sampled_from(
        (
            *("call", "call", "call", "call", "call at", "return", "return", "return", "raise", "suspend"),
            *("resume", "close", "function", "wait", "wait less", "lost", "overrun", "message", "stack"),
            *("repeats", "odd", "event", "event"),
        )
    ),
    passed=st.integers(0, 3000) | st.sampled_from((0, 0, 0, 10_000_000, 5 * S, -1, -500)),
    func=st.integers(0, 6) | st.sampled_from((900, 2**32 - 1)),
    number=st.integers(0, 5) | st.integers(0, 2**64 - 1),
    start=st.none() | st.integers(-5, 10_000),
    values=st.just(b"") | VALUES,
    is_irq=st.sampled_from((False, False, False, True)),
)

PIECES = st.builds(
    Piece,
    task=st.integers(1, 3),
    lost=st.sampled_from((0, 0, 0, 7)),
    steps=st.lists(STEPS, max_size=40).map(tuple),
    is_damaged=st.sampled_from((False,) * 9 + (True,)),
)

KINDS = st.builds(
    kind_of,
    system=st.sampled_from(("fprobes", "kprobes", "own", "funcgraph")),
    name=st.sampled_from(("co", "cor", "paid")),
    fields_at=st.sampled_from((8, 16, 24)),
    fields=st.lists(
        st.tuples(st.sampled_from(tuple(TYPES)), st.sampled_from((0, 0, 0, 1, 3))).map(
            lambda drawn: (drawn[0], f"{drawn[0]}_{drawn[1]}", drawn[1])
        ),
        max_size=6,
    ),
)

PROCESSES = st.builds(
    Process,
    pid=st.integers(100, 103),
    instance=st.sampled_from(INSTANCES),
    has_counter=st.booleans(),
    functions=st.lists(
        st.tuples(
            st.integers(0, 6),
            st.sampled_from(NAMES),
            st.integers(1, 2),
            st.sampled_from((0, 0, 1, 2, 64)),
            st.sampled_from((FUNC, FUNC, FUNC, SEEN, CALLER)),
        ),
        max_size=8,
    ).map(tuple),
    tasks=st.lists(
        st.tuples(st.integers(1, 3), st.integers(100, 110), st.sampled_from(("", "main", "wörker 1"))),
        max_size=4,
    ).map(tuple),
    pieces=st.lists(PIECES, max_size=6).map(tuple),
    lost=st.sampled_from((0, 9)),
    killed=st.sampled_from((b"", b"", b"a frame was lost")),
    is_finished=st.booleans(),
    events=st.lists(st.tuples(st.integers(0, NR_EVENTS - 1), KINDS), max_size=4).map(tuple),
)

SESSIONS = st.lists(PROCESSES, min_size=1, max_size=4)


class Walk:
    """A task's calls while its records are made."""

    def __init__(self, begin: int, events: Mapping[int, Kind]) -> None:
        self.now = begin
        self.events = events
        self.stack: list[tuple[int, int]] = []  # function, begin

    def record(self, step: Step) -> bytes:
        """Return the record of a step; of one that cannot be, a record that tells nonsense."""
        self.now = max(self.now + step.passed, 1)
        start = None if step.start is None else max(self.now - step.start, 0)
        irq = IRQ if step.is_irq else 0
        now, func, values, depth = self.now, step.func, step.values, len(self.stack)
        match step.what:
            case "call" | "resume" | "call at":
                self.stack.append((func, now))
                kinds = {"call": ringfile.ENTRY, "resume": ringfile.RESUME, "call at": CALL_AT}
                place = (step.number,) if step.what == "call at" else ()
                kind = kinds[step.what] | irq
                return record(kind, now, func, depth, *place, start=start, values=values)
            case "return" | "raise" | "suspend" | "close":
                kind = getattr(ringfile, step.what.upper()) | irq
                if not self.stack:
                    return record(kind, now, func, 3, now, start=start, values=values)
                func, begin = self.stack.pop()
                return record(kind, now, func, depth - 1, begin, start=start, values=values)
            case "function":
                return record(ringfile.FUNCTION, now, func, depth, step.number % 8, values=values)
            case "wait" | "wait less":
                begin = now - step.number % 2000
                return record(ringfile.WAIT, now, 0, int(step.what == "wait less"), max(begin, 0))
            case "lost":
                return record(ringfile.LOST, now, 0, 0, step.number % 100)
            case "overrun":
                return record(ringfile.OVERRUN, now, 0, 0, step.number % 70_000)
            case "message":
                text = ("half way " + "é" * (step.number % 30)).encode()
                filled = text + bytes(-len(text) % 8)
                words = [int.from_bytes(filled[at : at + 8], "little") for at in range(0, len(filled), 8)]
                return record(MARK, now, func, depth, len(text), *words)
            case "stack":
                ids = b"".join(((step.func + i) % 8).to_bytes(4, "little") for i in range(step.number % 9))
                return record(STACK, now, func, depth, values=ids or bytes(4))
            case "event":
                number = step.number % (NR_EVENTS + 1)
                kind_of_it = self.events.get(number)
                fields = random_fields(kind_of_it, step.number) if kind_of_it else b"unknown"
                return ringfile.event(now, number, fields, func, depth, caller=step.number % 8, line=7)
            case "repeats":
                return record(REPEATS, now, func, depth, step.number % 8, step.number)
        depth = step.number % 2000
        return record(ringfile.RAISE | irq, now, func, depth, step.number, start=start, values=values)


def ticks_of(ns: int) -> int:
    return 7_000_000 + (ns - S) * 5 // 2


def fill(ring: RingFile, process: Process) -> None:
    """Write all that a process has."""
    ring.process(1, "python", f"app {process.pid}.py")
    for number, name, line, flags, kind in process.functions:
        ring.function(number, name, args="a,rest", line=line, flags=flags, kind=kind)
    for number, tid, name in process.tasks:
        ring.task(number, tid, name)
    begin = ticks_of(2 * S) if process.has_counter else 2 * S
    kinds = dict(process.events)
    for number, kind_of_event in kinds.items():
        ring.event_type(
            number, kind_of_event.system, kind_of_event.name, kind_of_event.fields_at, kind_of_event.text
        )
    walks = {task: Walk(begin + 1000 * task, kinds) for task in (1, 2, 3)}
    room = ring.header.subbuf_bytes - ringfile.SUBBUF_HEADER_BYTES
    for piece in process.pieces:
        data = b""
        for step in piece.steps:
            one = walks[piece.task].record(step)
            if len(data) + len(one) + 16 <= room:
                data += one
        ring.put(piece.task, data + (bytes(8) + b"\xff" * 8 if piece.is_damaged else b""), lost=piece.lost)
    ring.header.records_lost = process.lost
    ring.header.killed = process.killed
    ring.header.wait_count, ring.header.wait_ticks, ring.header.overrun = 2, 2500, process.lost
    if process.is_finished:
        ring.finish()


def fill_desk(desk: Desk, session: list[Process]) -> None:
    """Write the rings of a session."""
    for number, process in enumerate(session):
        start = S + number
        clock = ((ticks_of(start), start), (ticks_of(start + 9 * S), start + 9 * S))
        ring = desk.ring(
            process.pid, instance=process.instance, nr_subbufs=8, clock=clock if process.has_counter else None
        )
        fill(ring, process)
