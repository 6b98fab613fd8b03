"""Calls from function to function: the merged call tree, merged further by function."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from funcgraph.tracedata.call_tree import NO_PARENT, CallTree
from funcgraph.tracedata.summary import FunctionSummary, function_key

#: In place of a caller: the call had no traced one.
NOBODY = -1


@dataclass(slots=True)
class Edge:
    """The calls that one function made of another one.

    Attributes:
        calls, resumes: how many, and how often suspended ones were resumed.
        first_calls: those of `calls` that were not made within another call of the callee.
        self_ns: the callee's own time in them.
        outer_calls, total_ns: those of `calls` that were not made within another call of the same two
            functions; the callee's time in these, with its callees.
        first_ns: that of calls that were not made within another call of the callee. Over all callers of a
            function these add up to its total time.
    """

    calls: int = 0
    resumes: int = 0
    first_calls: int = 0
    outer_calls: int = 0
    self_ns: int = 0
    total_ns: int = 0
    first_ns: int = 0


@dataclass(frozen=True, slots=True)
class CallGraph:
    """Functions and calls between them.

    Attributes:
        figures: number of a function -> its row of the summary; of functions with calls, the slowest first.
        edges: (caller or NOBODY, callee) -> its calls.
        first_calls: number of a function -> calls that were not made within another call of it.
    """

    tree: CallTree
    figures: Mapping[int, FunctionSummary]
    edges: Mapping[tuple[int, int], Edge]
    first_calls: Mapping[int, int]

    def name(self, number: int) -> str:
        """Return a function's name."""
        return self.tree.name_of(number)

    @property
    def whole_ns(self) -> int:
        """The time of all calls without a traced caller."""
        return sum(edge.first_ns for (caller, _), edge in self.edges.items() if caller == NOBODY)


def call_graph(tree: CallTree) -> CallGraph:
    """Merge a tree by function."""
    rows = {function_key(row.function): row for row in tree.summary}
    keys = [function_key(function) for function in tree.functions]
    figures = {number: rows[key] for number, key in enumerate(keys) if key in rows}
    slowest = sorted(figures, key=lambda number: (-figures[number].total_ns, -figures[number].calls, number))
    edges = _edges(tree)
    first_calls: dict[int, int] = defaultdict(int)
    for (_, callee), edge in edges.items():
        first_calls[callee] += edge.first_calls
    return CallGraph(tree, {number: figures[number] for number in slowest}, edges, first_calls)


def _edges(tree: CallTree) -> dict[tuple[int, int], Edge]:
    edges: dict[tuple[int, int], Edge] = defaultdict(Edge)
    outermost = tree.outermost()
    function = tree.function
    around: dict[tuple[int, int], int] = defaultdict(int)  # how often the edge is on the path
    path: list[tuple[int, tuple[int, int]]] = []
    for place, parent in enumerate(tree.parent):
        while path and path[-1][0] != parent:
            around[path.pop()[1]] -= 1
        if parent == NO_PARENT:
            continue
        key = (NOBODY if tree.parent[parent] == NO_PARENT else function[parent], function[place])
        edge = edges[key]
        edge.calls += tree.calls[place]
        edge.resumes += tree.resumes[place]
        edge.self_ns += tree.self_ns[place]
        if outermost[place]:
            edge.first_calls += tree.calls[place]
            edge.first_ns += tree.total_ns[place]
        if not around[key]:
            edge.outer_calls += tree.calls[place]
            edge.total_ns += tree.total_ns[place]
        around[key] += 1
        path.append((place, key))
    return edges
