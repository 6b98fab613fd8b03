"""Every event of a random trace is the same in a .fg and in the trace.dat made of it, for all readers.

ringfile.py writes the rings, fgreader.py and tracereader.py read the two files, and trace-cmd reads the
trace.dat. None of them shares code with the code under test.
"""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fgreader
import pytest
import ringfile
from dat_events import DatEvents
from fgreader import FgTrace
from hypothesis import example, given, settings
from hypothesis import strategies as st
from randomrings import PROCESSES, SESSIONS, Piece, Process, Step, fill_desk
from ringfile import RingFile, add_ring
from sizes import TRACE_EXAMPLES
from tracefile import CLOSE, RAISE, RESUME, RETURN, SUSPEND
from tracereader import FUNC_BASE, FUNC_STEP, UNKNOWN, Desk, Trace, read_trace

import funcgraph
from funcgraph import _tracedata
from funcgraph.tracedata import TraceFile, parse_options
from tracedata.programs import FUNCTIONS, STEPS, Program
from tracedata.programs import Step as ProgramStep
from tracedata.text.test_report_model import lines_of

pytestmark = pytest.mark.one_python

META = {"tracer": "function_graph", "command": ["app.py"], "version": "ours"}
OPTIONS = (
    "",
    "funcgraph-proc funcgraph-cpu funcgraph-abstime",
    "funcgraph-tail funcgraph-irqs nofuncgraph-args funcgraph-retval-hex",
)
MARK_ADDRESS = UNKNOWN - FUNC_STEP
HAS_START, HAS_CALLER, IRQ = 0x80, 0x40, 0x20


@contextmanager
def recorded(session: list[Process], clock: str) -> Iterator[Desk]:
    """Record a session: desk.part is the complete .fg, desk.output the trace.dat."""
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder))
        fill_desk(desk, session)
        recorder = desk.recorder(clock=clock)
        for ring in desk.rings:
            recorder.finish(add_ring(recorder, ring.path))
        recorder.complete(json.dumps(META))
        recorder.close()
        assert _tracedata.convert(str(desk.part), str(desk.output)) is None
        yield desk


# ---- fgreader.py's events as those of a trace.dat


def address(function: int | None) -> int:
    return UNKNOWN if function is None else FUNC_BASE + FUNC_STEP * function


def caller(event: fgreader.Event) -> int:
    return address(event.caller) if event.has_caller else 0


def graph_event(event: fgreader.Event) -> tuple[int, bytes]:
    start = b"" if event.start_ns is None else struct.pack("<Q", event.start_ns)
    flags = (HAS_START if start else 0) | (IRQ if event.is_irq else 0)
    if event.kind == fgreader.CALL_AT:
        flags = flags & ~HAS_START | HAS_CALLER
        start = struct.pack("<II", caller(event), event.line)
    fixed = struct.pack("<II", address(event.func), event.depth)
    if event.kind in fgreader.BEGINS:
        kind = (event.kind == fgreader.RESUME) | flags
        return 11, fixed + struct.pack("<B", kind) + start + event.values
    times = struct.pack("<QQH", event.begin_ns, event.end_ns, min(event.overrun, 65535))
    return 10, fixed + times + struct.pack(
        "<B", (event.kind - fgreader.RETURN) | flags
    ) + start + event.values


def own_event(event: fgreader.Event, own: DatEvents) -> tuple[int, bytes]:
    if event.event is None:
        return 65535, b""
    where = address(event.func) if event.has_func else 0
    places = struct.pack("<QQ", where, caller(event))[: own.kinds[event.event].fields_at - 8]
    return 3000 + event.event, own.record(event.event, places, event.image)


def wire_event(event: fgreader.Event, own: DatEvents) -> tuple[int, bytes]:
    """Return the type and the fields of the trace.dat's event."""
    match event.kind:
        case fgreader.EVENT:
            return own_event(event, own)
        case fgreader.FUNCTION:
            return 1, struct.pack("<II", address(event.func), caller(event)) + event.values
        case fgreader.STACK:
            callers = [address(function) for function in event.stack]
            return 4, struct.pack(f"<ii{len(callers)}Q", len(callers), 0, *callers)
        case fgreader.REPEATS:
            return 20, struct.pack(
                "<IIHHI", address(event.func), caller(event), min(event.count, 65535), 0, 0
            )
        case fgreader.MARK:
            who = address(event.func) if event.has_caller else MARK_ADDRESS
            return 5, struct.pack("<Q", who) + event.text + b"\0"
        case fgreader.WAIT:
            return 2001, struct.pack("<Q", event.begin_ns)
        case fgreader.OVERRUN:
            return 2002, struct.pack("<Q", event.overrun)
    return graph_event(event)


