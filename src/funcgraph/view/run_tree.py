"""The merged call tree of a lane that is made of runs: of a task, a greenlet, or a CPU of a kernel.

Each run is a part of a thread's lane, and has the calls of the thread from the root's level on. A call that
goes on after a run is counted where it began.
"""

from __future__ import annotations

from funcgraph.page.path_tree import NO_PARENT, PathTree
from funcgraph.tracedata.call_index import Lane, SpanColumns
from funcgraph.tracedata.run_table import Run
from funcgraph.view.request_error import RequestError
from funcgraph.view.served import Served
from funcgraph.view.task_lanes import TaskLane
from funcgraph.view.window_tree import add_lane

__all__ = ["add_runs"]

_MOST_RUNS = 20_000  # of one answer
_MAX = _MAX_PIXELS = 2**32 - 1
_CELL, _RAISE = len(SpanColumns.ENDS), SpanColumns.ENDS.index("raise")


def add_runs(served: Served, made: PathTree, lane: TaskLane, begin_ns: int, end_ns: int) -> None:
    """Add the calls of a lane in a part of the time to a tree.

    Raises:
        RequestError: the part has too many runs.
    """
    runs = lane.runs(begin_ns, end_ns)
    if len(runs) > _MOST_RUNS:
        raise RequestError(
            404,
            f"the lane has {len(runs):,} runs in this part: select a range with at most {_MOST_RUNS:,}",
        )
    for run, thread in runs:
        _add_run(served, made, run, thread, (max(run.begin_ns, begin_ns), min(run.end_ns + 1, end_ns)))


def _add_run(served: Served, made: PathTree, run: Run, thread: Lane, part: tuple[int, int]) -> None:
    rows = served.index().spans(thread, *part, min(part[1] - part[0], _MAX_PIXELS), (run.depth, _MAX))
    if _CELL in rows.ended and served.has_times:
        add_lane(served, made, thread, *part, run.depth)
        return
    stack: list[tuple[int, int, int]] = []  # of the calls around: depth, end, place
    order = sorted(range(len(rows)), key=lambda row: (rows.begin_ns[row], rows.depth[row]))
    for row in order:
        begin, end, depth = rows.begin_ns[row], rows.end_ns[row], rows.depth[row]
        begins = part[0] <= begin and not rows.resumed[row]
        ran_ns = max(min(end, run.end_ns, part[1]) - max(begin, part[0]), 0) if served.has_times else begins
        while stack and (stack[-1][0] >= depth or stack[-1][1] <= begin):  # a kernel's calls may lack callers
            stack.pop()
        above = stack[-1][2] if stack else NO_PARENT
        if stack and served.has_times:
            made.own_ns[above] -= ran_ns
        raises = rows.ended[row] == _RAISE and end <= run.end_ns
        function = served.canonical(rows.function[row])
        stack.append((depth, end, made.add(above, function, int(begins), ran_ns, int(raises))))
