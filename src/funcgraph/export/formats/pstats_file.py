"""A profile for pstats.Stats, as cProfile dumps one."""

from __future__ import annotations

import marshal
from collections import defaultdict
from typing import BinaryIO, TypeAlias

from funcgraph.export.call_graph import NOBODY, call_graph
from funcgraph.export.format import Format
from funcgraph.export.source import Source
from funcgraph.export.trees import single_tree_of
from funcgraph.tracedata.description import Function

Label: TypeAlias = tuple[str, int, str]
Figures: TypeAlias = tuple[int, int, float, float]  # calls, outermost ones, own seconds, seconds with callees


def write(source: Source, out: BinaryIO) -> None:
    """Write the figures of each function, and those of its callers."""
    graph = call_graph(single_tree_of(source))
    labels = [_label(function) for function in graph.tree.functions]
    callers: dict[int, dict[Label, Figures]] = defaultdict(dict)
    for (caller, callee), edge in graph.edges.items():
        if caller != NOBODY:
            figures = (edge.calls, edge.outer_calls, edge.self_ns / 1e9, edge.total_ns / 1e9)
            callers[callee][labels[caller]] = figures
    stats = {
        labels[number]: (
            graph.first_calls.get(number, 0),  # here the other way round than in the figures of callers
            row.calls,
            row.self_ns / 1e9,
            row.total_ns / 1e9,
            callers.get(number, {}),
        )
        for number, row in graph.figures.items()
    }
    out.write(marshal.dumps(stats))


def _label(function: Function | None) -> Label:
    """Return what pstats prints as FILE:LINE(NAME); without a file, as of a built-in function, as {NAME}."""
    if function is None:
        return ("~", 0, "<unknown>")
    return (function.file or "~", function.line if function.file else 0, function.name)


FORMATS = (
    Format(
        "pstats",
        (".pstats", ".prof"),
        "a profile for Python's pstats, snakeviz and the like",
        "it has figures of functions and of their callers, no resumes, exceptions or paths",
        write,
    ),
)