def check_events(fg: FgTrace, dat: Trace) -> int:
    """Compare all events; return how many there are."""
    lanes = fg.lanes()
    assert len(lanes) == len(dat.lanes)
    own = DatEvents(fg, (event for lane in lanes for event in lane))
    for one, other in zip(lanes, dat.lanes, strict=True):
        expected = []
        for event in one:
            kind, data = wire_event(event, own)
            data += bytes(-(8 + len(data)) % 4)
            expected.append((event.lane, event.time, event.lost, kind, event.tid, data))
        assert [(e.lane, e.time, e.lost, e.type, e.tid, e.data) for e in other] == expected
    return sum(map(len, lanes))


def check_description(fg: FgTrace, meta: dict[str, Any]) -> None:
    """Compare what fgreader.py found with the JSON that our reader made."""
    assert [tuple(function[:5]) for function in meta["functions"]] == [f[:5] for f in fg.functions]
    assert [function[5] for function in meta["functions"]] == [f[5] for f in fg.functions]
    tasks = [
        (
            task.lane,
            task.ring.pid,
            task.ring.pid if task.tid is None else task.tid,
            task.name,
            task.ring.number,
        )
        for task in sorted(fg.tasks, key=lambda task: task.lane)
    ]
    assert tasks == [(t["lane"], t["pid"], t["tid"], t["name"], t["process"]) for t in meta["tasks"]]
    assert [tuple(kind) for kind in meta["event_types"]] == fg.event_types
    assert meta["buffers"] == fg.buffers
    assert meta["cpus"] == fg.cpus
    assert meta["clock"] == fgreader.CLOCKS[fg.clock]
    assert meta["lost"] == fg.lost
    assert meta["overrun"] == sum(ring.counts["overrun"] for ring in fg.rings)
    assert meta["command"] == META["command"]
    assert meta["version"] == 1
    for process, ring in zip(meta["processes"], fg.rings, strict=True):
        assert process["killed"] == (ring.killed or None)
        assert (process["pid"], process["ppid"], process["argv"]) == (ring.pid, ring.parent, ring.argv)
        assert process["finished"] == bool(ring.counts["finished"])
        assert process["wait_ns"] == fg.line(ring).span(ring.counts["wait_ticks"])


def report(path: Path, options: str) -> bytes:
    return b"".join(TraceFile(path).report(parse_options(options.split())))


def check_readers(fg: Path, dat: Path) -> None:
    """Compare what our reader makes of the two files."""
    assert TraceFile(fg).meta == TraceFile(dat).meta
    for options in OPTIONS:
        assert report(fg, options) == report(dat, options)
    for one, other in zip(*map(events_of, (fg, dat)), strict=True):
        assert one == other
    rows = [sorted(map(repr, TraceFile(path).summary())) for path in (fg, dat)]
    assert rows[0] == rows[1]


def events_of(path: Path) -> list[Any]:
    """Return what funcgraph.open() gives of a trace. The payload of an event is its image, which differs."""
    with funcgraph.open(path) as trace:
        return [event._replace(payload=b"") for event in trace.events()]


def step(what: str, passed: int = 10, func: int = 0, number: int = 0) -> Step:
    return Step(what, passed, func, number, None, b"", is_irq=False)


def process(*pieces: Piece, pid: int = 100, instance: bytes = b"") -> Process:
    function = (0, "m.f", 1, 0, ringfile.FUNC)
    return Process(pid, instance, False, (function,), (), pieces, 0, b"", is_finished=True)


def piece(task: int, *steps: Step, lost: int = 0, is_damaged: bool = False) -> Piece:
    return Piece(task, lost, steps, is_damaged)


#: Tasks at the same times: on the clock `counter` each event has a number of its own.
TOGETHER = [
    process(
        piece(1, step("call", 3000), step("call", 0), step("return", 0), step("return")),
        piece(2, step("call", 2000), step("return", 0), step("call", 10), step("return", 0)),
        piece(3, step("call", 1000), step("call", 0), step("call", 0), step("return", 10)),
    )
]


