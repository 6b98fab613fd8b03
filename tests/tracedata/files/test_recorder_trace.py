"""The contents of a trace that the Recorder makes, and stock trace-cmd's output for it.

ringfile.py writes the rings. trace-cmd reads the traces, and tracereader.py what trace-cmd does not show.
None of them shares code with the code under test.
"""

from __future__ import annotations

import random
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
from ringfile import (
    CLOSE,
    FUNCTION,
    LOST,
    OVERRUN,
    OWNED,
    RAISE,
    SEEN,
    SUSPEND,
    WAIT,
    add_ring,
    enter,
    leaf,
    leave,
    record,
)
from tracereader import FUNC_BASE, UNKNOWN, Desk, Trace, read_trace

from funcgraph.tracedata import TraceFile

pytestmark = pytest.mark.one_python

S = 1_000_000_000
MS = 1_000_000


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def graph_of(text: str) -> list[str]:
    """Return the function column of trace-cmd's report, from the first line that has one."""
    return [line.split("|", 1)[1].rstrip() for line in text.splitlines() if "|" in line]


def funcs(trace: Trace) -> dict[int, str]:
    """Return the text of kallsyms for these functions."""
    lines = (line.split(" ", 2) for line in trace.kallsyms.splitlines())
    return {int(address, 16): name for address, _, name in lines}


needs_trace_cmd = pytest.mark.skipif(shutil.which("trace-cmd") is None, reason="trace-cmd is not installed")


# ---- the output of stock trace-cmd


@needs_trace_cmd
def test_trace_cmd_prints_the_nested_graph(desk: Desk) -> None:
    ring = desk.ring()
    ring.process(1, "python", "app.py")
    ring.function(0, "__main__.f")
    ring.function(1, "m.C.<locals>.<lambda>")
    ring.function(2, "m.g")
    ring.task(1, 4711)
    t = S
    ring.put(
        1,
        enter(t, 0)
        + leaf(t + 1000, 1, 1, 2500)
        + enter(t + 5000, 2, 1)
        + leaf(t + 6000, 1, 2, 12_000)
        + leave(t + 30_000, 2, 1, t + 5000)
        + leave(t + 1_300_000, 0, 0, t),
    )
    desk.record()
    assert graph_of(desk.trace_cmd()) == [
        "  __main__.f() {",
        "    m.C.<locals>.<lambda>();",
        "    m.g() {",
        "      m.C.<locals>.<lambda>();",
        "    }",
        "  }",
    ]
    durations = re.findall(r"([\d.]+) us", desk.trace_cmd())
    assert [float(number) for number in durations] == [2.5, 12.0, 25.0, 1300.0]


@needs_trace_cmd
def test_trace_cmd_counts_every_call_of_many_tasks(desk: Desk) -> None:
    ring = desk.ring(nr_subbufs=512)
    calls: Counter[str] = Counter()
    chance = random.Random(1)
    for number in range(20):
        ring.function(number, f"mod{number % 3}.func_{number}")
    for task in range(1, 9):
        ring.task(task, 5000 + task, f"thread {task}")
        records, time = [], S + task
        for _ in range(500):
            func = chance.randrange(20)
            calls[f"mod{func % 3}.func_{func}"] += 1
            records.append(leaf(time, func, 0, chance.randrange(1, 5000)))
            time += 6000
        ring.put_all(task, records)
    trace = desk.record()
    text = desk.trace_cmd()
    # trace-cmd folds a leaf only if no other task's event is between its entry and exit.
    assert Counter(re.findall(r"(\w+\.\w+)\(\)[; ]", text)) == calls
    assert len(trace.lanes) == 8
    for task in range(1, 9):
        lines = re.findall(rf"thread {task}-{5000 + task} .*", text)
        folded = sum(line.endswith(";") for line in lines)
        assert len(lines) + folded == 1000


@needs_trace_cmd
def test_trace_cmd_shows_losses_where_they_happened(desk: Desk) -> None:
    ring = desk.ring()
    ring.function(0, "m.f")
    ring.task(1, 1)
    ring.put(1, leaf(S, 0, 0, 10))
    ring.put(1, leaf(S + 100, 0, 0, 10) + record(LOST, S + 150, 0, 0, 7) + leaf(S + 200, 0, 0, 10), lost=42)
    ring.header.records_lost = 49
    trace = desk.record()
    assert [(event.time, event.lost) for event in trace.events if event.lost] == [(S + 100, 42), (S + 200, 7)]
    dropped = re.findall(r"\[(\d+) EVENTS DROPPED\]", desk.trace_cmd())
    assert dropped == ["42", "7"]
    assert trace.meta["lost"] == 49


