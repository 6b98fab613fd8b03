"""The merged call tree: its paths are a slow model's, and add up to summary's figures, whatever was lost."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracefile import CLOSE, RAISE, RESUME, RETURN, START, SUSPEND, Trace

from funcgraph.tracedata import TraceFile
from funcgraph.tracedata.call_tree import CallTree
from tracedata.programs import FUNCTIONS, STEPS, Program, Step

pytestmark = pytest.mark.one_python

Paths = dict[tuple[str, ...], tuple[int, ...]]  # -> calls, resumes, exceptions, total, self


def tree_of(trace: Trace, path: Path, **options: Any) -> CallTree:
    trace.save(path)
    return TraceFile(path).call_tree(**options)


def paths(tree: CallTree) -> Paths:
    """Return the figures of each path; the first word of one is its root's name."""
    found = {}
    for place in range(len(tree)):
        figures = (
            tree.calls[place],
            tree.resumes[place],
            tree.exceptions[place],
            tree.total_ns[place],
            tree.self_ns[place],
        )
        names = tree.path(place)
        if names:
            found[tuple(names)] = figures
    assert len(found) == len(tree) - len(tree.roots()), "each path is there once"
    return found


def assert_adds_up(tree: CallTree) -> None:
    """The sums over the tree are the figures that `funcgraph summary` prints."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0] * 5)
    outermost = tree.outermost()
    for place, parent in enumerate(tree.parent):
        if parent == 2**32 - 1:
            continue
        assert parent < place
        row = sums[tree.name(place)]
        total = tree.total_ns[place] if outermost[place] else 0
        for n, figure in enumerate(
            (tree.calls[place], tree.resumes[place], tree.exceptions[place], total, tree.self_ns[place])
        ):
            row[n] += figure
    expected = {
        row.name: [row.calls, row.resumes, row.exceptions, row.total_ns, row.self_ns] for row in tree.summary
    }
    assert {name: row for name, row in sums.items() if any(row)} == {
        name: row for name, row in expected.items() if any(row)
    }


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tree") / "trace.dat"


class PathModel(Program):
    """Keeps the figures of each path too: of a suspended call, those of each caller that ran it."""

    def __init__(self, steps: list[Step]) -> None:
        self.by_path: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0] * 5)
        super().__init__(steps)

    def _path(self, task: int, depth: int) -> tuple[str, ...]:
        return tuple(FUNCTIONS[call.function] for call in self.stacks[task][:depth])

    def pass_time(self, task: int) -> None:
        depth, passed = len(self.stacks[task]), self.now - self.seen[task]
        for inner in range(1, depth + 1):
            self.by_path[self._path(task, inner)][3] += passed
        if depth:
            self.by_path[self._path(task, depth)][4] += passed
        super().pass_time(task)

    def enter(self, task: int, call: Any, kind: int) -> None:
        super().enter(task, call, kind)
        self.by_path[self._path(task, len(self.stacks[task]))][kind == RESUME] += 1

    def leave(self, task: int, kind: int) -> None:
        path = self._path(task, len(self.stacks[task]))
        super().leave(task, kind)
        self.by_path[path][2] += kind == RAISE


@settings(max_examples=40, deadline=None)
@given(steps=STEPS)
def test_the_paths_are_the_models(scratch: Path, steps: list[Step]) -> None:
    program = PathModel(steps)
    tree = tree_of(program.trace, scratch)
    assert paths(tree) == {path: tuple(row) for path, row in program.by_path.items()}
    assert_adds_up(tree)


@settings(max_examples=15, deadline=None)
@given(steps=STEPS)
def test_each_task_or_process_has_a_tree_of_its_own(scratch: Path, steps: list[Step]) -> None:
    program = PathModel([step for step in steps if step.what not in ("resume", "close")])
    by_task = tree_of(program.trace, scratch, by="task")
    assert_adds_up(by_task)
    file = TraceFile(scratch)
    alone = {
        f"{task.name} ({task.tid})": paths(file.call_tree(tasks=[task]))
        for task in file.tasks
        if task.records
    }
    found: dict[str, Paths] = {}
    for root in by_task.roots():
        found[by_task.name(root)] = {}
    for place in range(len(by_task)):
        root = place
        while by_task.parent[root] != 2**32 - 1:
            root = by_task.parent[root]
        if root != place:
            found[by_task.name(root)][tuple(by_task.path(place))] = (
                by_task.calls[place],
                by_task.resumes[place],
                by_task.exceptions[place],
                by_task.total_ns[place],
                by_task.self_ns[place],
            )
    assert found == {name: rows for name, rows in alone.items() if name in found}
    by_process = file.call_tree(by="process")
    assert paths(by_process) == paths(file.call_tree())
    assert [by_process.name(root) for root in by_process.roots()] == [
        "process 100: python 'an app.py'"
    ] * bool(found)


EVENTS = st.lists(
    st.tuples(
        st.integers(0, 1),  # task
        st.sampled_from(("enter", "enter", "leave", "leave", "leave", "resume", "suspend", "raise", "close")),
        st.integers(0, 3),  # function
        st.integers(0, 4),  # depth
        st.integers(1, 1_000),  # nanoseconds since the event before
        st.integers(0, 3_000),  # how long the call took
    ),
    max_size=40,
)
KINDS = {"leave": RETURN, "raise": RAISE, "suspend": SUSPEND, "close": CLOSE}


@settings(max_examples=100, deadline=None)
@given(events=EVENTS)
def test_whatever_was_lost_the_tree_adds_up_to_the_summary(scratch: Path, events: list[Any]) -> None:
    """Any order of entries and exits at any depth: as if most of the records had been lost."""
    trace = Trace(list(FUNCTIONS))
    tasks = [trace.task(100 + number) for number in range(2)]
    now = 10_000
    for number, what, function, depth, passed, took in events:
        now += passed
        start = 10 + function if what in ("resume", "suspend", "close") else None
        if what in ("enter", "resume"):
            kind = START if what == "enter" else RESUME
            tasks[number].enter(now, function, depth, kind=kind, start=start)
        else:
            tasks[number].leave(now, function, depth, calltime=now - took, kind=KINDS[what], start=start)
    trace.save(scratch)
    file = TraceFile(scratch)
    for by in ("all", "task"):
        tree = file.call_tree(by=by)
        assert_adds_up(tree)
        assert tree.summary == file.summary()


def test_callers_of_a_threshold_trace_are_learned_at_their_exits(tmp_path: Path) -> None:
    """--thresh records only the ends of long calls: a caller's comes after its callees'."""
    trace = Trace(["m.main", "m.f", "m.g"])
    task = trace.task(1)
    task.leave(300, 2, 2, calltime=200)
    task.leave(500, 2, 2, calltime=400)
    task.leave(600, 1, 1, calltime=100)
    task.leave(900, 1, 1, calltime=700)
    task.leave(1_000, 0, 0, calltime=0)
    assert paths(tree_of(trace, tmp_path / "t")) == {
        ("m.main",): (1, 0, 0, 1_000, 300),
        ("m.main", "m.f"): (2, 0, 0, 700, 500),
        ("m.main", "m.f", "m.g"): (2, 0, 0, 200, 200),
    }


def test_a_callee_whose_caller_was_lost_is_under_the_nearest_known_call(tmp_path: Path) -> None:
    trace = Trace(["m.main", "m.f", "m.g"])
    task = trace.task(1)
    task.enter(0, 0, 0)
    task.enter(200, 2, 2, lost=1)
    task.leave(300, 2, 2, calltime=200)
    task.leave(1_000, 0, 0, calltime=0, lost=1)
    found = paths(tree_of(trace, tmp_path / "t"))
    assert found == {("m.main",): (1, 0, 0, 1_000, 1_000), ("m.main", "m.g"): (1, 0, 0, 100, 100)}


def test_a_call_that_never_ended_is_in_the_tree(tmp_path: Path) -> None:
    trace = Trace(["m.main", "m.f"])
    task = trace.task(1)
    task.enter(1_000, 0, 0)
    task.enter(2_000, 1, 1)
    task.enter(3_000, 1, 2)
    assert paths(tree_of(trace, tmp_path / "t")) == {
        ("m.main",): (1, 0, 0, 2_000, 1_000),
        ("m.main", "m.f"): (1, 0, 0, 1_000, 1_000),
        ("m.main", "m.f", "m.f"): (1, 0, 0, 0, 0),
    }


def test_the_function_tracers_calls_are_under_their_callers(tmp_path: Path) -> None:
    trace = Trace(["m.f", "m.g"], tracer="function")
    task = trace.task(1)
    for time in range(5):
        task.function(time, time % 2, 0 if time % 2 else None)
    assert paths(tree_of(trace, tmp_path / "t")) == {
        ("m.f",): (3, 0, 0, 0, 0),
        ("m.f", "m.g"): (2, 0, 0, 0, 0),
    }


def test_the_same_function_under_two_numbers_is_one_in_the_tree(tmp_path: Path) -> None:
    trace = Trace(["m.f", "m.f", "m.g"])
    task = trace.task(1)
    for func, took in ((0, 100), (1, 40)):
        task.enter(1_000 * func, func, 0)
        task.enter(1_000 * func, 2, 1)
        task.leave(1_000 * func + took, 2, 1, calltime=1_000 * func)
        task.leave(1_000 * func + took, func, 0, calltime=1_000 * func)
    tree = tree_of(trace, tmp_path / "t")
    assert paths(tree) == {("m.f",): (2, 0, 0, 140, 0), ("m.f", "m.g"): (2, 0, 0, 140, 140)}
    assert_adds_up(tree)
