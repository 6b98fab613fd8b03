"""Which functions and calls a picture of a call graph shows, so that a person can read it."""

from __future__ import annotations

from colorsys import hls_to_rgb
from dataclasses import dataclass

from funcgraph.export.call_graph import NOBODY, CallGraph, Edge
from funcgraph.tracedata.summary import FunctionSummary, duration_text

#: Of the whole, in percent. gprof2dot has the same.
FUNCTION_PERCENT, EDGE_PERCENT = 0.5, 0.1
#: More functions than this are no picture any longer.
MOST_FUNCTIONS = 60


@dataclass(frozen=True, slots=True)
class Pruned:
    """What is shown of a call graph.

    Attributes:
        functions: number -> figures, the slowest first.
        edges: (caller, callee) -> calls.
        left_out: how many functions are not shown.
        has_times: whether the trace has times; else shares are of calls.
        whole: the time, or number of calls, that is 100 percent.
    """

    functions: dict[int, FunctionSummary]
    edges: dict[tuple[int, int], Edge]
    left_out: int
    has_times: bool
    whole: int

    def share(self, item: FunctionSummary | Edge) -> float:
        """Return the share of the whole, from 0 to 1."""
        weight = item.calls
        if self.has_times:
            weight = item.first_ns if isinstance(item, Edge) else item.total_ns
        return min(weight / self.whole, 1.0) if self.whole else 0.0

    def figures(self, row: FunctionSummary) -> list[str]:
        """Return lines of text about a function: its times and calls."""
        lines = []
        if self.has_times:
            lines.append(f"{duration_text(row.total_ns)} ({100 * self.share(row):.1f}%)")
            lines.append(f"self {duration_text(row.self_ns)}")
        return [*lines, count_text(row.calls, row.resumes)]


def count_text(calls: int, resumes: int) -> str:
    """Return `3 calls` or `3 calls, 12 resumes`."""
    text = f"{calls:,} call{'' if calls == 1 else 's'}"
    return f"{text}, {resumes:,} resume{'' if resumes == 1 else 's'}" if resumes else text


def prune(graph: CallGraph, most: int = MOST_FUNCTIONS) -> Pruned:
    """Return the functions that took a share worth showing, and the calls between them."""
    has_times = graph.whole_ns > 0
    whole = graph.whole_ns if has_times else sum(row.calls for row in graph.figures.values())
    shown = Pruned({}, {}, 0, has_times, whole)
    by_share = sorted(graph.figures, key=lambda number: -shown.share(graph.figures[number]))
    worth = [n for n in by_share if 100 * shown.share(graph.figures[n]) >= FUNCTION_PERCENT][:most]
    functions = {number: graph.figures[number] for number in worth}
    edges = {
        (caller, callee): edge
        for (caller, callee), edge in graph.edges.items()
        if caller != NOBODY and caller in functions and callee in functions
        and (100 * shown.share(edge) >= EDGE_PERCENT or caller == callee)
    }  # fmt: skip
    return Pruned(functions, edges, len(graph.figures) - len(functions), has_times, whole)


def color(share: float) -> tuple[str, str]:
    """Return the colours of a function's box and of its text: the more time, the warmer."""
    heat = share**0.5
    hue, light = (210 - 205 * heat) / 360, 0.92 - 0.42 * heat
    box = "".join(f"{round(255 * part):02x}" for part in hls_to_rgb(hue, light, 0.75))
    return f"#{box}", "#ffffff" if light < 0.6 else "#1b1f24"


def remark(pruned: Pruned) -> str:
    """Return what to say about functions that are left out; "" if there are none."""
    if not pruned.left_out:
        return ""
    what = "time" if pruned.has_times else "calls"
    return (
        f"{pruned.left_out:,} functions are left out: with less than {FUNCTION_PERCENT} % of the {what}, "
        f"or beyond the first {MOST_FUNCTIONS}"
    )
