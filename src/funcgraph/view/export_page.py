"""A selection of a trace as one page that needs no server: `funcgraph view --export`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from funcgraph.page import path_tree
from funcgraph.page.embedded import embedded_page, page_head
from funcgraph.page.path_tree import PathTree
from funcgraph.page.waiting_functions import is_waiting
from funcgraph.tracedata.call_index import Lane
from funcgraph.tracedata.description import SelectionError
from funcgraph.tracedata.run_table import COROUTINE, SUSPENDS
from funcgraph.tracedata.selection import Selection, select
from funcgraph.view import answers
from funcgraph.view.export_links import Links, links_of
from funcgraph.view.export_rows import Row, numbered_depths, packed_rows, rows_of_lanes
from funcgraph.view.export_runs import RunLane, packed_runs, run_lanes
from funcgraph.view.export_values import Values, values_of
from funcgraph.view.parameters import Parameters
from funcgraph.view.served import Served
from funcgraph.view.source_lines import source_of
from funcgraph.view.tree_query import limits
from funcgraph.view.window_tree import whole_tree, window_tree

__all__ = ["MOST_BYTES", "export_page"]

#: How large a page may be. A browser opens it in some seconds.
MOST_BYTES = 20_000_000

_MOST_ROWS = 1_500_000  # what a browser holds without effort: 50 bytes each
_LEAST_ROW_BYTES = 4  # that a row takes in a page, with few exceptions: a first guess of how many have room
_MOST_PATHS = 20_000
_MOST_MARKS = 2000  # of a lane
_MAX_TIME = 2**64 - 1


class _Part(NamedTuple):
    """What is exported.

    Attributes:
        lanes: which lanes.
        begin_ns, end_ns: on the trace's clock.
        functions: the numbers of the functions; None: all.
        is_whole: it is all of the trace.
    """

    lanes: list[Lane]
    begin_ns: int
    end_ns: int
    functions: set[int] | None
    is_whole: bool

    @property
    def times(self) -> tuple[int, int]:
        return self.begin_ns, self.end_ns


def export_page(
    served: Served,
    selection: Selection,
    *,
    has_source: bool = False,
    most_bytes: int = MOST_BYTES,
    first: str = "",
    progress: Callable[[float], object] | None = None,
) -> tuple[str, list[str]]:
    """Return a page of a trace, and what had to be left out of it.

    Args:
        served: the trace; its index is made if it is not there.
        selection: of its tasks, buffers, times and functions.
        has_source: the page has the source of functions, too.
        most_bytes: how large it may be.
        first: what it shows first, as the fragment of a page's address: `tab=flame`.
        progress: called with the share of the index that is there, 0 to 1.

    Raises:
        SelectionError: the trace has nothing of that.
        TraceError, OSError: it cannot be read.
    """
    served.make_index(progress)
    part = _part(served, selection)
    tree = _tree(served, part)
    values = values_of(served, part.lanes, part.times, selection.functions, most_bytes // 2)
    sources = _sources(served, tree, most_bytes // 10) if has_source else {}
    most_rows = min(_MOST_ROWS, most_bytes // _LEAST_ROW_BYTES)
    while True:
        rows, short_ns = _rows(served, part, most_rows)
        if not any(rows):
            raise SelectionError("the selection has no calls")
        runs = run_lanes(served, part.lanes, part.times, rows, is_numbered=part.functions is not None)
        links = links_of(served, part.lanes, runs.lanes, part.times)
        remarks = [*_remarks(rows, short_ns), *values.remarks(), *runs.remarks(), *links.remarks()]
        head, columns = _contents(served, part, rows, (runs.lanes, links), tree, values, sources, remarks)
        text = embedded_page(head, columns, title=f"{head['file']} - funcgraph view", first=first)
        if len(text) <= most_bytes or most_rows < 1000:
            return text, remarks
        most_rows = min(most_rows, sum(map(len, rows))) // 2


def _part(served: Served, selection: Selection) -> _Part:
    trace = served.trace
    chosen = select(trace, selection)
    lanes = [
        lane
        for lane in served.index().lanes()
        if (chosen.tasks is None or lane.task in chosen.tasks)
        and (chosen.buffers is None or lane.task.buffer in chosen.buffers)
    ]
    first, last = (chosen.events[3], chosen.events[4]) if chosen.events else (0, _MAX_TIME)
    begin_ns = max(first, served.begin_ns)
    end_ns = min(last, served.begin_ns + served.duration_ns) + 1
    if end_ns <= begin_ns:
        raise SelectionError("the trace has no event in this time")
    functions = None
    if selection.functions and chosen.events:
        functions = {served.canonical(number) for number, mark in enumerate(chosen.events[0]) if mark}
    is_whole = (
        functions is None
        and len(lanes) == len(served.index().lanes())
        and (begin_ns, end_ns) == (served.begin_ns, served.begin_ns + served.duration_ns + 1)
    )
    return _Part(lanes, begin_ns, end_ns, functions, is_whole)


def _tree(served: Served, part: _Part) -> PathTree:
    """Return the merged call tree of the part: of the first instance, if it has several."""
    if part.is_whole:
        tree = whole_tree(served, None)
    else:
        tree = window_tree(served, _call_lanes(served, part), *part.times)
    if part.functions is not None:
        unknown = len(served.functions)
        others = {number for number in tree.function if number not in part.functions or number == unknown}
        tree = path_tree.hide(tree, others)
    return path_tree.largest(tree, _MOST_PATHS, tree.total_ns())[0]


def _call_lanes(served: Served, part: _Part) -> list[Lane]:
    first = served.call_lanes()
    return [lane for lane in part.lanes if lane in first] or part.lanes


def _rows(served: Served, part: _Part, most: int) -> tuple[list[list[Row]], int]:
    rows, short_ns = rows_of_lanes(served.index(), part.lanes, part.times, most)
    rows = [[row._replace(function=served.canonical(row.function)) for row in lane] for lane in rows]
    if part.functions is not None:
        rows = [numbered_depths(lane, part.functions) for lane in rows]
    return rows, short_ns


def _remarks(rows: Sequence[Sequence[Row]], short_ns: int) -> Iterator[str]:
    if short_ns:
        short = sum(row.count for lane in rows for row in lane if row.count > 1)
        yield f"{short:,} calls shorter than {short_ns / 1000:g} us are shown only as how much time they take"


def _sources(served: Served, tree: PathTree, most_bytes: int) -> dict[int, Any]:
    """Return the source of functions, of those that are called most first, up to a size."""
    found: dict[int, Any] = {}
    size = 0
    for number in dict.fromkeys(n for n in tree.function if 0 <= n < len(served.functions)):
        source = source_of(served.functions[number])
        if source is None:
            continue
        size += sum(len(text) for _, text in source["lines"])
        if size > most_bytes:
            break
        found[number] = source
    return found


def _contents(
    served: Served,
    part: _Part,
    rows: Sequence[Sequence[Row]],
    lanes: tuple[Sequence[RunLane], Links],
    tree: PathTree,
    values: Values,
    sources: dict[int, Any],
    remarks: Sequence[str],
) -> tuple[dict[str, Any], list[bytes]]:
    """Return the head of the page and its columns."""
    (runs, links), marks = lanes, _marks(served, part)
    used = {row.function for lane in rows for row in lane} | set(tree.function)
    used |= {mark["function"] for lane in marks for mark in lane if mark["function"] is not None}
    kept = sorted(number for number in used if 0 <= number < len(served.functions))
    numbers = {number: place for place, number in enumerate(kept)}
    unknown = len(kept)

    def place_of(number: int) -> int:
        return number if number < 0 else numbers.get(number, unknown)

    for lane in marks:
        for mark in lane:
            mark["function"] = numbers.get(mark["function"])
    packed = [packed_rows([row._replace(function=place_of(row.function)) for row in lane]) for lane in rows]
    index, calls = served.index(), _calls(tree)
    functions = [
        {**row, "number": place, "calls": calls.get(row["number"], 0)}
        for place, row in enumerate(answers.function_rows(served, kept))
    ]
    function_limits = limits(served) if part.is_whole else {}
    head = page_head(
        _trace(served, part, rows, remarks),
        functions,
        [[parent, place_of(number), *figures] for parent, number, *figures in tree.rows()],
        has_times=served.has_times,
        lanes=[
            {**lane, "levels": levels}
            for lane, (levels, _) in zip(_lanes(served, part, rows), packed, strict=True)
        ],
        runs=[one.row for one in runs],
        links={
            kind: [[*row[:4], place_of(row[4]), row[5]] for row in found]
            for kind, found in links.rows.items()
        },
        suspending=_flagged(served, kept, SUSPENDS),
        coroutines=_flagged(served, kept, COROUTINE),
        call_lanes=[place for place, lane in enumerate(part.lanes) if lane in _call_lanes(served, part)],
        histograms={numbers[n]: index.histogram(served.functions[n]) for n in kept if part.is_whole},
        limits={numbers[n]: pair for n, pair in function_limits.items() if n in numbers},
        waiting=[place for place, number in enumerate(kept) if is_waiting(served.functions[number])],
        marks=marks,
        sources={numbers[n]: source for n, source in sources.items() if n in numbers},
        values=values.rows,
    )
    return head, [*(columns for _, columns in packed), *(packed_runs(one.runs) for one in runs)]


def _flagged(served: Served, kept: Sequence[int], flags: int) -> list[int]:
    """Return the places of the functions that have one of some flags."""
    return [place for place, number in enumerate(kept) if served.functions[number].flags & flags]


def _calls(tree: PathTree) -> dict[int, int]:
    calls: dict[int, int] = {}
    for _, function, count, _, _ in tree.rows():
        calls[function] = calls.get(function, 0) + count
    return calls


def _trace(
    served: Served, part: _Part, rows: Sequence[Sequence[Row]], remarks: Sequence[str]
) -> dict[str, Any]:
    """Return what the page says of the trace. Where it lies is nobody's business."""
    info = answers.traces([served])["traces"][0]
    calls = sum(row.count for lane in rows for row in lane if not row.resumed)
    name = info["name"] if part.is_whole else f"{info['name']} (a part)"
    return {
        **info,
        "number": 0,
        "name": name,
        "path": info["name"],
        "begin_ns": str(part.begin_ns),
        "duration_ns": part.end_ns - part.begin_ns - 1,
        "calls": calls,
        "events": info["events"] if part.is_whole else None,
        "state": "ready",
        "progress": 1.0,
        "first_ns": 0,
        "growing": False,
        "message": "; ".join(remarks),
    }