@needs_trace_cmd
def test_an_empty_session_is_a_trace_too(desk: Desk) -> None:
    trace = desk.record()
    assert trace.meta["events"] == 0
    assert trace.page_sizes == [0]
    desk.trace_cmd()


@needs_trace_cmd
def test_trace_cmd_prints_the_function_tracer_and_our_own_events(desk: Desk) -> None:
    ring = desk.ring()
    ring.function(1, "m.callee")
    ring.function(2, "m.caller")
    ring.task(1, 1)
    ring.put(
        1,
        record(FUNCTION, S, 1, 0, 2)
        + record(FUNCTION, S + 10, 1, 0, 0)
        + record(WAIT, S + 500, 0, 0, S + 100)
        + record(OVERRUN, S + 600, 0, 0, 99),
    )
    trace = desk.record()
    text = desk.trace_cmd("-O", "parent")
    assert re.search(r"function: +m\.callee <-- m\.caller", text)
    assert "waited 400 ns for the recorder" in text
    assert "99 calls not traced so far" in text
    assert trace.events[1].fields("II") == (FUNC_BASE, 0)


# ---- every kind of record


def test_generators_exceptions_and_closes_keep_their_kind_start_and_values(desk: Desk) -> None:
    ring = desk.ring()
    ring.function(3, "m.gen", flags=1)
    ring.task(1, 77)
    ring.put(
        1,
        enter(S, 3, 2, values=b"\4\7")
        + leave(S + 10, 3, 2, S, kind=SUSPEND, start=S, values=b"\1")
        + enter(S + 50, 3, 5, start=S)
        + leave(S + 60, 3, 5, S + 50, kind=RAISE, start=S, values=b"\x0b" + bytes(8) + b"\3Err")
        + leave(S + 70, 3, 0, S + 70, kind=CLOSE),
    )
    trace = desk.record()
    entry, suspend, resume, ended, close = trace.events
    assert [event.type for event in trace.events] == [11, 10, 11, 10, 10]
    assert entry.fields("IIB") == (FUNC_BASE, 2, 0)
    assert entry.data[9:12] == b"\4\7\0"
    assert suspend.fields("IIQQHBQ") == (FUNC_BASE, 2, S, S + 10, 0, 2 | 0x80, S)
    assert suspend.data[35:36] == b"\1"
    assert resume.fields("IIBQ") == (FUNC_BASE, 5, 1 | 0x80, S)
    assert ended.fields("IIQQHBQ") == (FUNC_BASE, 5, S + 50, S + 60, 0, 1 | 0x80, S)
    assert ended.data[35:48] == b"\x0b" + bytes(8) + b"\3Err"
    assert close.fields("IIQQHB") == (FUNC_BASE, 0, S + 70, S + 70, 0, 3)
    assert {event.tid for event in trace.events} == {77}


def test_long_values_and_long_pauses(desk: Desk) -> None:
    ring = desk.ring(subbuf_bytes=8192)
    ring.function(0, "m.f")
    ring.task(1, 1)
    values = bytes(random.Random(2).randbytes(125 * 8))
    pauses = [0, 1, (1 << 27) - 1, 1 << 27, 1 << 30, 3600 * S, 1 << 56]
    data, time, times = b"", S, []
    for pause in pauses:
        time += pause
        times.append(time)
        data += enter(time, 0, values=values)
    ring.put(1, data)
    trace = desk.record()
    assert [event.time for event in trace.events] == times
    assert all(event.data[9 : 9 + len(values)] == values for event in trace.events)


def test_waits_count_in_no_functions_time(desk: Desk) -> None:
    ring = desk.ring()
    ring.function(0, "m.outer")
    ring.function(1, "m.inner")
    ring.task(1, 1)
    # The writer reads the clock, then waits for room: wait records precede events that happened before them.
    ring.put(1, enter(S, 0))
    ring.put(1, record(WAIT, S + 5000, 0, 0, S + 1010) + enter(S + 1000, 1, 1))
    ring.put(1, record(WAIT, S + 9000, 0, 0, S + 6010) + leave(S + 6000, 1, 1, S + 1000))
    ring.put(1, leave(S + 10_000, 0, 0, S) + leaf(S + 11_000, 1, 0, 100))
    trace = desk.record()
    exits = [event.fields("IIQQ") for event in trace.events if event.type == 10]
    first, second = 3990, 2990  # the two waits, in ns
    assert [(ret - call) for _, _, call, ret in exits] == [5000 - first, 10_000 - first - second, 100]
    assert [event.fields("Q")[0] for event in trace.events if event.type == 2001] == [first, second]


