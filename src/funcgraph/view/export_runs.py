"""The lanes of tasks, greenlets and CPUs of an exported page: their runs, of which embedded_runs.js makes
them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from funcgraph.tracedata.call_index import Lane
from funcgraph.tracedata.run_table import Run
from funcgraph.view import task_lanes
from funcgraph.view.export_rows import Row, packed_columns
from funcgraph.view.served import Served
from funcgraph.view.task_lanes import TaskLane

__all__ = ["RunLane", "RunLanes", "packed_runs", "run_lanes"]

_MOST_RUNS = 200_000  # of a page


class PageRun(NamedTuple):
    """A run, in the part of the time that is exported.

    Attributes:
        begin_ns, end_ns: relative to the begin of the part, within it.
        place: that of the thread's lane in the page.
        depth: that of the root in the rows of that lane.
    """

    begin_ns: int
    end_ns: int
    place: int
    depth: int


class RunLane(NamedTuple):
    """A lane of runs.

    Attributes:
        lane: the lane of the whole trace.
        row: what the page says of it.
        runs: its runs in the part.
    """

    lane: TaskLane
    row: dict[str, Any]
    runs: list[PageRun]


class RunLanes(NamedTuple):
    """The lanes of runs of a page.

    Attributes:
        lanes: those that have a run in the part.
        left_out: how many more there was no room for.
    """

    lanes: list[RunLane]
    left_out: int

    def remarks(self) -> Iterator[str]:
        """Yield what is not there."""
        if self.left_out:
            yield f"lanes of tasks or CPUs that are left out: {self.left_out:,}"


def run_lanes(
    served: Served,
    lanes: Sequence[Lane],
    part: tuple[int, int],
    rows: Sequence[Sequence[Row]],
    *,
    is_numbered: bool,
) -> RunLanes:
    """Return the lanes of runs in a part.

    Args:
        served: the trace.
        lanes: those of the page's threads.
        part: begin and end, on the trace's clock.
        rows: those of each of these lanes.
        is_numbered: the rows have depths of their own, as functions are left out.
    """
    places = {lane.number: place for place, lane in enumerate(lanes)}
    threads = [_Thread(lane_rows) for lane_rows in rows]
    made: list[RunLane] = []
    room, left_out = _MOST_RUNS, 0
    for row in task_lanes.rows(served)["lanes"]:
        lane = task_lanes.task_lane(served, row["number"])
        runs = list(_runs(served, lane, places, part, threads if is_numbered else None))
        if len(runs) > room:
            left_out += 1
        elif runs:
            room -= len(runs)
            shown = {**_row(row, runs, threads, places), "number": len(lanes) + len(made)}
            made.append(RunLane(lane, shown, runs))
    return RunLanes(made, left_out)


def packed_runs(runs: Sequence[PageRun]) -> bytes:
    """Return the columns of runs."""
    begins = [run.begin_ns for run in runs]
    return packed_columns(
        (after - before for before, after in zip([0, *begins], begins, strict=False)),
        (run.end_ns - run.begin_ns for run in runs),
        (run.place for run in runs),
        (run.depth for run in runs),
    )


class _Thread:
    """The calls of a thread's lane, by the time of their begins."""

    def __init__(self, rows: Iterable[Row]) -> None:
        begun = sorted((row.begin_ns, row.depth, row.count, row.function) for row in rows if not row.resumed)
        self._begins = [row[0] for row in begun]
        self._calls = begun
        self._depths = {(begin, function): depth for begin, depth, _, function in begun}
        self._depths |= {(row.begin_ns, row.function): row.depth for row in rows if row.resumed}

    def depth_of(self, begin_ns: int, function: int) -> int | None:
        """Return the depth of a function's call, or part of one, that begins at a time; None: it has none."""
        return self._depths.get((begin_ns, function))

    def begun_in(self, run: PageRun) -> tuple[int, int]:
        """Return how many calls begin in a run, and how many levels these have."""
        first, last = bisect_left(self._begins, run.begin_ns), bisect_right(self._begins, run.end_ns)
        found = [(depth, count) for _, depth, count, _ in self._calls[first:last] if depth >= run.depth]
        return sum(count for _, count in found), max((depth for depth, _ in found), default=0) - run.depth + 1


def _runs(
    served: Served,
    lane: TaskLane,
    places: Mapping[int, int],
    part: tuple[int, int],
    threads: Sequence[_Thread] | None,
) -> Iterator[PageRun]:
    """Yield the runs of a lane in a part; `threads`: have the depths of roots, if rows are numbered."""
    root = None if lane.root.cpu is not None else served.canonical(lane.root.function)
    for run, thread in lane.runs(*part):
        place = places.get(thread.number)
        if place is None:
            continue
        begin_ns, end_ns = max(run.begin_ns, part[0]) - part[0], min(run.end_ns, part[1]) - part[0]
        depth = _depth(run, begin_ns, root, threads[place] if threads else None)
        if depth is not None:
            yield PageRun(begin_ns, end_ns, place, depth)


def _depth(run: Run, begin_ns: int, root: int | None, thread: _Thread | None) -> int | None:
    return run.depth if root is None or thread is None else thread.depth_of(begin_ns, root)


def _row(
    row: dict[str, Any], runs: Sequence[PageRun], threads: Sequence[_Thread], places: Mapping[int, int]
) -> dict[str, Any]:
    """Return what the page says of a lane: of its runs in the part."""
    begun = [threads[run.place].begun_in(run) for run in runs]
    thread = {"thread": places.get(row["thread"], runs[0].place)} if "thread" in row else {}
    return {
        **row,
        **thread,
        "begin_ns": runs[0].begin_ns,
        "end_ns": runs[-1].end_ns,
        "calls": sum(calls for calls, _ in begun),
        "spans": len(runs),
        "depths": max(row["depths"], *(levels for _, levels in begun)),
        "ran_ns": sum(run.end_ns - run.begin_ns for run in runs),
        "buffer": None,
    }
