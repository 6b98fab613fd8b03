"""Promise: each task of an event loop and each greenlet has a lane with its own calls, and no others, at the
levels that they have below the task, in whichever thread it runs; and so has each CPU of a kernel."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from builds import needs_gil
from tracefile import RESUME, SUSPEND, Trace

import funcgraph
from funcgraph.tracedata import index_cache, run_table
from funcgraph.view import run_tree, task_lanes
from funcgraph.view.request_error import RequestError
from funcgraph.view.served import Served
from view.test_view_queries import ask, opened

pytestmark = pytest.mark.one_python

COROUTINE = 2
FUNCTIONS = [
    ("app", "loop", "/nowhere/app.py", 1, 0, []),
    ("app", "handler", "/nowhere/app.py", 5, COROUTINE, []),
    ("app", "read", "/nowhere/app.py", 9, COROUTINE, []),
    ("app", "parse", "/nowhere/app.py", 13, 0, []),
    ("app", "green", "/nowhere/app.py", 17, 0, []),
    ("app", "switch", "/nowhere/app.py", 21, 0, []),
]
LOOP, HANDLER, READ, PARSE, GREEN, SWITCH = range(6)
BEGIN = 10**9
PROGRAMS = Path(__file__).parent / "programs"
STEPS, TASKS = 4, 3


def run(task: Any, now: int, step: int, starts: tuple[int, int], functions: tuple[int, int, int]) -> int:
    """One run: the root, below it what waits, and a call before it does; all end in the last step."""
    root, waiter, leaf = functions
    begin, is_last = now, step == STEPS - 1
    if step == 0:
        task.enter(now, root, 1)
        task.enter(now + 10, waiter, 2)
    else:
        task.enter(now, root, 1, kind=RESUME, start=starts[0])
        task.enter(now + 10, waiter, 2, kind=RESUME, start=starts[1])
    task.enter(now + 20, leaf, 3)
    task.leave(now + 50, leaf, 3, calltime=now + 20)
    more: dict[str, Any] = {} if is_last else {"kind": SUSPEND}
    task.leave(now + 60, waiter, 2, calltime=begin + 10, start=starts[1], **more)
    task.leave(now + 70, root, 1, calltime=begin, start=starts[0], **more)
    return now + 100


def made(folder: Path, functions: tuple[int, int, int]) -> Path:
    """A loop that runs TASKS tasks in turn; the last step of each is in another thread."""
    trace = Trace(FUNCTIONS)
    first, other = trace.task(100, "first", pid=100), trace.task(101, "other", pid=100)
    first.enter(BEGIN, LOOP, 0)
    now = BEGIN + 10
    starts: list[tuple[int, int]] = []
    for step in range(STEPS):
        thread = other if step == STEPS - 1 else first
        if thread is other:
            first.leave(now, LOOP, 0, calltime=BEGIN)
            other.enter(now + 1, LOOP, 0)
            now += 10
        for number in range(TASKS):
            if step == 0:
                starts.append((now, now + 10))
            now = run(thread, now, step, starts[number], functions)
    other.leave(now, LOOP, 0, calltime=now - 10)
    return trace.save(folder / "trace.dat")


@pytest.fixture(
    scope="module", params=[(HANDLER, READ, PARSE), (GREEN, SWITCH, PARSE)], ids=["task", "greenlet"]
)
def served(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Any]]:
    with opened(made(tmp_path_factory.mktemp("tasks"), request.param)) as one:
        yield one, request.param


def spans_of(served: Served, lane: int, pixels: int) -> list[tuple[int, ...]]:
    part = (served.begin_ns, served.begin_ns + served.duration_ns + 1)
    rows = task_lanes.spans(served, task_lanes.task_lane(served, lane), *part, pixels, (0, 100))
    columns = (rows.depth, rows.begin_ns, rows.end_ns, rows.count, rows.function)
    return [(row[0], row[1] - BEGIN, row[2] - BEGIN, *row[3:]) for row in zip(*columns, strict=True)]


def begins(number: int) -> list[int]:
    """When the runs of a task begin, after BEGIN."""
    return [10 + 100 * (TASKS * step + number) + 10 * (step == STEPS - 1) for step in range(STEPS)]


def test_a_task_has_a_lane_with_its_calls_alone(served: tuple[Served, Any]) -> None:
    one, (root, waiter, leaf) = served
    lanes = [lane for lane in ask(one, "lanes")["lanes"] if task_lanes.is_task(lane["number"])]
    kind = "task" if root == HANDLER else "greenlet"
    name = "handler" if root == HANDLER else "green"
    assert [(lane["kind"], lane["name"]) for lane in lanes] == [
        (kind, f"{name} {n + 1}") for n in range(TASKS)
    ]
    for number, lane in enumerate(lanes):
        assert (lane["thread"], lane["spans"], lane["depths"], lane["calls"]) == (0, STEPS, 3, STEPS + 2)
        assert (lane["begin_ns"], lane["ran_ns"]) == (begins(number)[0], 70 * STEPS)
        assert spans_of(one, lane["number"], 10_000) == [
            *((0, at, at + 70, 1, root) for at in begins(number)),
            *((1, at + 10, at + 60, 1, waiter) for at in begins(number)),
            *((2, at + 20, at + 50, 1, leaf) for at in begins(number)),
        ]


def test_runs_that_are_too_short_to_see_are_counted(served: tuple[Served, Any]) -> None:
    one, (root, _, _) = served
    rows = spans_of(one, task_lanes.FIRST, 4)
    assert {(row[0], row[4]) for row in rows} == {(0, root)}
    assert sum(row[3] for row in rows) == STEPS and len(rows) <= 4


def test_a_call_of_a_task_is_found_at_its_level_in_each_thread(served: tuple[Served, Any]) -> None:
    one, functions = served
    for thread, at in ((0, begins(1)[1]), (1, begins(1)[-1])):
        lane = task_lanes.FIRST + 1
        call = ask(one, "call", lane=lane, time=at + 30, depth=2)["call"]
        assert (call["lane"], call["depth"], call["function"], call["begin_ns"]) == (lane, 2, PARSE, at + 20)
        parents = [(row["lane"], row["depth"], row["function"]) for row in call["parents"]]
        assert parents == [(lane, 1, functions[1]), (lane, 0, functions[0]), (thread, 0, LOOP)]
    assert ask(one, "call", lane=task_lanes.FIRST + 1, time=begins(1)[1] + 80)["call"] is None
    with pytest.raises(RequestError) as refused:
        ask(one, "call", lane=task_lanes.FIRST + TASKS, time=0)
    assert refused.value.status == 404


def test_the_table_of_runs_is_bounded(served: tuple[Served, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    one, _ = served
    monkeypatch.setattr(run_table, "_MOST_RUNS", 6)
    monkeypatch.setattr(run_table, "_MOST_ROOTS", 2)
    with funcgraph.open(one.path) as trace:
        table = trace.runs()
    assert (len(table), table.left_out) == (2, TASKS - 2)
    runs = [table.runs(root, 0, 2**63) for root in range(2)]
    assert sum(map(len, runs)) < 2 * STEPS
    for root in range(2):
        assert table.root(root).ran_ns == 70 * STEPS
        assert (runs[root][0].begin_ns, runs[root][-1].end_ns) == (
            BEGIN + begins(root)[0],
            BEGIN + begins(root)[-1] + 70,
        )


def test_a_trace_without_tasks_is_not_read_again(trace_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_table, "read_runs", lambda *_: pytest.fail("the trace was read again"))
    with opened(trace_path) as one:
        assert all(lane["kind"] == "thread" for lane in ask(one, "lanes")["lanes"])


def test_the_runs_of_a_trace_are_kept_with_its_index(
    served: tuple[Served, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of a trace that was cut off: of whatever has an index in the cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(index_cache, "LEAST_EVENTS", 1)

    def table() -> list[Any]:
        with funcgraph.open(served[0].path) as trace:
            found = trace.runs()
            return [(found.root(n), found.runs(n, 0, 2**63), found.left_out) for n in range(len(found))]

    first = table()
    assert len(first) == TASKS
    monkeypatch.setattr(run_table, "read_runs", lambda *_: pytest.fail("the trace was read again"))
    assert table() == first


# ---- CPUs of a kernel

KERNEL = Path(__file__).parents[1] / "tracedata" / "data"


@pytest.mark.parametrize("name", ["graph.dat", "two_instances.dat"])
def test_a_cpu_has_a_lane_with_what_each_thread_does_while_it_has_the_cpu(name: str) -> None:
    with opened(KERNEL / name) as one:
        lanes = [lane for lane in ask(one, "lanes")["lanes"] if lane["kind"] == "cpu"]
        for lane in lanes:
            # What an event says of itself is the other way to the same facts.
            where = [buffer.name for buffer in one.trace.buffers].index(lane["instance"])
            tasks = [task for task in one.trace.tasks if task.buffer == where]
            events = [
                event
                for event in one.trace.events(tasks=tasks)
                if event.task.lane % one.trace._cpus == lane["tid"] and event.kind in ("entry", "return")
            ]
            expected = [list(group) for _, group in groupby(events, lambda event: event.task.tid)]
            runs = task_lanes.task_lane(one, lane["number"]).runs(0, 2**63)
            assert [(run.end_ns, thread.task.tid) for run, thread in runs] == [
                (group[-1].time_ns, group[0].task.tid) for group in expected
            ]
            assert lane["calls"] == sum(event.kind == "entry" for event in events)
        assert len(lanes) == len({(task.buffer, task.lane) for task in one.trace.tasks})


def test_a_call_is_found_in_the_lane_of_its_cpu_and_in_that_of_its_thread() -> None:
    with opened(KERNEL / "graph.dat") as one:
        cpu = next(lane for lane in ask(one, "lanes")["lanes"] if lane["kind"] == "cpu")
        lane = task_lanes.task_lane(one, cpu["number"])
        whole = (one.begin_ns, one.begin_ns + one.duration_ns + 1)
        rows = task_lanes.spans(one, lane, *whole, 16000, (0, 100))
        for depth, begin_ns, function in list(zip(rows.depth, rows.begin_ns, rows.function, strict=True))[
            ::40
        ]:
            place = {"time": begin_ns - one.begin_ns, "depth": depth}
            call = ask(one, "call", lane=cpu["number"], **place)["call"]
            assert (call["function"], call["depth"]) == (function, depth)
            same = ask(one, "call", lane=call["thread"], **place)["call"]
            assert (same["begin_ns"], same["function"]) == (call["begin_ns"], function)
            assert "--task" in call["report"]
            assert ask(one, "flows", lane=cpu["number"], **place)["flows"] == []


def test_what_a_cpu_does_in_a_pixel_is_named_by_its_longest_run() -> None:
    with opened(KERNEL / "two_instances.dat") as one:
        cpu = next(lane for lane in ask(one, "lanes")["lanes"] if lane["name"] == "CPU 0")
        lane = task_lanes.task_lane(one, cpu["number"])
        rows = task_lanes.spans(one, lane, one.begin_ns, one.begin_ns + one.duration_ns + 1, 1, (0, 100))
        assert [one.functions[number].name for number in rows.function] == ["vfs_write"]
        assert list(rows.count) == [2]
        assert list(rows.busy_ns) == [cpu["ran_ns"]]


def test_the_shortest_runs_of_cpus_are_left_out_if_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run_table, "_MOST_RUNS", 2)
    with funcgraph.open(KERNEL / "graph.dat") as trace:
        table = trace.runs()
        kept = [run for root in range(len(table)) for run in table.runs(root, 0, 2**63)]
        assert [run.end_ns - run.begin_ns for run in kept] == [16459285, 2314526]
        assert [table.root(number).cpu for number in range(len(table))] == [1, 0]
        assert sum(table.root(number).calls for number in range(len(table))) == 835


@pytest.mark.parametrize("name", ["graph.dat", "two_instances.dat"])
@pytest.mark.parametrize("pixels", [1, 2**32 - 1], ids=["file", "index"])
def test_the_tree_of_a_cpu_has_its_calls_alone(name: str, pixels: int) -> None:
    """Each call is counted on the CPU where it began, its time on those where it ran.

    Broken by the thread's lane in place of the CPU's; by calls that count once for each run where the index
    is not exact; and by times below a caller that has ended.
    """
    with opened(KERNEL / name) as one, patch.object(run_tree, "_MAX_PIXELS", pixels):
        lanes = [lane for lane in ask(one, "lanes")["lanes"] if lane["kind"] == "cpu"]
        whole = (one.begin_ns, one.begin_ns + one.duration_ns + 1)
        for lane in lanes:
            rows = task_lanes.spans(
                one, task_lanes.task_lane(one, lane["number"]), *whole, 2**32 - 1, (0, 99)
            )
            figures = list(zip(rows.depth, rows.function, rows.resumed, rows.busy_ns, strict=True))
            table = ask(one, "table", lanes=lane["number"])["rows"]
            calls = Counter(one.canonical(function) for _, function, resumed, _ in figures if not resumed)
            assert {row[0]: row[1] for row in table if row[1]} == calls
            nodes = ask(one, "tree", lanes=lane["number"])["nodes"]
            assert all(0 <= node[4] <= node[3] for node in nodes)
            assert sum(node[4] for node in nodes) == busy_ns(rows)
        alone = [ask(one, "table", lanes=lane["number"])["rows"] for lane in lanes]
        together = ask(one, "table", lanes=",".join(str(lane["number"]) for lane in lanes))["rows"]
        assert sum(row[1] for row in together) == sum(row[1] for rows in alone for row in rows)


def busy_ns(rows: Any) -> int:
    """Return for how long any call runs."""
    total, until = 0, 0
    times = zip(rows.begin_ns, rows.end_ns, rows.busy_ns, strict=True)
    for begin, end in sorted((begin, end) for begin, end, busy in times if busy):
        total += max(end - max(begin, until), 0)
        until = max(until, end)
    return total


def test_the_tree_of_a_task_begins_at_the_task(served: tuple[Served, Any]) -> None:
    one, (root, waiter, leaf) = served
    lane, part = task_lanes.FIRST + 1, {"begin": begins(1)[1] + 20, "end": begins(1)[2] + 100}
    nodes = ask(one, "tree", lanes=lane)["nodes"]
    assert [node[:5] for node in nodes] == [
        [-1, root, 1, 70 * STEPS, 20 * STEPS], [0, waiter, 1, 50 * STEPS, 20 * STEPS],
        [1, leaf, STEPS, 30 * STEPS, 30 * STEPS],
    ]  # fmt: skip
    nodes = ask(one, "tree", lanes=lane, **part)["nodes"]
    assert [node[1:4] for node in nodes] == [[root, 0, 120], [waiter, 0, 90], [leaf, 2, 60]]


def test_runs_of_a_tree_are_bounded() -> None:
    with opened(KERNEL / "graph.dat") as one, patch.object(run_tree, "_MOST_RUNS", 1):
        with pytest.raises(RequestError, match=r"runs in this part: select a range with at most 1$"):
            ask(one, "tree", lanes=task_lanes.FIRST)


# ---- what led to a call


def recorded(folder: Path, *words: str, program: str = "tasks") -> Path:
    command = [sys.executable, "-m", "funcgraph", "record", "-q", "-o", "t.fg", "-l", "__main__.*", *words]
    subprocess.run([*command, str(PROGRAMS / f"{program}.py")], check=True, timeout=60, cwd=folder)
    return folder / "t.fg"


def flows_of(served: Served, name: str) -> list[tuple[str, str | None, str]]:
    """What led to the first call of a function."""
    number = [function.qualname for function in served.functions].index(name)
    call = ask(served, "step", function=number, time=0, direction="next")["call"]
    place = {"lane": call["lane"], "time": call["begin_ns"], "depth": call["depth"]}
    found = ask(served, "flows", **place)["flows"]
    names = [function.qualname for function in served.functions]
    return [
        (flow["kind"], flow["call"] and names[flow["call"]["function"]], flow["record"]) for flow in found
    ]


@needs_gil("asyncio's events are EOPNOTSUPP")
def test_a_call_leads_to_what_awaits_it_created_its_task_and_started_its_thread(tmp_path: Path) -> None:
    events = ("-e", "asyncio:task_create", "-e", "asyncio:task_switch", "-l", "threading.Thread.start")
    with opened(recorded(tmp_path, *events)) as one:
        assert flows_of(one, "read") == [("awaited", "handler", ""), ("created", "spawn", "")]
        assert flows_of(one, "handler") == [("created", "spawn", "")]
        assert flows_of(one, "spawn") == [("created", "work", "")]
        assert flows_of(one, "work") == [("started", "main", "")]
        assert flows_of(one, "main") == []


def test_a_callback_leads_to_the_call_that_scheduled_it(tmp_path: Path) -> None:
    handles = ("-l", "asyncio.events.Handle.__init__", "-l", "asyncio.events.Handle._run", "--args")
    with opened(recorded(tmp_path, *handles, program="callbacks")) as one:
        scheduled = {
            name: [flow[1:] for flow in flows_of(one, name) if flow[0] == "scheduled"]
            for name in ("at_once", "later", "readable", "from_thread")
        }
        assert scheduled == {
            "at_once": [("main", "")],  # by call_soon
            "later": [("main", "")],  # by call_later
            "readable": [("main", "")],  # by add_reader
            "from_thread": [("other", "")],  # by call_soon_threadsafe
        }
        # What woke the task: its future got a result there.
        number = [function.qualname for function in one.functions].index("main")
        readable = [function.qualname for function in one.functions].index("readable")
        first = ask(one, "step", function=number, time=0, direction="next")["call"]
        woken = ask(one, "step", function=number, time=first["end_ns"], direction="next")["call"]
        place = {"lane": woken["lane"], "time": woken["begin_ns"], "depth": woken["depth"]}
        found = ask(one, "flows", **place)["flows"]
        assert [flow["call"]["function"] for flow in found if flow["kind"] == "scheduled"] == [readable]


def test_a_callback_of_a_trace_without_handles_says_how_to_record_them(tmp_path: Path) -> None:
    with opened(recorded(tmp_path, "-l", "asyncio.events.Handle._run", program="callbacks")) as one:
        flags = "-l asyncio.events.Handle.__init__ -l asyncio.events.Handle._run --args"
        assert ("scheduled", None, flags) in flows_of(one, "later")


def test_what_the_trace_has_not_is_told_with_the_flags_that_record_it(tmp_path: Path) -> None:
    with opened(recorded(tmp_path)) as one:
        tasks = ("created", None, "-e asyncio:task_create -e asyncio:task_switch")
        assert flows_of(one, "read") == [("awaited", "handler", ""), tasks]
        assert flows_of(one, "work") == [("started", None, "-l threading.Thread.start")]


def test_the_line_of_the_call_is_marked_in_the_source_of_its_caller(tmp_path: Path) -> None:
    with opened(recorded(tmp_path, "-O", "funcgraph-retaddr")) as one:
        number = [function.qualname for function in one.functions].index("read")
        head = ask(one, "step", function=number, time=0, direction="next")["call"]
        call = ask(one, "call", lane=head["lane"], time=head["begin_ns"], depth=head["depth"])["call"]
        source = call["caller_source"]
        assert "await read(n)" in dict(source["lines"])[source["line"]]
