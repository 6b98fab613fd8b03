"""`funcgraph.open`: events, calls and columns are what the trace has, come lazily, and follow a recording."""

from __future__ import annotations

import ctypes
import fcntl
import gc
import inspect
import os
import signal
import subprocess
import sys
import threading
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import tracefile
from hypothesis import given, settings
from hypothesis import strategies as st
from ringfile import SUSPEND, WAIT, RingFile, add_ring, enter, leaf, leave
from ringfile import record as ring_record

import funcgraph
from funcgraph import _tracedata
from funcgraph.tracedata import (
    Columns,
    Event,
    Function,
    PartialValue,
    Trace,
    TraceError,
    TraceFile,
    decode_values,
)
from tracedata.programs import FUNCTIONS, STEPS, Program, Step

pytestmark = pytest.mark.one_python

S = 1_000_000_000
CHUNK_BYTES = 72


class Recording:
    """A `.fg` that is being written, in this process."""

    def __init__(self, folder: Path, *, clock: str = "mono", **settings: Any) -> None:
        self.path = folder / "trace.fg"
        self.ring = RingFile(folder / "4711.0.ring", **settings)
        self.recorder = _tracedata.Recorder(self.path, clock=clock)
        self.number = add_ring(self.recorder, self.ring.path)

    def put(self, task: int, data: bytes, *, lost: int = 0) -> None:
        """Let the recorder append these records as one chunk."""
        self.ring.put(task, data, lost=lost)
        self.recorder.drain(self.number)

    def complete(self) -> Path:
        self.recorder.finish(self.number)
        self.recorder.complete("{}")
        self.recorder.close()
        return self.path


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    made = Recording(tmp_path)
    made.ring.function(0, "m.f", args="a,b")
    made.ring.function(1, "m.g")
    made.ring.task(1, 4711, "main")
    made.ring.task(2, 4712, "other")
    return made


def rows(events: Iterable[Event]) -> list[tuple[object, ...]]:
    """Return events as what two files of one recording must agree on."""
    return [
        (*event[:2], event.function and event.function.name, event.task.tid, *event[4:8], event.values)
        for event in events
    ]


# ---- random programs, against a slow model


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("opened") / "trace.dat"


@settings(max_examples=150, deadline=None)
@given(steps=STEPS)
def test_events_are_the_models(scratch: Path, steps: list[Step]) -> None:
    names = {"call": "entry", "raised": "raise", "suspended": "suspend", "closed": "close"}
    program = Program(steps)
    program.trace.save(scratch)
    with funcgraph.open(scratch) as trace:
        got = [
            (
                event.task.tid - 100,
                event.kind,
                event.function.name if event.function else FUNCTIONS[0],
                event.depth if event.kind != "wait" else None,
                event.duration_ns if event.kind != "wait" else event.number,
            )
            for event in trace.events()
        ]
    assert got == [
        (
            task,
            names.get(what, what),
            FUNCTIONS[function],
            depth if what != "wait" else None,
            None if what in ("call", "resume") else duration,
        )
        for task, what, function, depth, duration in program.events
    ]


@settings(max_examples=150, deadline=None)
@given(steps=STEPS)
def test_calls_are_the_models(scratch: Path, steps: list[Step]) -> None:
    program = Program(steps)
    program.trace.save(scratch)
    ran, raised = defaultdict(list), Counter[str]()
    with funcgraph.open(scratch) as trace:
        for call in trace.calls():
            assert call.function
            assert call.begin_ns <= call.end_ns
            ran[call.function.name].append(call.duration_ns)
            raised[call.function.name] += call.ended == "raise"
    figures = program.figures
    assert {name: sorted(times) for name, times in ran.items()} == {
        name: sorted(figures[name].ended) for name in figures if figures[name].ended
    }
    assert +raised == +Counter({name: figures[name].exceptions for name in figures})


@settings(max_examples=100, deadline=None)
@given(steps=STEPS, dropped=st.sets(st.integers(0, 60), max_size=20))
def test_calls_add_up_to_the_summary_also_where_events_are_lost(
    scratch: Path, steps: list[Step], dropped: set[int]
) -> None:
    number = -1
    add = tracefile.Task.add

    def add_some(task: tracefile.Task, when: int, payload: bytes, lost: int = 0) -> None:
        nonlocal number
        number += 1
        if number not in dropped:
            add(task, when, payload, lost)

    with patch.object(tracefile.Task, "add", add_some):
        Program([step for step in steps if step.what in ("call", "return", "raise")]).trace.save(scratch)
    with funcgraph.open(scratch) as trace:
        calls, ends = list(trace.calls()), sum(e.duration_ns is not None for e in trace.events())
    rows = {row.name: (row.ended, row.ended_ns) for row in TraceFile(scratch).summary() if row.ended}
    assert len(calls) == ends
    assert {
        name: (len(times), sum(times))
        for name in FUNCTIONS
        if (times := [c.duration_ns for c in calls if c.function and c.function.name == name])
    } == rows


def test_calls_are_tuples_that_cost_the_collector_nothing(scratch: Path) -> None:
    Program([Step(0, "call", 0, 5), Step(0, "return", 0, 5)]).trace.save(scratch)
    with funcgraph.open(scratch) as trace:
        (call,) = trace.calls()
    assert call == tuple(call)
    assert hash(call) == hash(tuple(call))
    assert {call: 1}[call._replace()] == 1
    assert not gc.is_tracked(call)


