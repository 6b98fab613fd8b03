"""Lanes of asyncio's tasks and of greenlets: parts of threads' lanes, while each of them runs. A CPU of a
kernel's trace has a lane, too: of parts of all threads' lanes.

A task's lane has the number `FIRST` + that of its root, so that numbers of threads may grow. Its level 0 is
the root: its level in the thread changes from run to run. A CPU has whole threads.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from typing import Any, NamedTuple

from funcgraph.tracedata.call_index import CallIndex, Lane, Mark, Span, SpanColumns
from funcgraph.tracedata.run_table import Root, Run, RunTable
from funcgraph.view.request_error import RequestError
from funcgraph.view.served import Served

__all__ = ["FIRST", "TaskLane", "is_task", "marks", "rows", "running", "span_head", "spans", "task_lane"]

FIRST = 1 << 20
_MOST_LANES = 1000
_MOST_MARKED = 1000  # runs of which marks are looked up
_MOST_TRIED = 3  # runs that are asked for the function of a cell
_CELL, _SUSPEND = len(SpanColumns.ENDS), SpanColumns.ENDS.index("suspend")
_KINDS = {"coroutine": "task", "greenlet": "greenlet"}


class TaskLane(NamedTuple):
    """A lane of a task, a greenlet or a CPU.

    Attributes:
        root: what runs in it.
        table: the runs of all.
        threads: the threads' lanes by the numbers of their tasks.
    """

    root: Root
    table: RunTable
    threads: dict[int, Lane]

    @property
    def number(self) -> int:
        """The lane's number."""
        return FIRST + self.root.number

    def runs(self, begin_ns: int, end_ns: int) -> list[tuple[Run, Lane]]:
        """Return the runs in a part, each with the lane of its thread."""
        found = self.table.runs(self.root.number, begin_ns, end_ns)
        return [(run, self.threads[run.task]) for run in found if run.task in self.threads]

    def run_at(self, time_ns: int) -> tuple[Run, Lane] | None:
        """Return the run at a time; None: the task does not run then."""
        run = self.table.run_at(self.root.number, time_ns)
        return (run, self.threads[run.task]) if run and run.task in self.threads else None


class _Kept(NamedTuple):
    """The table of a trace, with the index that it was made for."""

    made_for: CallIndex
    table: RunTable
    threads: dict[int, Lane]


def is_task(number: int) -> bool:
    """Whether a lane's number is that of a task, a greenlet or a CPU."""
    return number >= FIRST


def rows(served: Served) -> dict[str, Any]:
    """Return the lanes of the tasks that ran longest, or of CPUs, and how many others there are."""
    kept = _kept(served)
    numbers = kept.table.longest(_MOST_LANES)
    lanes = [TaskLane(kept.table.root(number), kept.table, kept.threads) for number in numbers]
    found = [row for lane in lanes if (row := _row(served, lane))]
    _number_names(found)
    left_out = len(kept.table) - len(numbers) + kept.table.left_out
    return {"lanes": found, "left_out": left_out}


def task_lane(served: Served, number: int) -> TaskLane:
    """Return a lane by its number. Raises RequestError: there is none."""
    kept = _kept(served)
    if not 0 <= number - FIRST < len(kept.table):
        raise RequestError(404, f"no lane {number}: the trace has no such task")
    return TaskLane(kept.table.root(number - FIRST), kept.table, kept.threads)


def _row(served: Served, lane: TaskLane) -> dict[str, Any] | None:
    root, found = lane.root, lane.runs(lane.root.begin_ns, lane.root.end_ns + 1)
    if not found:
        return None
    thread = found[0][1]
    buffers = served.trace.buffers
    if root.cpu is not None:
        whose = {"kind": "cpu", "process": "", "pid": 0, "name": f"CPU {root.cpu}", "tid": root.cpu}
    else:
        whose = {
            "kind": _KINDS[root.kind],
            "process": thread.task.process,
            "pid": thread.task.pid,
            "name": served.functions[root.function].qualname if root.function < len(served.functions) else "",
            "tid": thread.task.tid,
            "thread": thread.number,
        }
    return {
        "number": lane.number,
        **whose,
        "begin_ns": root.begin_ns - served.begin_ns,
        "end_ns": root.end_ns - served.begin_ns,
        "calls": root.calls,
        "spans": root.runs,
        "depths": root.depths,
        "ran_ns": root.ran_ns,
        "instance": buffers[thread.task.buffer].name if thread.task.buffer < len(buffers) else "",
    }


def _number_names(rows: list[dict[str, Any]]) -> None:
    """Number the lanes of one thread that have one name."""
    rows = [row for row in rows if "thread" in row]
    counts = Counter((row["thread"], row["name"]) for row in rows)
    latest: Counter[tuple[int, str]] = Counter()
    for row in rows:
        key = (row["thread"], row["name"])
        latest[key] += 1
        if counts[key] > 1:
            row["name"] += f" {latest[key]}"


def _kept(served: Served) -> _Kept:
    """Return the table for the index as it is now, which is made once."""
    index, table = served.index(), served.runs()
    with served.run_lock:
        kept = served.kept_runs
        if not isinstance(kept, _Kept) or kept.made_for is not index:
            numbers = {task: number for number, task in enumerate(served.trace.tasks)}
            threads = {numbers.get(lane.task, -1): lane for lane in index.lanes()}
            served.kept_runs = kept = _Kept(index, table, threads)
    return kept


# ---- pictures


