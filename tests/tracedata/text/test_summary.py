"""`funcgraph summary`: its figures equal a slow model's, also where records were lost or left out."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from tracefile import CLOSE, RAISE, RESUME, SUSPEND, Trace

from funcgraph.tracedata import TraceFile
from funcgraph.tracedata.summary import duration_text
from tracedata.programs import FUNCTIONS, STEPS, Program, Step

pytestmark = pytest.mark.one_python

Command = Callable[..., Any]
Rows = dict[str, tuple[int, ...]]


def rows(trace: Trace, path: Path, **chosen: Any) -> Rows:
    """Return name -> (calls, resumes, exceptions, total, self, min, max)."""
    trace.save(path)
    file = TraceFile(path)
    tasks = file.find_tasks(chosen["task"]) if chosen else None
    return {
        row.name: (row.calls, row.resumes, row.exceptions, row.total_ns, row.self_ns, row.min_ns, row.max_ns)
        for row in file.summary(tasks=tasks)
    }


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("summary") / "trace.dat"


@settings(max_examples=400, deadline=None)
@given(steps=STEPS)
def test_the_figures_are_the_models(scratch: Path, steps: list[Step]) -> None:
    program = Program(steps)
    assert rows(program.trace, scratch) == {name: figures.row() for name, figures in program.figures.items()}


@settings(max_examples=200, deadline=None)
@given(steps=STEPS)
def test_one_tasks_figures_are_those_of_a_trace_without_the_others(scratch: Path, steps: list[Step]) -> None:
    alone = Program([step for step in steps if step.task == 1])
    both = Program([step for step in steps if step.what not in ("resume", "close")])
    only = Program([step for step in steps if step.task == 1 and step.what not in ("resume", "close")])
    counted = {name: figures.row()[:3] for name, figures in only.figures.items()}
    assert {name: row[:3] for name, row in rows(both.trace, scratch, task="t1").items()} == counted
    assert rows(alone.trace, scratch, task="t1") == {
        name: figures.row() for name, figures in alone.figures.items()
    }


# Threshold traces have only exits; a caller's exit follows those of its callees.


def nested_calls(steps: list[Step]) -> list[tuple[int, int, int, int]]:
    """Return complete calls of one task as (begin, end, function, depth), in order of their ends."""
    now, stack, calls = 1_000_000, [], []
    for step in [*steps, *[Step(0, "return", 0, 7)] * len(steps)]:
        now += step.nanoseconds
        if step.what == "call":
            stack.append((now, step.function))
        elif stack:
            begin, function = stack.pop()
            calls.append((begin, now, function, len(stack)))
    return calls


@settings(max_examples=400, deadline=None)
@given(steps=STEPS)
def test_a_threshold_trace_counts_the_calls_that_it_has(scratch: Path, steps: list[Step]) -> None:
    threshold = 700_000
    kept = [call for call in nested_calls(steps) if call[1] - call[0] > threshold]
    trace = Trace(list(FUNCTIONS))
    task = trace.task(100)
    expected: dict[str, list[int]] = {}
    for begin, end, function, depth in kept:
        task.leave(end, function, depth, calltime=begin)
        row = expected.setdefault(FUNCTIONS[function], [0, 0, 0, 0, 0, 2**64, 0])
        inside = [call for call in kept if begin < call[0] and call[1] < end]
        around = [call for call in kept if call[0] < begin and end < call[1]]
        row[0] += 1
        row[3] += 0 if any(call[2] == function for call in around) else end - begin
        row[4] += end - begin - sum(call[1] - call[0] for call in inside if call[3] == depth + 1)
        row[5], row[6] = min(row[5], end - begin), max(row[6], end - begin)
    assert rows(trace, scratch) == {name: tuple(row) for name, row in expected.items()}


@settings(max_examples=400, deadline=None)
@given(steps=STEPS)
def test_a_trace_whose_beginning_is_lost_counts_what_ends_in_it(scratch: Path, steps: list[Step]) -> None:
    """In overwrite mode only the exit of some calls is left. Still, no time is counted twice."""
    calls = nested_calls(steps)
    events = sorted(
        [(begin, 0, *call) for call in calls for begin in call[:1]] + [(call[1], 1, *call) for call in calls]
    )
    left = events[len(events) // 3 :]
    trace = Trace(list(FUNCTIONS))
    task = trace.task(100)
    for time, is_exit, begin, _, function, depth in left:
        if is_exit:
            task.leave(time, function, depth, calltime=begin)
        else:
            task.enter(time, function, depth)
    kept = [call for call in calls if (call[1], 1, *call) in left]
    found = rows(trace, scratch)
    for function, name in enumerate(FUNCTIONS):
        mine = [call for call in kept if call[2] == function]
        outermost = [
            call for call in mine if not any(other[0] < call[0] and call[1] < other[1] for other in mine)
        ]
        calls_found, _, _, total, _, _, _ = found.get(name, (0,) * 7)
        assert (calls_found, total) == (len(mine), sum(call[1] - call[0] for call in outermost))


# ---- native functions


def native_trace() -> Trace:
    """A trace whose functions with odd numbers are native."""
    return Trace([
        ("libx", name, "", 64, 64, []) if number % 2 else ("m", name, "/m.py", 1, 0, [])
        for number, name in enumerate(FUNCTIONS)
    ])  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(steps=STEPS)
def test_native_time_is_what_native_functions_take_themselves(scratch: Path, steps: list[Step]) -> None:
    calls = nested_calls(steps)
    trace = native_trace()
    task = trace.task(100)
    for time, is_exit, begin, function, depth in sorted(
        [(begin, 0, begin, function, depth) for begin, _, function, depth in calls]
        + [(end, 1, begin, function, depth) for begin, end, function, depth in calls],
        key=lambda event: (event[0], event[1], event[4] * (1 - 2 * event[1])),
    ):
        if is_exit:
            task.leave(time, function, depth, calltime=begin)
        else:
            task.enter(time, function, depth)

    def within(inner: tuple[int, int, int, int], outer: tuple[int, int, int, int]) -> bool:
        return inner[3] > outer[3] and outer[0] <= inner[0] and inner[1] <= outer[1]

    def self_time(call: tuple[int, int, int, int]) -> int:
        below = [other for other in calls if within(other, call) and other[3] == call[3] + 1]
        return call[1] - call[0] - sum(other[1] - other[0] for other in below)

    expected = [0] * len(FUNCTIONS)
    for call in calls:
        if any(within(call, other) and other[2] == call[2] for other in calls):
            continue
        inside = [other for other in calls if other is call or within(other, call)]
        expected[call[2]] += sum(self_time(other) for other in inside if other[2] % 2)
    trace.save(scratch)
    names = {row.function.qualname: row.native_ns for row in TraceFile(scratch).summary() if row.function}
    assert names == {FUNCTIONS[function]: expected[function] for _, _, function, _ in calls}


def test_native_time_of_a_suspended_call_is_of_all_its_stretches(tmp_path: Path) -> None:
    trace = Trace([("m", "gen", "/m.py", 1, 0, []), ("libx", "f", "", 64, 64, [])])
    one, two = trace.task(1, pid=1), trace.task(2, pid=1)
    one.enter(1_000, 0, 0)
    one.enter(1_010, 1, 1)
    one.leave(1_030, 1, 1, calltime=1_010)
    one.leave(1_100, 0, 0, calltime=1_000, kind=SUSPEND, start=1_000)
    one.enter(1_200, 1, 0)
    one.leave(1_900, 1, 0, calltime=1_200)
    two.enter(2_000, 1, 0)
    two.leave(2_005, 1, 0, calltime=2_000)
    two.enter(50_000, 0, 0, kind=RESUME, start=1_000)
    two.enter(50_010, 1, 1)
    two.leave(50_017, 1, 1, calltime=50_010)
    two.leave(50_030, 0, 0, calltime=50_000, start=1_000)
    trace.save(tmp_path / "t")
    assert {row.name: row.native_ns for row in TraceFile(tmp_path / "t").summary()} == {
        "m.gen": 27,
        "f [libx]": 732,
    }


def test_the_table_of_a_trace_with_native_functions(command: Command, tmp_path: Path) -> None:
    trace = Trace([("m", "f", "/m.py", 1, 0, []), ("libx", "g", "", 64, 64, [])])
    task = trace.task(1)
    task.enter(0, 0, 0)
    task.enter(100, 1, 1)
    task.leave(400, 1, 1, calltime=100)
    task.leave(500, 0, 0, calltime=0)
    path = trace.save(tmp_path / "trace.dat")
    assert command("summary", "-i", path, "--sort", "native").out == (
        "CALLS  RESUMES  EXCEPTIONS    SELF   TOTAL  NATIVE     MIN     AVG     MAX  FUNCTION\n"
        "    1        0           0  300 ns  300 ns  300 ns  300 ns  300 ns  300 ns  g [libx]\n"
        "    1        0           0  200 ns  500 ns  300 ns  500 ns  500 ns  500 ns  m.f\n"
        "    2        0           0  500 ns                                          2 functions\n"
    )
    out = json.loads(command("summary", "--json", "-i", path).out)
    assert [function["native_ns"] for function in out["functions"]] == [300, 300]


def test_recursion_counts_once_in_total_and_each_time_in_self(tmp_path: Path) -> None:
    trace = Trace(["m.f", "m.g"])
    task = trace.task(1)
    task.enter(0, 0, 0)
    task.enter(100, 1, 1)
    task.enter(200, 0, 2)
    task.leave(500, 0, 2, calltime=200)
    task.leave(600, 1, 1, calltime=100)
    task.leave(1_000, 0, 0, calltime=0)
    assert rows(trace, tmp_path / "t") == {
        "m.f": (2, 0, 0, 1_000, 800, 300, 1_000),
        "m.g": (1, 0, 0, 500, 200, 500, 500),
    }


def test_suspended_time_counts_nowhere(tmp_path: Path) -> None:
    trace = Trace(["m.gen"])
    one, two = trace.task(1, pid=1), trace.task(2, pid=1)
    one.enter(1_000, 0, 0)
    one.leave(1_100, 0, 0, calltime=1_000, kind=SUSPEND, start=1_000)
    two.enter(50_000, 0, 0, kind=RESUME, start=1_000)
    two.leave(50_030, 0, 0, calltime=50_000, start=1_000)
    assert rows(trace, tmp_path / "t") == {"m.gen": (1, 1, 0, 130, 130, 130, 130)}


def test_many_suspended_calls_are_told_apart(tmp_path: Path) -> None:
    pick = random.Random(3)
    starts = [10_000 * number for number in sorted(pick.sample(range(10**5), 3_000))]
    trace = Trace(["m.gen"])
    task = trace.task(1)
    for i, start in enumerate(starts):
        task.enter(start, 0, 0)
        task.leave(start + 10 + i, 0, 0, calltime=start, kind=SUSPEND, start=start)
    order = pick.sample(range(3_000), 3_000)
    for turn, i in enumerate(order):
        now = 2 * 10**9 + turn * 10_000
        task.enter(now, 0, 0, kind=RESUME, start=starts[i])
        task.leave(now + 5_000 - i, 0, 0, calltime=now, start=starts[i])
    trace.save(tmp_path / "t")
    row = TraceFile(tmp_path / "t").summary()[0]
    assert (row.calls, row.resumes, row.ended, row.ended_ns) == (3_000, 3_000, 3_000, 3_000 * 5_010)
    assert (row.min_ns, row.max_ns) == (5_010, 5_010)  # each exit was matched with its own entry


def test_a_call_that_never_ended_ran_until_the_tasks_last_event(tmp_path: Path) -> None:
    trace = Trace(["m.main", "m.f"])
    task, other = trace.task(1), trace.task(2)
    task.enter(1_000, 0, 0)
    task.enter(2_000, 1, 1)
    task.leave(2_500, 1, 1, calltime=2_000)
    task.enter(3_000, 1, 1)
    other.enter(9_000, 1, 0)
    assert rows(trace, tmp_path / "t") == {
        "m.main": (1, 0, 0, 2_000, 1_500, 0, 0),
        "m.f": (3, 0, 0, 500, 500, 500, 500),
    }


def test_a_reused_lane_begins_afresh(tmp_path: Path) -> None:
    trace = Trace(["m.f"])
    first, second = trace.task(1, lane=0), trace.task(2, lane=0)
    first.enter(1_000, 0, 0)  # its thread was killed
    second.enter(5_000, 0, 0)
    second.leave(5_100, 0, 0, calltime=5_000)
    assert rows(trace, tmp_path / "t") == {"m.f": (2, 0, 0, 100, 100, 100, 100)}


def test_an_exit_without_entry_is_a_call_and_a_later_part_a_resume(tmp_path: Path) -> None:
    trace = Trace(["m.gen"])
    task = trace.task(1)
    task.leave(2_000, 0, 0, calltime=1_000, kind=SUSPEND, start=1_000, lost=1)
    task.leave(4_000, 0, 0, calltime=3_500, kind=RAISE, start=1_000, lost=1)
    assert rows(trace, tmp_path / "t") == {"m.gen": (1, 1, 1, 1_500, 1_500, 1_500, 1_500)}


def test_a_resume_of_a_call_with_an_unknown_start_is_not_a_call(tmp_path: Path) -> None:
    trace = Trace(["m.gen"])
    task = trace.task(1)
    task.enter(5_000, 0, 0, kind=RESUME, start=10)
    task.leave(5_100, 0, 0, calltime=5_000, start=10)
    task.leave(5_200, 0, 0, calltime=5_200, kind=CLOSE, start=20)
    assert rows(trace, tmp_path / "t") == {"m.gen": (0, 1, 0, 100, 100, 0, 0)}


def test_an_exit_that_was_lost_takes_no_time(tmp_path: Path) -> None:
    trace = Trace(["m.f", "m.g"])
    task = trace.task(1)
    task.enter(1_000, 0, 0)
    task.enter(1_100, 1, 1)
    task.enter(1_500, 1, 1, lost=1)
    task.leave(1_600, 1, 1, calltime=1_500)
    task.leave(2_000, 0, 0, calltime=1_000)
    assert rows(trace, tmp_path / "t") == {
        "m.f": (1, 0, 0, 1_000, 900, 1_000, 1_000),
        "m.g": (2, 0, 0, 100, 100, 100, 100),
    }


def test_recursion_counts_once_although_an_entry_between_was_lost(tmp_path: Path) -> None:
    trace = Trace(["m.f", "m.g"])
    task = trace.task(1)
    task.enter(1_000, 0, 0)
    task.enter(1_200, 0, 2, lost=1)
    task.leave(1_300, 0, 2, calltime=1_200)
    task.leave(1_400, 1, 1, calltime=1_100)
    task.leave(2_000, 0, 0, calltime=1_000)
    assert rows(trace, tmp_path / "t") == {
        "m.f": (2, 0, 0, 1_000, 800, 100, 1_000),
        "m.g": (1, 0, 0, 300, 200, 300, 300),
    }


def test_calls_one_after_the_other_are_not_taken_for_recursion_where_records_were_lost(
    tmp_path: Path,
) -> None:
    trace = Trace(["m.f", "m.g"])
    task = trace.task(1)
    task.leave(1_100, 0, 2, calltime=1_000, lost=9)
    task.enter(2_000, 0, 1, lost=1)  # the caller of f has ended meanwhile
    task.leave(2_300, 0, 1, calltime=2_000)
    assert rows(trace, tmp_path / "t") == {"m.f": (2, 0, 0, 400, 400, 100, 300)}

    trace = Trace(["m.f", "m.g"])
    task = trace.task(1)
    task.enter(1_000, 1, 0)
    task.leave(1_200, 0, 2, calltime=1_100, lost=1)
    task.leave(2_000, 1, 0, calltime=1_000, lost=1)
    task.leave(3_000, 0, 1, calltime=2_950, lost=1)
    assert rows(trace, tmp_path / "t")["m.f"] == (2, 0, 0, 150, 150, 50, 100)


def test_the_function_tracers_records_are_calls(tmp_path: Path) -> None:
    trace = Trace(["m.f", "m.g"], tracer="function")
    task = trace.task(1)
    for time in range(5):
        task.function(time, time % 2, None)
    assert rows(trace, tmp_path / "t") == {"m.f": (3, 0, 0, 0, 0, 0, 0), "m.g": (2, 0, 0, 0, 0, 0, 0)}


def test_the_same_function_under_two_numbers_is_one_row(tmp_path: Path) -> None:
    trace = Trace(["m.f", "m.f"])
    task = trace.task(1)
    for func, took in ((0, 100), (1, 40)):
        task.enter(1_000 * func, func, 0)
        task.leave(1_000 * func + took, func, 0, calltime=1_000 * func)
    assert rows(trace, tmp_path / "t") == {"m.f": (2, 0, 0, 140, 140, 40, 100)}


def sample() -> Trace:
    trace = Trace(
        [("m", "slow", "/src/m.py", 10, 0, []), ("m", "often", "/src/m.py", 20, 0, [])],
        lost=3,
        overrun=1,
        waits=2,
        wait_ns=1_500_000,
    )
    task = trace.task(7, "work")
    for time in range(0, 3_000, 1_000):
        task.enter(time, 1, 0)
        task.leave(time + 812, 1, 0, calltime=time, kind=RAISE if time else 0)
    task.enter(10_000, 0, 0)
    task.leave(1_510_000, 0, 0, calltime=10_000)
    return trace


def test_the_table(command: Command, tmp_path: Path) -> None:
    path = sample().save(tmp_path / "trace.dat")
    assert command("summary", "-i", path).out == (
        "CALLS  RESUMES  EXCEPTIONS      SELF     TOTAL       MIN       AVG       MAX  FUNCTION\n"
        "    1        0           0  1.500 ms  1.500 ms  1.500 ms  1.500 ms  1.500 ms  m.slow\n"
        "    3        0           2  2.436 us  2.436 us    812 ns    812 ns    812 ns  m.often\n"
        "    4        0           2  1.502 ms                                          2 functions\n"
        "3 records were lost: the figures lack them\n"
        "1 calls were not traced: their task's shadow stack was full\n"
        "2 waits for the recorder, 1.500 ms in all: the figures leave them out\n"
    )


def test_the_json(command: Command, tmp_path: Path) -> None:
    path = sample().save(tmp_path / "trace.dat")
    out = json.loads(command("summary", "--json", "--sort", "calls", "-i", path).out)
    assert out["functions"][0] == {
        "name": "m.often",
        "module": "m",
        "file": "/src/m.py",
        "line": 20,
        "calls": 3,
        "resumes": 0,
        "exceptions": 2,
        "total_ns": 2_436,
        "self_ns": 2_436,
        "min_ns": 812,
        "max_ns": 812,
    }
    assert [function["name"] for function in out["functions"]] == ["m.often", "m.slow"]
    assert out["tasks"] == [
        {
            "pid": 7,
            "tid": 7,
            "name": "work",
            "process": "python 'an app.py'",
            "first_ns": 0,
            "last_ns": 1_510_000,
            "records": 8,
            "cpu_ns": 0,
            "ready_ns": 0,
        }
    ]
    assert (out["lost"], out["overrun"]) == (3, 1)
    assert out["events"] == []
    assert set(out) == {"functions", "events", "tasks", "lost", "overrun"}


@pytest.mark.parametrize(
    ("key", "first"),
    [
        *((key, "slow") for key in ("self", "total", "min", "avg", "max")),
        *((key, "often") for key in ("calls", "exceptions", "name", "resumes")),
    ],
)
def test_sorting(command: Command, tmp_path: Path, key: str, first: str) -> None:
    path = sample().save(tmp_path / "trace.dat")
    assert command("summary", "-i", path, "--sort", key).out.splitlines()[1].endswith(f"m.{first}")


def test_an_unknown_sort_key(command: Command) -> None:
    ran = command("summary", "--sort", "speed")
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "'speed'" in ran.err


def test_an_empty_trace_has_an_empty_table(command: Command, tmp_path: Path) -> None:
    ran = command("summary", "-i", Trace([]).save(tmp_path / "trace.dat"))
    assert ran.status == 0
    assert ran.out.splitlines()[1].endswith("0 functions")


def test_durations_read_well() -> None:
    texts = [duration_text(ns) for ns in (0, 999, 1_000, 12_379, 1_500_000, 73_002_000_000)]
    assert texts == ["0 ns", "999 ns", "1.000 us", "12.379 us", "1.500 ms", "73.002 s"]