@settings(max_examples=TRACE_EXAMPLES, deadline=None)
@given(session=SESSIONS, clock=st.sampled_from(_tracedata.CLOCKS))
@example(session=TOGETHER, clock="counter")
@example(session=[process(), process(piece(1, step("lost", number=5)))], clock="mono")
def test_every_event_is_the_same_for_all_readers(session: list[Process], clock: str) -> None:
    with recorded(session, clock) as desk:
        fg, dat = FgTrace(desk.part.read_bytes()), read_trace(desk.output)
        assert fg.is_complete
        assert fg.gaps == 0
        assert check_events(fg, dat) == dat.meta["events"]
        assert not fg.damaged
        check_description(fg, json.loads(_tracedata.Reader(desk.part).meta))
        check_readers(desk.part, desk.output)


@settings(max_examples=TRACE_EXAMPLES // 2, deadline=None)
@given(session=SESSIONS, before=st.integers(0, 3), counts=st.tuples(*[st.integers(0, 99)] * 4))
@example(session=TOGETHER, before=1, counts=(5, 6, 7, 8))
def test_files_that_follow_one_another_are_the_same_for_all_readers(
    session: list[Process], before: int, counts: tuple[int, ...]
) -> None:
    """The second one begins with the counts that the first one told (FG_SPOOL_BASE)."""
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder))
        fill_desk(desk, session)
        recorder = desk.recorder()
        for ring in desk.rings[:before]:
            recorder.drain(add_ring(recorder, ring.path))
        recorder.describe(json.dumps(META))
        totals = recorder.totals()
        second = desk.part.with_name("second.fg")
        recorder.rotate(second)
        for ring in desk.rings[:before]:
            for name, more in zip(
                ("records_lost", "overrun", "wait_count", "wait_ticks"), counts, strict=True
            ):
                setattr(ring.header, name, (getattr(ring.header, name) + more) % 2**63)
        numbers = list(range(min(before, len(desk.rings))))
        numbers += [add_ring(recorder, ring.path) for ring in desk.rings[before:]]
        for number in numbers:
            recorder.finish(number)
        recorder.complete(json.dumps(META))
        recorder.close()
        files = [FgTrace(path.read_bytes()) for path in (desk.part, second)]
        assert files[0].lost == totals["lost"] + totals["damaged"]
        for path, fg in zip((desk.part, second), files, strict=True):
            assert _tracedata.convert(str(path), str(desk.output)) is None
            dat = read_trace(desk.output)
            check_events(fg, dat)
            check_description(fg, dat.meta)
            check_readers(path, desk.output)


# ---- without a footer, and through a recorder that goes on


@settings(max_examples=TRACE_EXAMPLES // 4, deadline=None)
@given(session=SESSIONS)
def test_a_trace_that_still_grows_has_the_same_events(session: list[Process]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder))
        fill_desk(desk, session)
        recorder = desk.recorder()
        for ring in desk.rings:
            recorder.drain(add_ring(recorder, ring.path))
            recorder.describe(json.dumps({"command": ["before"]}))
        recorder.describe(json.dumps(META))
        growing = FgTrace(desk.part.read_bytes())
        assert not growing.is_complete
        assert TraceFile(desk.part).meta["command"] == growing.meta["command"] == META["command"]
        shown = report(desk.part, "")
        opened = TraceFile(desk.part)
        rows = sorted(map(repr, opened.summary()))
        recorder.assemble(desk.output, json.dumps(META))
        check_events(FgTrace(desk.part.read_bytes()), read_trace(desk.output))
        recorder.complete(json.dumps(META))
        recorder.close()
        complete = FgTrace(desk.part.read_bytes())
        assert complete.is_complete
        assert (b"".join(opened.report()), sorted(map(repr, opened.summary()))) == (shown, rows)
        assert len(complete.events()) == len(growing.events())
        if not any(ring.header.clock_kind or ring.header.killed for ring in desk.rings):
            assert report(desk.part, "") == shown  # what the counts at the end change is not in it
        resumed = desk.recorder(resume=True)
        resumed.complete(json.dumps(META))
        resumed.close()
        assert FgTrace(desk.part.read_bytes()).events() == complete.events()


# ---- the programs of the report's tests