def _lanes(served: Served, part: _Part, rows: Sequence[Sequence[Row]]) -> list[dict[str, Any]]:
    every = {row["number"]: row for row in answers.lanes(served, Parameters([], ()))["lanes"]}
    names = [buffer.name for buffer in served.trace.buffers]
    made = []
    for place, (lane, lane_rows) in enumerate(zip(part.lanes, rows, strict=True)):
        end_ns = max(lane.end_ns, part.begin_ns)
        made.append(
            {
                **every[lane.number],
                "number": place,
                "begin_ns": max(lane.begin_ns - part.begin_ns, 0),
                "end_ns": min(end_ns, part.end_ns) - part.begin_ns,
                "calls": sum(row.count for row in lane_rows if not row.resumed),
                "spans": len(lane_rows),
                "depths": max((row.depth for row in lane_rows), default=-1) + 1,
                "buffer": names[lane.task.buffer] if len(names) > 1 else None,
            }
        )
    return made


def _marks(served: Served, part: _Part) -> list[list[dict[str, Any]]]:
    return [
        [
            {
                "kind": mark.kind,
                "time_ns": mark.time_ns - part.begin_ns,
                "count": mark.count,
                "function": served.number_of(mark.function),
            }
            for mark in served.index().marks(lane, *part.times, most=_MOST_MARKS)
            if part.functions is None
            or mark.kind != "raise"
            or served.number_of(mark.function) in part.functions
        ]
        for lane in part.lanes
    ]