def test_waits_are_not_taken_out_of_durations_without_sleep(desk: Desk) -> None:
    ring = desk.ring()
    ring.function(0, "m.f")
    ring.task(1, 1)
    # 1000 ns of work, then a wait: calltime is 1000 ns before the end, not at the call's begin.
    ring.put(1, record(WAIT, S + 9500, 0, 1, S + 9000) + enter(S, 0) + leave(S + 10_000, 0, 0, S + 9000))
    trace = desk.record()
    exits = [event.fields("IIQQ") for event in trace.events if event.type == 10]
    assert [(ret - call) for _, _, call, ret in exits] == [1000]
    assert [event.fields("Q")[0] for event in trace.events if event.type == 2001] == [500]


def test_overruns_are_counted_up_in_exits(desk: Desk) -> None:
    ring = desk.ring()
    ring.function(0, "m.f")
    ring.task(1, 1)
    ring.put(1, leaf(S, 0, 0, 1) + record(OVERRUN, S + 5, 0, 0, 70_000) + leaf(S + 9, 0, 0, 1))
    ring.header.overrun = 70_000
    trace = desk.record()
    assert [event.fields("IIQQH")[4] for event in trace.events if event.type == 10] == [0, 65535]
    assert trace.meta["overrun"] == 70_000


def test_a_function_without_a_symbol_is_unknown(desk: Desk) -> None:
    ring = desk.ring()
    ring.function(0, "m.f")
    ring.task(1, 1)
    ring.put(1, leaf(S, 5, 0, 1) + leaf(S + 10, 0xFFFFFFFF, 0, 1) + leaf(S + 20, 0, 0, 1))
    trace = desk.record()
    names = [funcs(trace)[event.fields("I")[0]] for event in trace.events if event.type == 11]
    assert names == ["unknown", "unknown", "m.f"]
    assert trace.events[0].fields("I") == (UNKNOWN,)


# ---- time


def test_ticks_become_nanoseconds_by_one_line_for_all_processes(desk: Desk) -> None:
    """2.5 ticks per nanosecond. The second process started later, and its latest pair is inexact."""

    def ticks(ns: int) -> int:
        return 1_000_000 + (ns - S) * 5 // 2

    first = desk.ring(1, clock=((ticks(S), S), (ticks(90 * S), 90 * S)))
    second = desk.ring(2, clock=((ticks(2 * S), 2 * S), (ticks(2 * S + 20 * MS), 2 * S + 21 * MS)))
    for ring in (first, second):
        ring.function(0, "m.f")
        ring.task(1, ring.header.pid)
        ring.put(
            1,
            enter(ticks(S - 1000), 0)
            + enter(ticks(80 * S), 0)
            + leave(ticks(80 * S + 1000), 0, 0, ticks(80 * S)),
        )
        ring.header.wait_ticks = 2500
    desk.recorder().close()
    # A live recorder would add the clocks' relation of now, which does not fit this invented one.
    recorder = desk.recorder(resume=True)
    for ring in (first, second):
        recorder.finish(add_ring(recorder, ring.path))
    recorder.assemble(desk.output, "{}")
    trace = read_trace(desk.output)
    for pid in (1, 2):
        before, entry, end = (event for event in trace.events if event.tid == pid)
        assert abs(before.time - (S - 1000)) <= 1
        assert abs(entry.time - 80 * S) <= 1
        assert abs(end.time - entry.time - 1000) <= 1
        _, _, calltime, rettime = end.fields("IIQQ")
        assert (calltime, rettime) == (entry.time, end.time)
    assert abs(trace.meta["wait_ns"] - 2000) <= 2


def test_nonsense_clock_pairs_keep_order_and_counts(desk: Desk) -> None:
    ring = desk.ring(clock=((1 << 63, 1 << 62), (5, 3)))
    ring.function(0, "m.f")
    ring.task(1, 1)
    ring.put(1, b"".join(leaf((1 << 63) + 100 * i, 0, 0, 50) for i in range(10)))
    trace = desk.record()
    assert len(trace.events) == 20


def test_a_lane_never_runs_backwards(desk: Desk) -> None:
    ring = desk.ring()
    ring.function(0, "m.f")
    ring.task(1, 1)
    ring.put(1, b"".join(enter(S + (i * 7919) % 1000, 0) for i in range(100)))
    trace = desk.record()  # read_trace checks the order
    assert len(trace.events) == 100


# ---- lanes, tasks, functions


def test_thousands_of_short_tasks_share_few_lanes(desk: Desk) -> None:
    ring = desk.ring(nr_subbufs=2000)
    ring.function(0, "m.f")
    for task in range(1, 2001):
        ring.task(task, 10_000 + task, f"t{task}")
        # at most three run at once
        ring.put(task, leaf(S + task * 1000, 0, 0, 2500))
    trace = desk.record()
    assert len(trace.lanes) == 3
    assert len(trace.meta["tasks"]) == 2000
    by_lane: dict[int, int] = {}
    for task in sorted(trace.meta["tasks"], key=lambda task: task["first_ns"]):
        assert by_lane.get(task["lane"], 0) < task["first_ns"]
        by_lane[task["lane"]] = task["last_ns"]
        assert task["records"] == 2
    lanes_of = {}
    for event in trace.events:
        assert lanes_of.setdefault(event.tid, event.lane) == event.lane


