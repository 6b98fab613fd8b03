"""Promise: the parts of `why` add up exactly, whatever a trace lacks: random programs, with losses, waits for
the recorder and calls without an end. Own and called time are those that `call_columns` has."""

from __future__ import annotations

from array import array
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from tracedata.programs import FUNCTIONS, STEPS, Program, Step
from tracefile import RESUME, SUSPEND
from tracefile import Trace as Written

import funcgraph
from funcgraph.answers.why import why
from funcgraph.tracedata import CallColumns, SelectionError
from funcgraph.tracedata.call_parts import PART_KINDS, ChosenCalls, Overlay, PartSums

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
