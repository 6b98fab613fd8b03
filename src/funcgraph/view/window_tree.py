"""The merged call tree of a part of the time: calls that reach out of the part count with what is in it.

A tree that is made of the events of a part knows nothing of calls that span it, and has whole durations of
those that begin or end in it. So the part is cut where such calls begin and end. Within each piece only calls
around all of it are left, which the index knows, and calls that lie in it. Few of these come from the
index, many from the file.
"""

from __future__ import annotations

from itertools import pairwise

from funcgraph.page import path_tree
from funcgraph.page.path_tree import NO_PARENT, PathTree
from funcgraph.tracedata.call_index import CallIndex, Lane, Span, SpanColumns
from funcgraph.tracedata.call_tree import CallTree
from funcgraph.tracedata.selection import Selection
from funcgraph.view.call_detail import time_text
from funcgraph.view.served import Served

__all__ = ["add_call_tree", "add_lane", "whole_tree", "window_tree"]

_MOST_SPANS = 20_000  # of a piece, that come from the index
_COUNT_PIXELS = 64
_MOST_CUT = 64  # calls that reach out: the time of those within them counts as that of the last one
_MAX_PIXELS = 2**32 - 1
_ENDS = len(SpanColumns.ENDS)
_RAISE = SpanColumns.ENDS.index("raise")


def whole_tree(served: Served, lanes: list[Lane] | None) -> PathTree:
    """Return the tree of lanes, None for all of the first instance that has calls."""
    made = PathTree()
    file = served.reader()
    tasks = None if lanes is None else served.tasks_of(lanes)
    buffers = served.call_buffers()[:1] if lanes is None else None
    add_call_tree(served, made, file.call_tree(tasks=tasks, buffers=buffers), NO_PARENT)
    return made


def window_tree(served: Served, lanes: list[Lane], begin_ns: int, end_ns: int) -> PathTree:
    """Return the tree of lanes within a part of the time."""
    made = PathTree()
    if not served.has_times:
        tasks = served.tasks_of(lanes)
        select = Selection(begin=time_text(served, begin_ns), end=time_text(served, end_ns))
        add_call_tree(served, made, served.reader().call_tree(tasks=tasks, select=select), NO_PARENT)
        return made
    for lane in lanes:
        if lane.begin_ns < end_ns and lane.end_ns > begin_ns:
            add_lane(served, made, lane, max(begin_ns, lane.begin_ns), min(end_ns, lane.end_ns))
    return made


def add_call_tree(served: Served, made: PathTree, tree: CallTree, below: int) -> int:
    """Add a tree below a path; return how much time it has."""
    numbers = [served.number_or_unknown(function) for function in tree.functions]
    roots = [below] * len(tree.groups)
    path_tree.add_call_tree(made, tree, numbers, roots, has_times=served.has_times)
    return sum(tree.self_ns)


def add_lane(
    served: Served, made: PathTree, lane: Lane, begin_ns: int, end_ns: int, run_depth: int | None = None
) -> None:
    """Add the calls of a thread in a part of the time to a tree.

    Args:
        served, made, lane: the trace, the tree, and the lane of the thread.
        begin_ns, end_ns: the part.
        run_depth: it is a run of a task or a CPU: from which depth on, and calls that began before it do not
            count again. None: it is a part that a person chose, in which all calls in it count.
    """
    index = served.index()
    cuts = {begin_ns, end_ns}
    for time_ns in (begin_ns, end_ns - 1, end_ns):  # also calls that end with the part
        spans = _in_progress(index, lane, time_ns)
        reaching = [s for s in spans if s.begin_ns > begin_ns or s.end_ns < end_ns]
        for span in reaching[:_MOST_CUT]:
            cuts.update(time for time in (span.begin_ns, span.end_ns) if begin_ns < time < end_ns)
    for begin, end in pairwise(sorted(cuts)):
        _add_piece(served, made, lane, (begin, end), run_depth, is_first=begin == begin_ns)


def _in_progress(index: CallIndex, lane: Lane, time_ns: int) -> list[Span]:
    """Return the spans in progress at a time, the outermost first."""
    innermost = index.call_at(lane, time_ns)
    return [] if innermost is None else [*reversed(index.parents(innermost)), innermost]


def _add_piece(
    served: Served,
    made: PathTree,
    lane: Lane,
    part: tuple[int, int],
    run_depth: int | None,
    *,
    is_first: bool,
) -> None:
    """Add a piece in which no call reaches out, but those around all of it."""
    index, (begin_ns, end_ns), least_depth = served.index(), part, run_depth or 0
    is_first = is_first and run_depth is None
    around = [
        span
        for span in _in_progress(index, lane, begin_ns)
        if span.begin_ns <= begin_ns and span.end_ns >= end_ns and span.depth >= least_depth
    ]
    below = NO_PARENT
    for span in around:
        begins = not span.resumed and (is_first or span.begin_ns == begin_ns)
        raises = span.ended == "raise" and span.end_ns == end_ns
        below = made.add(below, served.number_or_unknown(span.function), int(begins), 0, int(raises))
    depth = around[-1].depth + 1 if around else least_depth
    inside_ns = _add_calls(served, made, lane, part, depth, below)
    if below != NO_PARENT:
        made.own_ns[below] += max(end_ns - begin_ns - inside_ns, 0)


def _add_calls(
    served: Served, made: PathTree, lane: Lane, part: tuple[int, int], depth: int, below: int
) -> int:
    """Add the calls that lie in a part, from a depth on; return how much time they have."""
    index = served.index()
    depths = (depth, 2**32 - 1)
    if sum(index.spans(lane, *part, _COUNT_PIXELS, depths).count) <= _MOST_SPANS:
        rows = index.spans(lane, *part, min(part[1] - part[0], _MAX_PIXELS), depths)
        if _ENDS not in rows.ended:
            return _add_spans(served, made, rows, part, below)
    tasks = served.tasks_of([lane])
    if not tasks:
        return 0
    # At the ends of a piece are events of calls that reach out of it.
    begin_ns, end_ns = part[0] + 1, part[1] - 1
    if begin_ns > end_ns:
        return 0
    select = Selection(begin=time_text(served, begin_ns), end=time_text(served, end_ns))
    return add_call_tree(served, made, served.reader().call_tree(tasks=tasks, select=select), below)


def _add_spans(served: Served, made: PathTree, rows: SpanColumns, part: tuple[int, int], below: int) -> int:
    """Add spans that lie in a part; return how much time the outermost have."""
    outermost_ns = 0
    stack: list[tuple[int, int, int]] = []  # of the spans around: depth, end, place
    for row in _inside(rows, part):
        begin, end, depth = rows.begin_ns[row], rows.end_ns[row], rows.depth[row]
        ns = end - begin
        while stack and (stack[-1][0] >= depth or stack[-1][1] <= begin):  # a kernel's calls may lack callers
            stack.pop()
        above = stack[-1][2] if stack else below
        if stack:
            made.own_ns[above] -= ns
        else:
            outermost_ns += ns
        figures = (int(not rows.resumed[row]), ns, int(rows.ended[row] == _RAISE))
        stack.append((depth, end, made.add(above, served.canonical(rows.function[row]), *figures)))
    return outermost_ns


def _inside(rows: SpanColumns, part: tuple[int, int]) -> list[int]:
    """Return the rows of spans that lie in a part, callers before callees."""
    begin_ns, end_ns = part
    places = [
        row
        for row in range(len(rows))
        if begin_ns <= rows.begin_ns[row] < end_ns and rows.end_ns[row] <= end_ns
    ]
    return sorted(places, key=lambda row: (rows.begin_ns[row], rows.depth[row]))