def test_sub_buffers_of_a_task_come_in_the_order_they_were_taken(desk: Desk) -> None:
    """A slow task's sub-buffer may become full after sub-buffers that were taken later, or never."""
    ring = desk.ring()
    ring.function(0, "m.f")
    ring.task(1, 1)
    ring.task(2, 2)
    ring.put(2, leaf(S + 1, 0, 0, 1), state=OWNED)
    ring.put(1, leaf(S + 10, 0, 0, 1))
    ring.put(1, leaf(S + 20, 0, 0, 1))
    ring.put(2, leaf(S + 30, 0, 0, 1))
    trace = desk.record()
    assert [event.time for event in trace.events if event.tid == 2 and event.type == 11] == [S + 1, S + 30]


def test_one_function_in_many_processes_is_one_function(desk: Desk) -> None:
    first, second = desk.ring(1), desk.ring(2)
    first.function(0, "m.a")
    first.function(1, "m.b")
    second.function(5, "m.b")
    second.function(6, "m.c")
    second.function(7, "m.c", line=9)  # another function of this name
    second.function(8, "m.a", kind=SEEN)
    for ring in (first, second):
        ring.task(1, ring.header.pid)
    first.put(1, leaf(S, 0, 0, 1) + leaf(S + 10, 1, 0, 1))
    second.put(1, leaf(S, 5, 0, 1) + leaf(S + 10, 6, 0, 1))
    trace = desk.record()
    assert [function[:2] + function[3:4] for function in trace.meta["functions"]] == [
        ["m", "a", 1],
        ["m", "b", 1],
        ["m", "c", 1],
        ["m", "c", 9],
    ]
    called = [funcs(trace)[event.fields("I")[0]] for event in trace.events if event.type == 11]
    assert sorted(called) == ["m.a", "m.b", "m.b", "m.c"]


def test_meta_says_what_trace_dat_cannot(desk: Desk) -> None:
    ring = desk.ring(4711)
    ring.process(1234, "/usr/bin/python3", "app.py", 'quote " back \\ new\nline', "snow ☃", "bad \udcff byte")
    ring.function(0, "m.C.method", args="self,n,args,kw", line=33, flags=16 | 32)
    ring.task(1, 4712, "work er")
    ring.put(1, leaf(S, 0, 0, 5))
    ring.header.wait_count, ring.header.wait_ticks = 3, 900
    ring.header.killed = b"a frame was not where it was left"
    ring.finish()
    trace = desk.record(meta={"command": ["app.py"], "options": {"args": True}, "version": "theirs"})
    meta = trace.meta
    assert meta["version"] == 1
    assert meta["command"] == ["app.py"]
    assert meta["options"] == {"args": True}
    assert meta["functions"] == [["m", "C.method", "/src/m.py", 33, 48, ["self", "n", "args", "kw"]]]
    assert meta["tasks"] == [
        {
            "lane": 0,
            "pid": 4711,
            "tid": 4712,
            "name": "work er",
            "process": 0,
            "first_ns": S,
            "last_ns": S + 5,
            "records": 2,
            "cpu_ns": 0,
            "ready_ns": 0,
        }
    ]
    (process,) = meta["processes"]
    assert process.pop("argv") == [
        "/usr/bin/python3",
        "app.py",
        'quote " back \\ new\nline',
        "snow ☃",
        "bad � byte",
    ]
    assert process == {
        "pid": 4711,
        "ppid": 1234,
        "buffer": 0,
        "lost": 0,
        "overrun": 0,
        "waits": 3,
        "wait_ns": 900,
        "symbols_lost": 0,
        "killed": "a frame was not where it was left",
        "finished": True,
    }
    assert (meta["waits"], meta["wait_ns"], meta["events"]) == (3, 900, 2)
    # The report's text ends with it.
    last = b"".join(TraceFile(desk.output).report()).decode().splitlines()[-1]
    assert last == "# process 4711: tracing ended for good: a frame was not where it was left"
    assert trace.cmdlines == "4712 work er\n"


def test_a_renamed_task_has_its_last_name(desk: Desk) -> None:
    ring = desk.ring()
    ring.function(0, "m.f")
    ring.task(1, 1, "before")
    ring.put(1, leaf(S, 0, 0, 1))
    ring.task(1, 1, "after")
    trace = desk.record()
    assert [task["name"] for task in trace.meta["tasks"]] == ["after"]
