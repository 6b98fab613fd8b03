"""Promise: the parts of `why` add up exactly, whatever a trace lacks: random programs, with losses, waits for
the recorder and calls without an end. Own and called time are those that `call_columns` has."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from tracedata.programs import FUNCTIONS, STEPS, Program, Step
from tracefile import RESUME, SUSPEND, Task
from tracefile import Trace as Written

import funcgraph
from funcgraph.answers.why import why
from funcgraph.answers.why_text import why_lines
from funcgraph.tracedata import CallColumns, SelectionError
from funcgraph.tracedata.call_parts import PART_KINDS, ChosenCalls, Overlay, PartSums
from funcgraph.tracedata.description import NATIVE

pytestmark = pytest.mark.one_python

S = 1_000_000_000
OPEN = CallColumns.ENDS.index("open")


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("why") / "trace.dat"


def by_kind(sums: PartSums) -> dict[str, int]:
    return {kind: sum(part.ns for part in sums.parts if part.kind == kind) for kind in PART_KINDS}


@settings(max_examples=150, deadline=None)
@given(steps=STEPS)
def test_the_parts_of_each_call_add_up(scratch: Path, steps: list[Step]) -> None:
    Program(steps).trace.save(scratch)
    with funcgraph.open(scratch) as trace:
        for batch in trace.call_columns():
            for i in range(len(batch)):
                begin, end = batch.begin_ns[i], batch.end_ns[i]
                begins = array("Q", [begin])
                chosen = ChosenCalls(functions=[batch.function[i]], begins=begins, groups=b"\0")
                [sums] = trace.call_parts(chosen)
                kinds = by_kind(sums)
                assert (sums.calls, sums.open) == (1, batch.ended[i] == OPEN)
                assert sum(kinds.values()) == sums.total_ns == end - begin
                if batch.duration_ns[i] >= 0:
                    assert kinds["own"] == batch.self_ns[i]
                    assert kinds["own"] + kinds["callee"] == batch.duration_ns[i]
                    assert not kinds["unknown"]


@settings(max_examples=80, deadline=None)
@given(steps=STEPS)
@example(steps=[Step(0, what, 3, 1) for what in ("call", "return")] * 2)  # no call is slower than the other
def test_the_parts_of_groups_add_up(scratch: Path, steps: list[Step]) -> None:
    Program(steps).trace.save(scratch)
    with funcgraph.open(scratch) as trace:
        for name in FUNCTIONS:
            try:
                answer = why(trace, name)
            except SelectionError:
                continue
            for group in filter(None, (answer.slow, answer.typical)):
                assert sum(part.ns for part in group.sums.parts) == group.sums.total_ns
                assert group.sums.calls == group.calls
                assert group.least_ns * group.calls <= group.sums.total_ns <= group.most_ns * group.calls


def one_call(written: Written, scratch: Path, **known: object) -> PartSums:
    with funcgraph.open(written.save(scratch)) as trace:
        begins = array("Q", [S])
        chosen = ChosenCalls(functions=[0], begins=begins, groups=b"\0", **known)  # type: ignore[arg-type]
        [sums] = trace.call_parts(chosen)
    return sums


def test_each_overlay_takes_its_time_from_the_part_below(scratch: Path) -> None:
    written = Written(["m.a", "time.sleep"])
    task = written.task(69)
    task.enter(S, 0, 0)
    task.enter(S + 100, 1, 1)
    task.leave(S + 400, 1, 1, calltime=S + 100)
    task.leave(S + 500, 0, 0, calltime=S)
    gil = [Overlay(0, S + 50, S + 150, "m.b"), Overlay(0, S + 140, S + 200, "m.c")]
    sums = one_call(written, scratch, kinds={1: "sleep"}, gil=gil)
    found = {(part.kind, part.label): (part.ns, part.count) for part in sums.parts}
    assert found == {
        ("own", ""): (150, 1),
        ("sleep", ""): (200, 1),
        ("gil", "m.b"): (100, 1),
        ("gil", "m.c"): (50, 1),
    }


def test_time_around_lost_records_is_unknown(scratch: Path) -> None:
    written = Written(["m.a", "m.b"])
    task = written.task(69)
    task.enter(S, 0, 0)
    task.enter(S + 100, 1, 1)
    task.leave(S + 110, 1, 1, calltime=S + 100)
    task.enter(S + 300, 1, 1, lost=7)
    task.leave(S + 310, 1, 1, calltime=S + 300)
    task.leave(S + 500, 0, 0, calltime=S)
    kinds = by_kind(one_call(written, scratch))
    assert (kinds["unknown"], kinds["own"], kinds["callee"]) == (190, 290, 20)


def test_a_suspended_call_awaits_the_innermost_coroutine(scratch: Path) -> None:
    written = Written(["m.a", "m.b", "m.other"])
    task = written.task(69)
    task.enter(S, 0, 0)
    task.enter(S + 10, 1, 1)
    task.leave(S + 20, 1, 1, calltime=S + 10, kind=SUSPEND, start=S + 10)
    task.leave(S + 30, 0, 0, calltime=S, kind=SUSPEND, start=S)
    task.enter(S + 40, 2, 0)
    task.leave(S + 90, 2, 0, calltime=S + 40)
    task.enter(S + 100, 0, 0, kind=RESUME, start=S)
    task.enter(S + 105, 1, 1, kind=RESUME, start=S + 10)
    task.leave(S + 110, 1, 1, calltime=S + 105, start=S + 10)
    task.leave(S + 120, 0, 0, calltime=S + 100, start=S)
    ready = [Overlay(0, S + 60, S + 95)]
    sums = one_call(written, scratch, ready=ready)
    found = {(part.kind, part.function and part.function.name): part.ns for part in sums.parts}
    assert found == {
        ("own", None): 10 + 10 + 5 + 10,
        ("callee", "m.b"): 10 + 5,
        ("suspended", "m.b"): 30,
        ("ready", None): 40,
    }


def test_a_call_that_did_not_end_counts_up_to_its_last_event(scratch: Path) -> None:
    written = Written(["m.a", "m.b"])
    task = written.task(69)
    task.enter(S, 0, 0)
    task.enter(S + 100, 1, 1)
    task.leave(S + 110, 1, 1, calltime=S + 100)
    sums = one_call(written, scratch)
    assert (sums.calls, sums.open, sums.total_ns) == (1, 1, 110)
    with funcgraph.open(scratch) as trace:
        answer = why(trace, "m.a", nth=1)
        assert answer.call is not None
        assert answer.call.is_open
        with pytest.raises(SelectionError, match=r"no call of 'm\.a' has both its begin and its end"):
            why(trace, "m.a")


# ---- what is said of the trace


def lines_of(written: Written, scratch: Path, **asked: Any) -> list[str]:
    with funcgraph.open(written.save(scratch)) as trace:
        return list(why_lines(why(trace, "m.a", **asked), "t.dat", 100))


def calls_of_a(task: Task, count: int) -> None:
    """Write calls of m.a, of which each takes 500 ns."""
    for number in range(count):
        begin = S + 1000 * number
        task.enter(begin, 0, 0)
        task.leave(begin + 500, 0, 0, calltime=begin)


def test_a_call_without_an_end_says_so(scratch: Path) -> None:
    written = Written(["m.a", "m.b"])
    task = written.task(69)
    calls_of_a(task, 1)
    task.enter(S + 5000, 0, 0)
    task.enter(S + 5100, 1, 1)
    task.leave(S + 5110, 1, 1, calltime=S + 5100)
    note = "it did not end: these are its parts up to its last event"
    assert note not in lines_of(written, scratch, nth=1)
    title, second, *_ = lines_of(written, scratch, nth=2)
    assert title == "m.a:2 took 110 ns in python-69"
    assert second == note


def test_calls_that_did_not_end_or_began_before_the_trace_are_counted(scratch: Path) -> None:
    written = Written(["m.a", "m.b"])
    task = written.task(69)
    task.enter(S - 100, 0, 0, kind=RESUME, start=S - 5000)  # it was suspended when the trace began
    task.leave(S - 50, 0, 0, calltime=S - 100, start=S - 5000)
    calls_of_a(task, 3)
    other = written.task(70)
    other.enter(S, 0, 0)
    other.enter(S + 10, 1, 1)
    text = "more calls began before the trace or did not end: --nth shows each"
    assert f"2 {text}" in lines_of(written, scratch)
    assert f"2 {text}" in lines_of(written, scratch, slowest=True)
    whole = Written(["m.a"])
    calls_of_a(whole.task(69), 3)
    assert not [line for line in lines_of(whole, scratch) if line.endswith(text)]


def test_lost_records_are_said(scratch: Path) -> None:
    written = Written(["m.a"], lost=1234)
    calls_of_a(written.task(69), 3)
    text = "1,234 records were lost in the trace: around them time is unknown"
    assert text in lines_of(written, scratch)
    whole = Written(["m.a"])
    calls_of_a(whole.task(69), 3)
    assert not [line for line in lines_of(whole, scratch) if "lost" in line]


FILTERED = "functions that were filtered out: in their callers' parts"


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"thresh_us": 10}, "entries (--thresh): nearly all of it is unknown"),
        ({"filter": ["m.*"]}, FILTERED),
        ({"notrace": ["m.b"]}, FILTERED),
        ({"graph": ["m.a"]}, FILTERED),
        ({"max_graph_depth": 3}, FILTERED),
        ({"c_calls": False}, "C functions: sleeps, locks and I/O are in 'own code' and 'in'"),
        (
            {"c_calls": True},
            "'with lock' is in 'own code' before CPython 3.14 without -l 'sem_*wait:mod:libc'",
        ),
    ],
)
def test_what_was_not_recorded_has_its_line(scratch: Path, options: dict[str, Any], line: str) -> None:
    """And only that: the other lines are not there."""
    found = []
    for recorded in (options, {"filter": ["*"], "c_calls": not options.get("c_calls", False)}):
        written = Written(["m.a"], instances={"": recorded})
        calls_of_a(written.task(69), 3)
        lines = lines_of(written, scratch)
        found.append(lines[lines.index("not recorded, so in other parts (record --why):") :])
    assert found[0].count(f"  {line}") == 1
    assert f"  {line}" not in found[1]


def test_how_long_tasks_were_ready_is_missing_of_suspended_calls_alone(scratch: Path) -> None:
    written = Written(["m.a"])
    task = written.task(69)
    calls_of_a(task, 3)
    line = "  how long tasks were ready: in 'await'"
    assert line not in lines_of(written, scratch)
    suspended = Written(["m.a"])
    task = suspended.task(69)
    task.enter(S, 0, 0)
    task.leave(S + 30, 0, 0, calltime=S, kind=SUSPEND, start=S)
    task.enter(S + 100, 0, 0, kind=RESUME, start=S)
    task.leave(S + 120, 0, 0, calltime=S + 100, start=S)
    assert line in lines_of(suspended, scratch)


NATIVE_TEXTS = {"lock": "L lock", "sleep": "S sleep", "io": "I I/O", "native": "n native"}
#: A native function of an object, its name there -> its part.
NATIVE_PARTS = [
    ("pthread_mutex_lock", "lock"),
    ("pthread_cond_timedwait@@GLIBC_2.3.2", "lock"),
    ("sem_clockwait", "lock"),
    ("__libc_pthread_join", "lock"),
    ("nanosleep", "sleep"),
    ("poll", "io"),
    ("__libc_read", "io"),
    ("epoll_wait@GLIBC_2.3.2", "io"),
    ("qsort", "native"),
    ("read_config", "native"),
]


@pytest.mark.parametrize(("name", "kind"), NATIVE_PARTS)
def test_native_functions_below_have_their_parts(scratch: Path, name: str, kind: str) -> None:
    written = Written(["m.a", ("libc", name, "/lib/libc.so.6", 0, NATIVE, [])])
    task = written.task(69)
    task.enter(S, 0, 0)
    for begin in (S + 100, S + 300):
        task.enter(begin, 1, 1)
        task.leave(begin + 70, 1, 1, calltime=begin)
    task.leave(S + 500, 0, 0, calltime=S)
    with funcgraph.open(written.save(scratch)) as trace:
        answer = why(trace, "m.a")
        function = trace.functions[1].name
        lines = list(why_lines(answer, "t.dat", 100))
    kinds = by_kind(answer.slow.sums)
    assert {one: ns for one, ns in kinds.items() if ns} == {"own": 360, kind: 140}
    assert f"      140 ns   28.0%        2  {NATIVE_TEXTS[kind]} {function}" in lines