def calls_in(path: Path, made: tracefile.Trace) -> list[tuple[object, ...]]:
    """Return (function, begin, end, duration, ended, resumes, parent, arguments) of the calls of a trace."""
    made.save(path)
    with funcgraph.open(path) as trace:
        return [
            (call.function and call.function.qualname, *call[2:5], call.ended, call.resumes,
             call.parent and call.parent.qualname, list(call.arguments.values()))
            for call in trace.calls()
        ]  # fmt: skip


def test_a_suspended_call_may_be_closed_in_another_thread_without_a_resume(scratch: Path) -> None:
    made = tracefile.Trace(["m.main", "m.gen"])
    one, other = made.task(1, pid=1), made.task(2, pid=1)
    one.enter(10, 0, 0)
    one.enter(20, 1, 1, args=tracefile.values(7))
    one.leave(30, 1, 1, calltime=20, kind=tracefile.SUSPEND, start=20)
    other.leave(50, 1, 0, calltime=50, kind=tracefile.CLOSE, start=20)
    one.leave(60, 0, 0, calltime=10)
    assert calls_in(scratch, made) == [
        ("gen", 20, 50, 10, "close", 0, "main", [7]),
        ("main", 10, 60, 50, "return", 0, None, []),
    ]


def test_a_fork_makes_two_calls_of_a_suspended_one(scratch: Path) -> None:
    made = tracefile.Trace(["m.main", "m.gen"])
    parent, child = made.task(1, pid=1), made.task(2, pid=2)
    parent.enter(20, 1, 0)
    parent.leave(30, 1, 0, calltime=20, kind=tracefile.SUSPEND, start=20)
    child.enter(40, 1, 0, kind=tracefile.RESUME, start=20)
    child.leave(45, 1, 0, calltime=40, start=20)
    parent.enter(50, 1, 0, kind=tracefile.RESUME, start=20)
    parent.leave(70, 1, 0, calltime=50, start=20)
    assert calls_in(scratch, made) == [
        ("gen", 20, 45, None, "return", 1, None, []),
        ("gen", 20, 70, 30, "return", 1, None, []),
    ]


def test_calls_of_which_events_are_lost(scratch: Path) -> None:
    made = tracefile.Trace(["m.main", "m.gen", "m.inner"])
    task = made.task(1)
    task.leave(5, 1, 3, calltime=1, start=1, kind=tracefile.SUSPEND)  # only the end of a first stretch
    task.enter(10, 0, 0, args=tracefile.values(1))
    task.enter(20, 2, 1)  # its end is lost
    task.enter(25, 2, 2)  # so is this one's
    task.leave(30, 0, 0, calltime=10)
    task.leave(40, 1, 1, calltime=35, start=2)  # a later stretch, of a call that nothing is known of
    task.enter(50, 0, 0)
    task.leave(60, 2, 1, calltime=55)  # its entry is lost
    task.leave(70, 1, 1, calltime=65, start=1)  # the resume of the first call is lost
    task.leave(80, 0, 0, calltime=50)
    assert calls_in(scratch, made) == [
        ("main", 10, 30, 20, "return", 0, None, [1]),
        ("gen", 2, 40, None, "return", 0, None, []),
        ("inner", 55, 60, 5, "return", 0, "main", []),
        ("gen", 1, 70, 9, "return", 1, None, []),
        ("main", 50, 80, 30, "return", 0, None, []),
    ]


@settings(max_examples=100, deadline=None)
@given(steps=STEPS, size=st.integers(1, 50))
def test_columns_have_the_events_whatever_the_size_of_a_batch(
    scratch: Path, steps: list[Step], size: int
) -> None:
    Program(steps).trace.save(scratch)
    with funcgraph.open(scratch) as trace:
        events = list(trace.events())
        batches = list(trace.columns(size=size))
        assert [len(batch) for batch in batches[:-1]] == [size] * (len(batches) - 1)
        assert sum(map(len, batches)) == len(events) == trace.nr_events
        assert events == [event for batch in batches for event in rebuilt(batch, trace)]


def rebuilt(batch: Columns, trace: Trace) -> Iterator[Event]:
    """Make events of a batch, item by item."""

    def named(index: int) -> Function | None:
        return trace.functions[index] if index < len(trace.functions) else None

    for i in range(len(batch)):
        yield Event(
            batch.time_ns[i],
            batch.KINDS[batch.kind[i]],
            named(batch.function[i]),
            batch.tasks[batch.task[i]],
            batch.depth[i],
            batch.start_ns[i] or None,
            batch.calltime_ns[i] or None,
            batch.rettime_ns[i] or None,
            named(batch.caller[i]),
            batch.caller_line[i],
            batch.irq[i],
            batch.lost[i],
            batch.number[i],
            bytes(batch.data[batch.data_offsets[i] : batch.data_offsets[i + 1]]),
            (),
        )


# ---- each kind of event, and values