class RingTask:
    """Writes the records of a Program's task. Its durations leave waits out already."""

    def __init__(self) -> None:
        self.records: list[bytes] = []

    def enter(self, time: int, func: int, depth: int, *, kind: int, start: int | None) -> None:
        entry = ringfile.RESUME if kind == RESUME else ringfile.ENTRY
        self.records.append(ringfile.record(entry, time, func, depth, start=start))

    def leave(
        self, time: int, func: int, depth: int, *, calltime: int, kind: int = RETURN, start: int | None = None
    ) -> None:
        ends = {
            RETURN: ringfile.RETURN,
            RAISE: ringfile.RAISE,
            SUSPEND: ringfile.SUSPEND,
            CLOSE: ringfile.CLOSE,
        }
        self.records.append(ringfile.record(ends[kind], time, func, depth, calltime, start=start))

    def wait(self, time: int, duration: int) -> None:
        self.records.append(ringfile.record(ringfile.WAIT, time, 0, 1, time - duration))


class RingProgram(Program):
    """A Program whose tasks write records."""

    def __init__(self, steps: list[ProgramStep]) -> None:
        super().__init__([])
        self.tasks: Any = [RingTask() for _ in range(3)]
        for item in steps:
            self.now += item.nanoseconds
            self.run(item)

    def record(self, desk: Desk) -> None:
        ring: RingFile = desk.ring(100)
        for number, name in enumerate(FUNCTIONS):
            ring.function(number, name)
        for number, task in enumerate(self.tasks):
            ring.task(number, 100 + number, f"t{number}")
            ring.put_all(number, task.records)
        recorder = desk.recorder()
        recorder.finish(add_ring(recorder, ring.path))
        recorder.complete("{}")
        recorder.close()


@settings(max_examples=TRACE_EXAMPLES, deadline=None)
@given(steps=STEPS)
def test_the_report_and_summary_of_programs_are_the_models(steps: list[ProgramStep]) -> None:
    program = RingProgram(steps)
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder))
        program.record(desk)
        _tracedata.convert(str(desk.part), str(desk.output))
        assert report(desk.part, "funcgraph-proc").decode().splitlines()[4:] == lines_of(program.events)
        check_readers(desk.part, desk.output)
        shown = {
            row.function.name: (row.calls, row.resumes, row.exceptions, row.total_ns, row.self_ns)
            for row in TraceFile(desk.part).summary()
        }
        assert shown == {name: figures.row()[:5] for name, figures in program.figures.items()}


# ---- trace-cmd

#: Its raw text of a call's begin or end: thread, event, function, depth, calltime, kind.
RAW = re.compile(
    rb"-(\d+) +\[\d+\] [^\n]*? (funcgraph_\w+): +func=(.*?) depth=(\d+)"
    rb"(?: calltime=0x(\w+) rettime=0x\w+ overrun=\d+)? kind=(\d+) tail="
)


@pytest.mark.skipif(shutil.which("trace-cmd") is None, reason="trace-cmd is not installed")
@settings(max_examples=TRACE_EXAMPLES // 8, deadline=None)
@given(process=PROCESSES)
def test_trace_cmd_prints_every_event(process: Process) -> None:
    """Its raw text has the fields of each event as numbers."""
    with recorded([process], "mono") as desk:
        symbols = (line.split(" ", 2) for line in read_trace(desk.output).kallsyms.splitlines())
        names = {int(where, 16): name for where, _, name in symbols}
        expected: Counter[tuple[int | str, ...]] = Counter()
        fg = FgTrace(desk.part.read_bytes())
        own = DatEvents(fg, fg.events())
        for event in fg.events():
            kind, data = wire_event(event, own)
            if kind in (10, 11):
                func, depth = struct.unpack_from("<II", data)
                calltime = event.begin_ns if kind == 10 else 0
                what = "funcgraph_entry" if kind == 11 else "funcgraph_exit"
                flags = data[8 if kind == 11 else 26]
                expected[event.tid, what, names[func], depth, calltime, flags] += 1
        command = ["trace-cmd", "report", "-R", "-i", str(desk.output)]
        ran = subprocess.run(command, capture_output=True, timeout=120)
        assert (ran.returncode, ran.stderr) == (0, b"")
        printed: Counter[tuple[int | str, ...]] = Counter()
        for tid, what_, name, depth_, calltime_, flags_ in RAW.findall(ran.stdout):
            row = (
                int(tid),
                what_.decode(),
                name.decode(),
                int(depth_),
                int(calltime_ or b"0", 16),
                int(flags_),
            )
            printed[row] += 1
        assert printed == expected
