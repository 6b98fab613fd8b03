"""Rings of several instances become buffers of one trace, with times on the requested clock.

ringfile.py writes the rings; tracereader.py and stock trace-cmd read the traces. None of them shares code
with the code under test.
"""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

import pytest
from ringfile import RingFile, add_ring, leaf
from tracereader import Desk, Trace

from funcgraph import _tracedata
from funcgraph.tracedata.trace_file import TraceFile

pytestmark = pytest.mark.one_python

S = 1_000_000_000
needs_trace_cmd = pytest.mark.skipif(shutil.which("trace-cmd") is None, reason="trace-cmd is not installed")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def fill(ring: RingFile, tasks: int, calls: int, start: int = S) -> RingFile:
    """Write `calls` calls of a function named after the instance, in each of several concurrent threads."""
    ring.function(0, f"m.{ring.header.instance.decode() or 'top'}")
    for task in range(1, tasks + 1):
        ring.task(task, ring.header.pid + task, f"thread {task}")
        ring.put(task, b"".join(leaf(start + 1000 * i + task, 0, 0, 100) for i in range(calls)))
    return ring


def fill_three(desk: Desk) -> None:
    fill(desk.ring(100), 1, 5)
    fill(desk.ring(100, instance=b"one"), 3, 2)
    fill(desk.ring(100, instance=b"two"), 2, 4)
    fill(desk.ring(200, instance=b"two"), 1, 3)


def in_buffer(trace: Trace, number: int) -> int:
    """Return the number of entries in a buffer."""
    lanes = trace.lanes[number * trace.cpus : (number + 1) * trace.cpus]
    return sum(event.type == 11 for lane in lanes for event in lane)


def test_each_instance_has_its_buffer_and_the_largest_sets_the_number_of_lanes(desk: Desk) -> None:
    fill_three(desk)
    trace = desk.record()
    assert trace.buffers == trace.meta["buffers"] == ["", "one", "two"]
    assert trace.cpus == trace.meta["cpus"] == 3
    assert [in_buffer(trace, number) for number in range(3)] == [5, 6, 11]
    assert [process["buffer"] for process in trace.meta["processes"]] == [0, 1, 2, 2]
    assert {task["lane"] // 3 for task in trace.meta["tasks"] if task["pid"] == 200} == {2}


@needs_trace_cmd
def test_trace_cmd_shows_all_buffers(desk: Desk) -> None:
    fill_three(desk)
    desk.record()
    lines = desk.trace_cmd().splitlines()
    assert lines[0] == "cpus=3"
    found = re.findall(r"^ *(\w+:)? +thread \d-\d+ .* m\.(\w+)\(\)[; ]", "\n".join(lines), re.MULTILINE)
    assert len(found) == 22
    assert {(prefix, name) for prefix, name in found} == {("", "top"), ("one:", "one"), ("two:", "two")}


def test_counts_know_that_instances_share_processes_and_threads(desk: Desk) -> None:
    fill_three(desk)
    recorder = desk.recorder()
    for ring in desk.rings:
        recorder.finish(add_ring(recorder, ring.path))
    totals = recorder.totals()
    recorder.close()
    assert (totals["processes"], totals["tasks"], totals["records"]) == (2, 4, 44)


def test_without_a_top_instance_its_buffer_is_empty_and_not_shown(desk: Desk) -> None:
    fill(desk.ring(instance=b"one"), 1, 2)
    trace = desk.record()
    assert trace.buffers == ["", "one"]
    assert in_buffer(trace, 0) == 0
    read = TraceFile(desk.output)
    assert read.find_buffers(()) == [1]
    text = b"".join(read.report()).decode()
    assert text.count("m.one();") == 2
    assert "one:" not in text


def test_a_report_of_all_is_in_order_of_time_and_of_one_is_that_one(desk: Desk) -> None:
    fill(desk.ring(), 1, 3, start=S)
    fill(desk.ring(instance=b"one"), 1, 3, start=S + 500)
    desk.record(meta={"instances": {"one": {"options": ["funcgraph-abstime"], "tracer": "function_graph"}}})
    read = TraceFile(desk.output)
    lines = [line for line in b"".join(read.report()).decode().splitlines() if "m." in line]
    assert [line[:5].strip() for line in lines] == ["", "one:"] * 3
    assert all(("1.0000" in line) == line.startswith("one:") for line in lines)
    alone = b"".join(read.report(buffers=[1])).decode().splitlines()
    assert [line.removeprefix("one: ") for line in lines if line.startswith("one: ")] == alone[4:]
    assert alone[2].startswith("#     TIME")
    top = b"".join(read.report(buffers=[0])).decode()
    assert "m.one" not in top
    assert top.count("m.top();") == 3
    assert [row.calls for row in read.summary(buffers=[1])] == [3]
    assert sorted(row.name for row in read.summary()) == ["m.one", "m.top"]


def test_buffers_losses_are_their_own(desk: Desk) -> None:
    fill_three(desk)
    desk.rings[1].header.records_lost = 7
    desk.rings[3].header.overrun = 2
    desk.record()
    buffers = TraceFile(desk.output).buffers
    assert [(buffer.name, buffer.lost, buffer.overrun) for buffer in buffers] == [
        ("", 0, 0),
        ("one", 7, 0),
        ("two", 0, 2),
    ]


def test_a_resumed_spool_keeps_its_buffers_and_its_clock(desk: Desk) -> None:
    fill_three(desk)
    recorder = desk.recorder(clock="tai")
    for ring in desk.rings:
        recorder.finish(add_ring(recorder, ring.path))
    recorder.close()
    trace = desk.assemble_spool(desk.part.read_bytes())
    assert trace.clock == trace.meta["clock"] == "tai"
    assert [in_buffer(trace, number) for number in range(3)] == [5, 6, 11]


@pytest.mark.parametrize(
    ("clock", "identity"),
    [
        ("mono", time.CLOCK_MONOTONIC),
        ("local", time.CLOCK_MONOTONIC),
        ("global", time.CLOCK_MONOTONIC),
        ("boot", time.CLOCK_BOOTTIME),
        ("mono_raw", time.CLOCK_MONOTONIC_RAW),
        ("tai", 11),  # CLOCK_TAI
    ],
)
def test_times_are_on_the_requested_clock(desk: Desk, clock: str, identity: int) -> None:
    before, now, after = (time.clock_gettime_ns(i) for i in (identity, time.CLOCK_MONOTONIC, identity))
    fill(desk.ring(), 1, 2, start=now)
    trace = desk.record(clock=clock)
    assert trace.clock == trace.meta["clock"] == clock
    # The recorder reads both clocks again; in so short a time they drift less than a microsecond.
    assert before - 20_000 <= trace.lanes[0][0].time <= after + 20_000
    times = [event.time for event in trace.lanes[0]]
    assert [time - times[0] for time in times] == [0, 100, 1000, 1100]


def test_an_unknown_clock_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unknown clock 'sundial'"):
        _tracedata.Recorder(tmp_path / "x.part", clock="sundial")
    assert not (tmp_path / "x.part").exists()