def test_each_kind_of_event_has_its_fields(tmp_path: Path) -> None:
    made = tracefile.Trace(["m.f", "m.g", ("m", "h", "/m.py", 5, 0, ["a", "b"])])
    task = made.task(7, "worker", pid=5)
    task.enter(10, 2, 3, caller=(0, 44), args=tracefile.values(1, "x"), kind=0 | tracefile.IRQ, lost=6)
    task.leave(25, 2, 3, calltime=12, result=tracefile.values(None))
    task.leave(30, 0, 0, calltime=1, kind=tracefile.RAISE, result=tracefile.values(KeyError))
    task.function(40, 0, 1)
    task.stack(50, [1, 2])
    task.repeats(60, 0, 1, 9, 60)
    task.wait(70, 33)
    task.overrun(80, 12)
    task.message(90, b"hello")
    task.enter(95, 99, 0)  # an unknown function
    made.save(tmp_path / "trace.dat")
    with funcgraph.open(tmp_path / "trace.dat") as trace:
        events = list(trace.events())
        f, g, h = trace.functions
    assert [event.kind for event in events] == [
        "entry", "return", "raise", "function", "stack", "repeats", "wait", "overrun", "mark", "entry",
    ]  # fmt: skip
    entry, returned, raised, function, stack, repeats, wait, overrun, mark, unknown = events
    assert (entry.time_ns, entry.function, entry.depth, entry.irq, entry.lost) == (10, h, 3, True, 6)
    assert (entry.caller, entry.caller_line, entry.arguments) == (f, 44, {"a": 1, "b": "x"})
    assert (entry.task.name, entry.task.tid, entry.task.pid) == ("worker", 7, 5)
    assert entry.duration_ns is entry.calltime_ns is entry.start_ns is entry.result is entry.text is None
    assert (returned.calltime_ns, returned.rettime_ns, returned.duration_ns) == (12, 25, 13)
    assert (returned.values, returned.result, returned.irq, returned.lost) == ((None,), None, False, 0)
    assert (raised.exception, raised.result, raised.arguments) == ("KeyError", None, {})
    assert (function.function, function.caller) == (f, g)
    assert stack.stack == (g, h)
    assert (repeats.function, repeats.caller, repeats.number) == (f, g, 9)
    assert (wait.number, overrun.number, mark.text, mark.values) == (33, 12, "hello", ())
    assert unknown.function is None


VALUES = {
    "None": None,
    "True": True,
    "False": False,
    "0": 0,
    "-128": -128,
    "300": 300,
    "-9223372036854775808": -(2**63),
    "int(70 bits)": 2**69,
    "-int(70 bits)": -(2**69),
    "0.5": 0.5,
    "1e+100": 1e100,
    "'it'": "it",
    "''": "",
    "'\\n'": "\n",
    "'\xe4'": "\xe4",
    "b'\\xff'": b"\xff",
    "list(3)": [1, 2, 3],
    "dict(0)": {},
}


@pytest.mark.parametrize("text", VALUES)
def test_values_are_what_the_report_prints(tmp_path: Path, text: str) -> None:
    thing = VALUES[text]
    made = tracefile.Trace([("m", "f", "/m.py", 1, 0, ["a"])])
    made.task(7).enter(10, 0, 0, args=tracefile.values(thing))
    made.save(tmp_path / "trace.dat")
    with funcgraph.open(tmp_path / "trace.dat") as trace:
        (event,) = trace.events()
    value = event.arguments["a"]
    if not isinstance(value, PartialValue):
        assert (type(value), value) == (type(thing), thing)
    printed = str(value) if isinstance(value, PartialValue) else repr(value)
    assert printed == text
    assert (
        f"f(a={text})"
        in b"".join(TraceFile(tmp_path / "trace.dat").report({"funcgraph-args": True})).decode()
    )


def test_a_value_that_is_not_recorded_whole_says_what_is_known() -> None:
    data = tracefile.values("x" * 1000, b"y" * 50, 2**69, [1, 2], KeyError) + bytes([12, 13, 0, 4, 4])
    text, binary, number, items, thing, unbound, more = decode_values(data)
    assert text == PartialValue("str", "str", 1000, "x" * 48)
    assert str(text) == f"'{'x' * 48}'...(1000)"
    assert str(binary) == f"b'{'y' * 48}'...(50)"
    assert number == PartialValue("int", "int", 70)
    assert items == PartialValue("container", "list", 2)
    assert str(thing) == "<KeyError at 0x7f00deadbeef>"
    assert (str(unbound), str(more)) == ("<unbound>", "...")


def test_a_machine_word_is_unsigned_or_an_error_number() -> None:
    words = b"".join((tracefile.word(4, 2**64 - 2), tracefile.word(8, 2**63), tracefile.word(1, 0x80)))
    assert decode_values(words) == (-2, 2**63, -128)


def test_values_that_are_cut_off_end_the_values() -> None:
    whole = tracefile.values(1, "abc", 2.5, 2**40)
    for length in range(len(whole)):
        assert decode_values(whole[:length]) == decode_values(whole)[: len(decode_values(whole[:length]))]
    assert decode_values(whole[:-1]) == (1, "abc", 2.5)


def test_arguments_without_a_name_or_without_room(tmp_path: Path) -> None:
    made = tracefile.Trace([("m", "f", "/m.py", 1, 0, ["a"])])
    made.task(7).enter(10, 0, 0, args=tracefile.values(1, 2) + b"\x0d")
    made.save(tmp_path / "trace.dat")
    with funcgraph.open(tmp_path / "trace.dat") as trace:
        (event,) = trace.events()
    assert event.arguments == {"a": 1, "arg1": 2}


# ---- recordings of real programs