class _Rows:
    """Rows of a picture, as SpanColumns has them."""

    def __init__(self) -> None:
        self._by_depth: dict[int, list[tuple[int, ...]]] = defaultdict(list)

    def add(self, depth: int, row: tuple[int, ...]) -> None:
        """Add begin, end, busy, count, function, ended and resumed of a row."""
        self._by_depth[depth].append(row)

    def columns(self) -> SpanColumns:
        """Return the rows, by depth and time."""
        found = [(depth, row) for depth in sorted(self._by_depth) for row in sorted(self._by_depth[depth])]
        columns = list(zip(*(row for _, row in found), strict=True)) or [()] * 7
        begin, end, busy, count, function, ended, resumed = columns
        made = SpanColumns.__new__(SpanColumns)
        for name, format, values in (
            ("begin_ns", "Q", begin),
            ("end_ns", "Q", end),
            ("busy_ns", "Q", busy),
            ("count", "I", count),
            ("function", "I", function),
            ("depth", "I", [depth for depth, _ in found]),
            ("ended", "B", ended),
            ("resumed", "B", resumed),
        ):
            setattr(made, name, memoryview(array(format, values)))
        return made


def spans(
    served: Served, lane: TaskLane, begin_ns: int, end_ns: int, pixels: int, depths: tuple[int, int]
) -> SpanColumns:
    """Return what a picture of a part of a lane shows. Runs that are shorter than a pixel are counted in
    cells, so at most `pixels` runs are looked at one by one."""
    pixel_ns = (end_ns - begin_ns) / pixels
    made, short = _Rows(), defaultdict[int, list[tuple[Run, Lane]]](list)
    for run, thread in lane.runs(begin_ns, end_ns):
        if run.end_ns - run.begin_ns < pixel_ns:
            short[int((run.begin_ns - begin_ns) / pixel_ns)].append((run, thread))
        else:
            _add_run(served, made, run, thread, (begin_ns, end_ns, pixel_ns), depths)
    if depths[0] == 0:
        for slot, runs in short.items():
            function = _function_of_cell(served, lane, runs)
            if function is not None:
                begin = max(begin_ns + int(slot * pixel_ns), runs[0][0].begin_ns)
                end = max(runs[-1][0].end_ns, begin + 1)
                busy_ns = sum(run.end_ns - run.begin_ns for run, _ in runs)
                made.add(0, (begin, end, busy_ns, len(runs), function, _CELL, 0))
    return made.columns()


def _function_of_cell(served: Served, lane: TaskLane, runs: list[tuple[Run, Lane]]) -> int | None:
    """Return the function of a cell of runs: the root; of a CPU what the thread does in the longest run that
    has calls. None: no thread has."""
    if lane.root.cpu is None:
        return lane.root.function
    runs = sorted(runs, key=lambda one: one[0].begin_ns - one[0].end_ns)
    for run, thread in runs[:_MOST_TRIED]:
        rows = served.index().spans(thread, run.begin_ns, run.end_ns + 1, 1, (0, 0))
        if len(rows):
            return rows.function[0]
    return None


def _add_run(
    served: Served,
    made: _Rows,
    run: Run,
    thread: Lane,
    part: tuple[int, int, float],
    depths: tuple[int, int],
) -> None:
    """Add what the thread did during a run, from the root's level on. A call that goes on after the run of a
    CPU is as one that is suspended there."""
    begin_ns, end_ns = max(run.begin_ns, part[0]), min(run.end_ns, part[1])
    end_ns = max(end_ns, begin_ns + 1)
    pixels = max(math.ceil((end_ns - begin_ns) / part[2]), 1)
    first, last = run.depth + depths[0], min(run.depth + depths[1], 2**32 - 1)
    rows = served.index().spans(thread, begin_ns, end_ns, pixels, (first, last))
    columns = (rows.begin_ns, rows.end_ns, rows.busy_ns, rows.count, rows.function, rows.depth)
    for place, (first_ns, last_ns, busy, count, function, depth) in enumerate(zip(*columns, strict=True)):
        ended, resumed = rows.ended[place], int(rows.resumed[place])
        begin, end = max(first_ns, run.begin_ns), min(last_ns, run.end_ns)
        if ended != _CELL:
            resumed |= begin > first_ns
            ended = _SUSPEND if end < last_ns else ended
        if begin <= end:
            ran_ns = busy if ended == _CELL else min(busy, end - begin)
            made.add(depth - run.depth, (begin, end, ran_ns, count, function, ended, resumed))


def marks(served: Served, lane: TaskLane, begin_ns: int, end_ns: int, most: int) -> list[Mark]:
    """Return the marks of the first runs of a part."""
    found: list[Mark] = []
    for run, thread in lane.runs(begin_ns, end_ns)[:_MOST_MARKED]:
        begin, end = max(run.begin_ns, begin_ns), min(run.end_ns + 1, end_ns)
        if len(found) < most and begin < end:
            found += served.index().marks(thread, begin, end, most=most - len(found))
    return found


# ---- calls


def running(served: Served, thread: int, time_ns: int) -> TaskLane | None:
    """Return the task that runs in a thread's lane at a time; of several the one that began last."""
    kept = _kept(served)
    if served.trace.is_kernel:
        return None
    for number in reversed(kept.table.alive(time_ns)):
        lane = TaskLane(kept.table.root(number), kept.table, kept.threads)
        run = lane.run_at(time_ns)
        if run is not None and run[1].number == thread:
            return lane
    return None


def span_head(lane: TaskLane, span: Span, head: dict[str, Any]) -> dict[str, Any]:
    """Return what is known of a call with its place in a task's lane, if it is in a run of the task."""
    run = lane.run_at(span.begin_ns)
    if run is None or run[1].number != span.lane or span.depth < run[0].depth:
        return head
    return {**head, "lane": lane.number, "depth": span.depth - run[0].depth}