PROGRAM = """
    import asyncio, os, sys, threading

    import funcgraph

    def numbers(n):
        for i in range(n):
            yield i

    def fail(n):
        raise KeyError(n)

    def leaf(a, b="x", *rest):
        return a

    async def step(n):
        await asyncio.sleep(0)
        return n

    async def main():
        return await asyncio.gather(*(step(i) for i in range(5)))

    def work():
        left = numbers(9)
        next(left)
        left.close()
        for i in numbers(4):
            leaf(i, "y", 1, 2)
        try:
            fail(1)
        except KeyError:
            pass
        funcgraph.trace_printk("half-way")
        asyncio.run(main())

    threads = [threading.Thread(target=work, name=f"t{i}") for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if os.fork() == 0:
        leaf("child")
        os._exit(0)
    os.wait()
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record PROGRAM with arguments and results. Return the folder with trace.fg, and a trace.dat of it."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "app.py").write_text(inspect.cleandoc(PROGRAM))
    command = [sys.executable, "-m", "funcgraph"]
    for words in (
        ("record", "--args", "--retval", "-o", "trace.fg", "-l", "__main__.*", sys.executable, "app.py"),
        ("convert", "trace.fg", "trace.dat"),
    ):
        subprocess.run([*command, *words], cwd=folder, check=True, capture_output=True, timeout=60)
    return folder


@pytest.mark.parametrize("name", ["trace.fg", "trace.dat"])
def test_events_of_a_real_program_are_what_report_and_summary_show(recorded: Path, name: str) -> None:
    text = b"".join(TraceFile(recorded / name).report()).decode()
    summary = {row.name: row for row in TraceFile(recorded / name).summary()}
    with funcgraph.open(recorded / name) as trace:
        kinds = Counter(event.kind for event in trace.events())
        began = Counter(e.function.name for e in trace.events() if e.function and e.kind == "entry")
        marks = [event.text for event in trace.events() if event.text]
    assert began == Counter({name: row.calls for name, row in summary.items()})
    assert kinds["resume"] == sum(row.resumes for row in summary.values())
    assert kinds["raise"] == sum(row.exceptions for row in summary.values()) == text.count("raised KeyError")
    assert kinds["suspend"] == text.count("suspended")
    assert kinds["close"] == text.count("closed")
    assert len(marks) == 3
    assert all("half-way" in mark for mark in marks)
    assert min(kinds[kind] for kind in ("entry", "return", "raise", "suspend", "resume")) > 0


@pytest.mark.parametrize("name", ["trace.fg", "trace.dat"])
def test_calls_of_a_real_program(recorded: Path, name: str) -> None:
    summary = {row.name: row for row in TraceFile(recorded / name).summary()}
    with funcgraph.open(recorded / name) as trace:
        calls = list(trace.calls())
        ends = [event.time_ns for event in trace.events() if event.kind in ("return", "raise", "close")]
    by_name = defaultdict(list)
    for call in calls:
        assert call.function
        by_name[call.function.name].append(call)
    assert [call.end_ns for call in calls] == ends
    assert {name: len(calls) for name, calls in by_name.items()} == {
        name: row.ended for name, row in summary.items()
    }
    assert {name: sum(call.duration_ns for call in calls) for name, calls in by_name.items()} == {
        name: row.ended_ns for name, row in summary.items()
    }
    numbers = Counter((call.ended, call.resumes) for call in by_name["__main__.numbers"])
    assert numbers == {("return", 4): 3, numbers_closed(numbers): 3}
    assert {call.result for call in by_name["__main__.step"]} == {0, 1, 2, 3, 4}
    assert {call.resumes for call in by_name["__main__.step"]} == {1}
    assert {call.exception for call in by_name["__main__.fail"]} == {"KeyError"}
    assert {call.parent and call.parent.qualname for call in by_name["__main__.fail"]} == {"work"}
    leaves = Counter((call.parent and call.parent.qualname, call.result) for call in by_name["__main__.leaf"])
    assert leaves == {**{("work", i): 3 for i in range(4)}, (None, "child"): 1} or leaves == {
        **{("work", i): 3 for i in range(4)},
        ("<module>", "child"): 1,
    }
    call = next(call for call in by_name["__main__.leaf"] if call.result == 2)
    assert call.arguments == {"a": 2, "b": "y", "rest": PartialValue("container", "tuple", 2)}


def numbers_closed(counts: Counter[tuple[str, int]]) -> tuple[str, int]:
    """Return how the generators ended that were closed: CPython may resume them for it, or not."""
    (closed,) = (key for key in counts if key[0] != "return")
    assert closed[1] <= 1
    return closed


def test_both_formats_have_the_same_events(recorded: Path) -> None:
    with funcgraph.open(recorded / "trace.fg") as one, funcgraph.open(recorded / "trace.dat") as other:
        assert rows(one.events()) == rows(other.events())
        assert [call[2:8] for call in one.calls()] == [call[2:8] for call in other.calls()]


def test_threads_and_processes_are_tasks_that_can_be_chosen(recorded: Path) -> None:
    with funcgraph.open(recorded / "trace.fg") as trace:
        all_events = list(trace.events())
        assert len({task.pid for task in trace.tasks}) == 2
        for task in trace.tasks:
            assert list(trace.events(tasks=[task])) == [event for event in all_events if event.task == task]
        chosen = trace.tasks[1:3]
        assert [e for e in all_events if e.task in chosen] == list(trace.events(tasks=chosen))
        assert {call.task for call in trace.calls(tasks=chosen)} == set(chosen)
        assert list(trace.events(tasks=[])) == []
        assert [event.time_ns for event in all_events] == sorted(event.time_ns for event in all_events)


def test_instances_are_buffers_that_can_be_chosen(tmp_path: Path) -> None:
    recorder = _tracedata.Recorder(tmp_path / "trace.fg")
    for instance, calls in ((b"", 2), (b"one", 3), (b"two", 4)):
        ring = RingFile(tmp_path / f"{calls}.ring", instance=instance)
        ring.function(0, f"m.{instance.decode()}")
        ring.task(1, 4711)
        ring.put(1, b"".join(leaf(S + 1000 * i + calls, 0, 0, 100) for i in range(calls)))
        recorder.finish(add_ring(recorder, ring.path))
    recorder.complete("{}")
    recorder.close()
    with funcgraph.open(tmp_path / "trace.fg") as trace:
        assert [buffer.name for buffer in trace.buffers] == ["", "one", "two"]
        for name, count in (("", 2), ("one", 3), ("two", 4)):
            assert Counter(
                event.function and event.function.name for event in trace.events(buffers=[name])
            ) == {f"m.{name}": 2 * count}
        assert len(list(trace.calls(buffers=["one", ""]))) == 5
        assert len(list(trace.calls(tasks=trace.tasks[:1], buffers=["one"]))) == 0
        with pytest.raises(ValueError, match="no buffer 'three': the trace has '', 'one', 'two'"):
            trace.events(buffers=["three"])


# ---- buffers


def test_columns_are_read_only_arrays_with_their_formats(recording: Recording) -> None:
    recording.put(1, b"".join(leaf(S + i, 0, 0, 1) for i in range(0, 20, 2)))
    with funcgraph.open(recording.complete()) as trace:
        (batch,) = trace.columns()
    formats = {name: (getattr(batch, name).format, len(getattr(batch, name))) for name in _tracedata.COLUMNS}
    numbers = ("time_ns", "start_ns", "calltime_ns", "rettime_ns", "lost", "number")
    indexes = ("function", "caller", "caller_line", "task", "depth")
    assert formats == {
        **dict.fromkeys(numbers, ("Q", 20)),
        **dict.fromkeys(indexes, ("I", 20)),
        "kind": ("B", 20),
        "irq": ("?", 20),
        "data_offsets": ("i", 21),
        "data": ("B", 0),
    }
    column = batch.time_ns
    assert (column.readonly, column.contiguous, column.ndim, column.shape) == (True, True, 1, (20,))
    with pytest.raises((TypeError, BufferError)):
        ctypes.c_char.from_buffer(column.obj)
    assert column.tolist() == [S + i // 2 * 2 + i % 2 for i in range(20)]


def test_a_column_outlives_its_batch_and_its_trace(recording: Recording) -> None:
    recording.put(1, b"".join(leaf(S + i, 0, 0, 1) for i in range(0, 200, 2)))
    with funcgraph.open(recording.complete()) as trace:
        kept = [batch.time_ns for batch in trace.columns(size=8)]
    del trace
    assert [time for column in kept for time in column] == list(range(S, S + 200))


@pytest.mark.imports_much
def test_numpy_takes_columns_without_a_copy(recording: Recording) -> None:
    numpy = pytest.importorskip("numpy")
    recording.put(1, leaf(S, 0, 0, 5))
    with funcgraph.open(recording.complete()) as trace:
        (batch,) = trace.columns()
    times = numpy.asarray(batch.time_ns)
    assert times.dtype == numpy.uint64
    assert numpy.shares_memory(times, numpy.asarray(batch.time_ns))
    assert times.tolist() == [S, S + 5]
    assert numpy.asarray(batch.irq).dtype == numpy.bool_


def test_a_batch_with_much_data_ends_early_and_loses_nothing(tmp_path: Path) -> None:
    made = tracefile.Trace([("m", "f", "/m.py", 1, 0, ["a"])])
    task = made.task(7)
    for i in range(6000):
        task.enter(i, 0, 0, args=tracefile.values(*["x" * 48] * 17))
    made.save(tmp_path / "trace.dat")
    with funcgraph.open(tmp_path / "trace.dat") as trace:
        sizes = [len(batch) for batch in trace.columns()]
        assert len(sizes) > 1
        assert sum(sizes) == 6000
        assert [event.time_ns for event in trace.events() if len(event.values) == 17] == list(range(6000))


# ---- laziness


def header_of(chunk: bytes | bytearray, **changes: int) -> bytes:
    """Return a chunk's header with other fields, and the checksum of them (chunk.h)."""
    fields = bytearray(chunk[:CHUNK_BYTES])
    fields[40:48] = changes["seq"].to_bytes(8, "little")
    fields[24:28] = bytes(4)
    fields[24:28] = zlib.crc32(fields).to_bytes(4, "little")
    return bytes(fields)


def chunks_of(data: bytes) -> list[tuple[int, int, int]]:
    """Return offset, end and type of each chunk."""
    found, at = [], 16
    while at + CHUNK_BYTES <= len(data) and data[at : at + 4] == b"FGCK":
        end = at + CHUNK_BYTES + -(-int.from_bytes(data[at + 12 : at + 16], "little") // 8) * 8
        found.append((at, end, data[at + 4]))
        at = end
    return found


def multiplied(path: Path, times: int) -> int:
    """Make the chunks of events of a `.fg` that many. Return its number of events."""
    data = path.read_bytes()
    chunks = [(data[at:end], kind) for at, end, kind in chunks_of(data) if kind != 7]
    repeated = [chunk for chunk, kind in chunks if kind == 3]
    with path.open("wb") as file:
        file.write(data[:16] + b"".join(chunk for chunk, kind in chunks if kind != 3))
        for seq in range(times):
            chunk = repeated[seq % len(repeated)]
            file.write(header_of(chunk, seq=seq) + chunk[CHUNK_BYTES:])
    return times


PEAK = """
import resource, sys
import funcgraph
with funcgraph.open(sys.argv[1]) as trace:
    if sys.argv[2] == "columns":
        count = sum(map(len, trace.columns()))
    else:
        count = sum(1 for _ in getattr(trace, sys.argv[2])())
print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak_of(path: Path, what: str) -> tuple[int, int]:
    """Return the number of things, and the most kilobytes of memory that iterating over them took."""
    command = [sys.executable, "-c", PEAK, str(path), what]
    count, peak = subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=120
    ).stdout.split()
    return int(count), int(peak)


@pytest.mark.parametrize(("what", "chunks"), [("columns", 5000), ("events", 300), ("calls", 300)])
def test_memory_does_not_grow_with_the_trace(tmp_path: Path, what: str, chunks: int) -> None:
    made = Recording(tmp_path, subbuf_bytes=65536)
    made.ring.function(0, "m.f")
    made.ring.task(1, 4711)
    made.put(1, b"".join(leaf(S + 2 * i, 0, 0, 1) for i in range(1000)))
    path = made.complete()
    multiplied(path, chunks // 10)
    small, small_kb = peak_of(path, what)
    multiplied(path, chunks)
    large, large_kb = peak_of(path, what)
    assert large == 10 * small == chunks * (1000 if what == "calls" else 2000)
    assert large_kb - small_kb < 4000  # the directory of chunks grows: 120 bytes each


def test_the_first_event_comes_before_the_file_is_read(recording: Recording) -> None:
    for i in range(50):
        recording.put(1, b"".join(leaf(S + 1000 * i + 2 * k, 0, 0, 1) for k in range(40)))
    path = recording.complete()
    with funcgraph.open(path) as trace:
        events = trace.events()
        assert next(events).time_ns == S
        path.write_bytes(path.read_bytes()[:500])  # all but the first chunks is gone
        with pytest.raises((TraceError, OSError)):
            list(trace.events())


# ---- following


def test_follow_has_each_event_that_is_appended_after_the_opening_once(recording: Recording) -> None:
    recording.put(1, leaf(S, 0, 0, 5))
    with funcgraph.open(recording.path) as trace:
        assert not trace.is_complete
        assert [event.time_ns for event in trace.events()] == [S, S + 5]
        assert list(trace.follow(timeout=0)) == []
        recording.put(1, leaf(S + 10, 0, 0, 5))
        recording.put(2, enter(S + 7, 1, 0, values=tracefile.values(4)))
        got = list(trace.follow(timeout=0))
        assert [(e.time_ns, e.task.tid, e.function and e.function.name) for e in got] == [
            (S + 10, 4711, "m.f"), (S + 15, 4711, "m.f"), (S + 7, 4712, "m.g"),
        ]  # fmt: skip
        assert got[-1].arguments == {"arg0": 4}
        assert list(trace.follow(timeout=0)) == []
        recording.ring.function(2, "m.new", args="n")
        recording.ring.task(3, 4713, "late")
        recording.put(3, enter(S + 30, 2, 0, values=tracefile.values(9)))
        (new,) = trace.follow(timeout=0)
        assert (new.function and new.function.name, new.task.name, new.task.tid) == ("m.new", "late", 4713)
        assert new.arguments == {"n": 9}
        assert [event.time_ns for event in trace.events()] == [S, S + 5]
        recording.complete()
        assert not trace.is_complete
        assert list(trace.follow()) == []
        assert trace.is_complete


def test_follow_goes_on_where_it_was_left(recording: Recording) -> None:
    with funcgraph.open(recording.path) as trace:
        recording.put(1, b"".join(leaf(S + 2 * i, 0, 0, 1) for i in range(40)))
        first = [event.time_ns for event in islice(trace.follow(), 30)]
        recording.put(1, leaf(S + 100, 0, 0, 1))
        recording.complete()
        rest = [event.time_ns for event in trace.follow()]
    assert first + rest == [*range(S, S + 80), S + 100, S + 101]


def test_follow_waits_for_the_recorder_and_ends_with_it(recording: Recording) -> None:
    with funcgraph.open(recording.path) as trace:
        events = trace.follow(interval=0.01)
        for number in range(5):
            writer = threading.Timer(0.05, recording.put, (1, leaf(S + 10 * number, 0, 0, 1)))
            writer.start()
            assert [next(events).time_ns, next(events).time_ns] == [S + 10 * number, S + 10 * number + 1]
            writer.join()
        ender = threading.Timer(0.05, recording.complete)
        ender.start()
        assert list(events) == []
        assert trace.is_complete
        ender.join()


def test_follow_ends_if_the_recorder_is_gone(recording: Recording) -> None:
    with funcgraph.open(recording.path) as trace:
        recording.put(1, leaf(S, 0, 0, 5))
        recording.recorder.close()
        assert len(list(trace.follow())) == 2
        assert not trace.is_complete


def test_follow_of_a_complete_trace_has_nothing(recording: Recording, tmp_path: Path) -> None:
    recording.put(1, leaf(S, 0, 0, 5))
    with funcgraph.open(recording.complete()) as trace:
        assert trace.is_complete
        assert list(trace.follow()) == []
    made = tracefile.Trace(["m.f"])
    made.task(7).message(5, b"x")
    made.save(tmp_path / "trace.dat")
    with funcgraph.open(tmp_path / "trace.dat") as trace:
        assert trace.is_complete
        assert list(trace.follow()) == []


def test_follow_reads_the_same_as_a_reader_of_the_complete_trace(recording: Recording) -> None:
    """With suspended calls, losses and waits, and chunks of two tasks in turns."""
    ring = recording.ring
    ring.put(1, enter(S, 0, 0) + enter(S + 1, 1, 1))
    with funcgraph.open(recording.path) as trace:
        ring.put(2, enter(S + 2, 1, 0) + leave(S + 9, 1, 0, S + 2, kind=SUSPEND, start=S + 2))
        ring.put(1, ring_record(WAIT, S + 20, 0, 0, S + 10) + leave(S + 30, 1, 1, S + 1), lost=3)
        ring.put(2, enter(S + 40, 1, 0, start=S + 2) + leave(S + 50, 1, 0, S + 40, start=S + 2))
        ring.put(1, leave(S + 60, 0, 0, S))
        recording.recorder.drain(recording.number)
        recording.complete()
        followed = list(trace.follow())
    with funcgraph.open(recording.path) as trace:
        whole = list(trace.events())
    assert {event.lost for event in whole} == {0, 3}
    for tid in (4711, 4712):
        assert rows(e for e in followed if e.task.tid == tid) == rows(e for e in whole if e.task.tid == tid)
    assert [e.lost for e in followed if e.task.tid == 4711] == [e.lost for e in whole if e.task.tid == 4711]


@pytest.mark.parametrize(("clock", "times"), [("counter", [1, 2]), ("uptime", [S // 10**7, S // 10**7])])
def test_follow_has_times_in_the_clocks_unit(tmp_path: Path, clock: str, times: list[int]) -> None:
    made = Recording(tmp_path, clock=clock)
    made.ring.function(0, "m.f")
    with funcgraph.open(made.path) as trace:
        made.put(1, leaf(S, 0, 0, 5))
        made.complete()
        got = [event.time_ns for event in trace.follow()]
    with funcgraph.open(made.path) as trace:
        assert got == [event.time_ns for event in trace.events()]
    if clock == "counter":
        assert got == times


def test_a_chunk_that_is_being_written_is_not_read_in_part(recording: Recording, tmp_path: Path) -> None:
    recording.put(1, leaf(S, 0, 0, 5))
    recording.put(1, leaf(S + 10, 0, 0, 5))
    whole = recording.complete().read_bytes()
    copy = tmp_path / "copy.fg"
    begin = chunks_of(whole)[0][0]
    copy.write_bytes(whole[:begin])
    got: list[int] = []
    with funcgraph.open(copy) as trace, copy.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        for end in range(begin, len(whole) + 1):
            file.write(whole[end - 1 : end] if end > begin else b"")
            file.flush()
            got += [event.time_ns for event in trace.follow(timeout=0)]
        assert trace.is_complete
    assert got == [S, S + 5, S + 10, S + 15]


GROWING = """
    import sys

    def f(i):
        return g(i)

    def g(i):
        return i

    for line in sys.stdin:
        for i in range(int(line)):
            f(i)
        print("done", flush=True)
"""


def test_a_real_recording_is_followed_to_its_end(fg: Any) -> None:
    output, part = fg.folder / "trace.fg", fg.folder / "trace.fg.part"
    words = ("record", "--args", "-o", output, "-l", "__main__.*", sys.executable, fg.script(GROWING))
    with fg.start(*words) as process:

        def run(calls: int) -> None:
            process.stdin.write(f"{calls}\n")
            process.stdin.flush()
            assert process.stdout.readline() == "done\n"

        run(5000)
        trace = opened_soon(part, 1)
        before = list(trace.events())
        follower = trace.follow()
        run(30000)
        after = [next(follower) for _ in range(20000)]  # they come while the program waits
        assert process.poll() is None
        process.stdin.close()
        after += follower
        assert process.wait(60) == 0
    assert trace.is_complete
    with funcgraph.open(output) as whole:
        assert rows_without_times(before + after) == rows_without_times(whole.events())
        assert len(before) + len(after) == whole.nr_events
    trace.close()


def rows_without_times(events: Iterable[Event]) -> list[tuple[object, ...]]:
    """Return events as `rows`, without what moves with the line from ticks to nanoseconds."""
    return [(e.kind, e.function and e.function.name, e.depth, e.arguments) for e in events]


def opened_soon(path: Path, events: int) -> Trace:
    """Open a trace when it has so many events."""
    while True:
        try:
            trace = funcgraph.open(path)
        except (FileNotFoundError, TraceError):
            trace = None
        if trace and trace.nr_events >= events:
            return trace
        time.sleep(0.01)


def test_a_killed_recorder_ends_follow(fg: Any) -> None:
    part = fg.folder / "trace.fg.part"
    script = fg.script(GROWING)
    with fg.start("record", "-o", fg.folder / "trace.fg", sys.executable, script) as process:
        process.stdin.write("20000\n")
        process.stdin.flush()
        assert process.stdout.readline() == "done\n"
        trace = opened_soon(part, 1)
        events = trace.follow(interval=0.01)
        process.send_signal(signal.SIGKILL)
        process.wait(60)
        process.stdin.close()
        assert sum(1 for _ in events) >= 0
    assert not trace.is_complete
    trace.close()


# ---- damage


def damaged(path: Path, which: int) -> int:
    """Damage a chunk of events of a `.fg`. Return how many records it has."""
    data = bytearray(path.read_bytes())
    at, end, _ = [chunk for chunk in chunks_of(bytes(data)) if chunk[2] == 3][which]
    data[(at + CHUNK_BYTES + end) // 2] ^= 0x55
    path.write_bytes(data)
    return int.from_bytes(data[at + 32 : at + 36], "little")


def test_damage_is_told_after_all_that_is_whole(recording: Recording) -> None:
    for i in range(5):
        recording.put(1, b"".join(leaf(S + 1000 * i + 2 * k, 0, 0, 1) for k in range(40)))
    path = recording.complete()
    assert damaged(path, 2) == 80
    with funcgraph.open(path) as trace:
        for things, count in ((trace.events(), 320), (trace.calls(), 160), (trace.columns(size=7), 46)):
            got = []
            with pytest.raises(TraceError, match="damaged: what lies at byte"):
                got.extend(things)
            assert len(got) == count
            with pytest.raises(StopIteration):
                next(things)
        got_events: list[Event] = []
        with pytest.raises(TraceError):
            got_events.extend(trace.events())
        assert [event.lost for event in got_events if event.lost] == [80]


def test_damage_of_what_is_followed_is_told_at_the_end(recording: Recording, tmp_path: Path) -> None:
    for i in range(3):
        recording.put(1, b"".join(leaf(S + 1000 * i + 2 * k, 0, 0, 1) for k in range(40)))
    path = recording.complete()
    damaged(path, 1)
    whole = path.read_bytes()
    first = next(at for at, _, kind in chunks_of(whole) if kind == 3)
    growing = tmp_path / "growing.fg"
    growing.write_bytes(whole[:first])
    got: list[Event] = []
    with funcgraph.open(growing) as trace:
        with growing.open("ab") as file:
            file.write(whole[first:])
        with pytest.raises(TraceError, match="damaged: what lies at byte"):
            got.extend(trace.follow())
    assert len(got) == 160
    assert [event.lost for event in got if event.lost] == [80]


def test_damage_of_a_trace_dat_is_told_after_the_events_before_it(tmp_path: Path) -> None:
    made = tracefile.Trace(["m.f"])
    task = made.task(7)
    for i in range(1000):
        task.enter(i, 0, 0)
    data = bytearray(made.to_bytes())
    data[4096 * 3 + 8 : 4096 * 3 + 12] = b"\xff" * 4
    (tmp_path / "trace.dat").write_bytes(data)
    got: list[Event] = []
    with funcgraph.open(tmp_path / "trace.dat") as trace, pytest.raises(TraceError, match="damaged at byte"):
        got.extend(trace.events())
    assert [event.time_ns for event in got] == list(range(len(got)))
    assert 0 < len(got) < 1000


def test_a_truncated_file_has_what_is_whole(recording: Recording) -> None:
    for i in range(3):
        recording.put(1, b"".join(leaf(S + 1000 * i + 2 * k, 0, 0, 1) for k in range(40)))
    path = recording.complete()
    whole = path.read_bytes()
    ends = [end for _, end, kind in chunks_of(whole) if kind == 3]
    path.write_bytes(whole[: ends[1] + 100])
    with funcgraph.open(path) as trace:
        assert len(list(trace.events())) == 160
        assert not trace.is_complete


# ---- errors


def test_what_is_no_trace(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="missing"):
        funcgraph.open(tmp_path / "missing")
    with pytest.raises(IsADirectoryError):
        funcgraph.open(tmp_path)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(TraceError):
        funcgraph.open(tmp_path / "text")
    with pytest.raises(TypeError):
        funcgraph.open(None)  # type: ignore[arg-type]


def test_a_trace_opens_by_each_form_of_its_name(recording: Recording) -> None:
    recording.put(1, leaf(S, 0, 0, 5))
    path = recording.complete()
    fd = os.open(path, os.O_RDONLY)
    traces = [funcgraph.open(path), funcgraph.open(str(path)), funcgraph.open(fd)]
    os.close(fd)
    path.rename(path.with_name("elsewhere"))
    for trace in traces:
        assert [event.time_ns for event in trace.events()] == [S, S + 5]
        trace.close()


def test_a_closed_trace(recording: Recording) -> None:
    recording.put(1, b"".join(leaf(S + 2 * i, 0, 0, 1) for i in range(20)))
    trace = funcgraph.open(recording.complete())
    begun = trace.columns(size=8)
    assert len(next(begun)) == 8
    trace.close()
    trace.close()
    assert sum(map(len, begun)) == 32
    for method in (trace.events, trace.calls, trace.columns, trace.follow):
        with pytest.raises(ValueError, match="closed"):
            method()
    with pytest.raises(ValueError, match="closed"):
        assert trace.is_complete
    assert trace.functions


@pytest.mark.parametrize("size", [0, -1, 2**24 + 1])
def test_an_impossible_size_of_a_batch(recording: Recording, size: int) -> None:
    with (
        funcgraph.open(recording.complete()) as trace,
        pytest.raises(ValueError, match=f"size must be 1 to 16777216, got {size}"),
    ):
        trace.columns(size=size)


def test_a_task_of_another_trace(recording: Recording, recorded: Path) -> None:
    with (
        funcgraph.open(recording.complete()) as trace,
        funcgraph.open(recorded / "trace.fg") as other,
        pytest.raises(ValueError, match="is not a task of this trace"),
    ):
        trace.events(tasks=other.tasks)


def test_negative_times(recording: Recording) -> None:
    with funcgraph.open(recording.path) as trace:
        for arguments in ({"interval": -1.0}, {"timeout": -0.5}):
            with pytest.raises(ValueError, match="must not be negative"):
                trace.follow(**arguments)


def test_tasks_that_the_description_lacks(tmp_path: Path) -> None:
    made = tracefile.Trace(["m.f"])
    made.task(7).enter(1, 0, 0)
    for tid in (8, 9):
        made.task(tid).enter(tid, 0, 0)
    del made.tasks[1:]
    made.save(tmp_path / "trace.dat")
    with funcgraph.open(tmp_path / "trace.dat") as trace:
        assert [(event.task.tid, event.task.name) for event in trace.events()] == [
            (7, "python"), (8, "<...>"), (9, "<...>"),
        ]  # fmt: skip
        assert [event.task.tid for event in trace.events(tasks=trace.tasks)] == [7]


def test_iterators_of_one_trace_do_not_disturb_each_other(recording: Recording) -> None:
    for i in range(4):
        recording.put(1 + i % 2, b"".join(leaf(S + 1000 * i + 2 * k, 0, 0, 1) for k in range(40)))
    with funcgraph.open(recording.complete()) as trace:
        both = list(zip(trace.columns(size=9), trace.columns(size=9), strict=True))
        assert all(one.time_ns == other.time_ns for one, other in both)
        results: list[list[Event]] = [[] for _ in range(4)]
        threads = [threading.Thread(target=lambda r: r.extend(trace.events()), args=(r,)) for r in results]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == [list(trace.events())] * 4
