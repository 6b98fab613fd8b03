"""The answer about the difference of two traces: figures of both for each path and each function."""

from __future__ import annotations

from itertools import chain
from typing import Any

from funcgraph.page import path_tree
from funcgraph.page.path_tree import NO_PARENT, PathTree
from funcgraph.tracedata.description import TraceError
from funcgraph.view.parameters import Parameters
from funcgraph.view.request_error import RequestError
from funcgraph.view.served import Served
from funcgraph.view.tree_query import MOST_PATHS, MOST_ROWS, tree_of_request, unit

__all__ = ["diff"]

_UNKNOWN = "<unknown>"  # as FunctionSummary names it


def diff(served: Served, parameters: Parameters) -> dict[str, Any]:
    """Compare a trace, or a part of it, with its base or a part of that. A function is the same if its name
    is, as `funcgraph diff` has it.

    Figures are total, own time and calls of the base, and then those of the trace. Functions are places in
    `names`, of which OTHERS is none.
    """
    base = served.base
    if base is None:
        raise RequestError(404, "the trace is not compared with another: start funcgraph view --diff A B")
    names: dict[str, int] = {}
    try:
        first = _named_tree(base, parameters.renamed({"begin": "base_begin", "end": "base_end"}), names)
    except (TraceError, OSError) as error:
        raise base.note_flaw(error) from None
    a, b = path_tree.aligned(first, _named_tree(served, parameters, names))
    # Both are cut at the same places, as these depend on the paths and the weights alone.
    weights = list(map(max, a.total_ns(), b.total_ns()))
    (shown_a, is_cut), (shown_b, _) = (path_tree.largest(tree, MOST_PATHS, weights) for tree in (a, b))
    rows = _function_rows(a, b)
    return {
        "base": base.number,
        "names": list(names),
        "nodes": _nodes(shown_a, shown_b),
        "rows": rows[:MOST_ROWS],
        "totals": [figure for tree in (a, b) for figure in (sum(tree.own_ns), sum(tree.calls))],
        "cut": is_cut or len(rows) > MOST_ROWS,
        "unit": unit(served),
    }


def _named_tree(served: Served, parameters: Parameters, names: dict[str, int]) -> PathTree:
    """Return the tree of a trace with numbers of names for functions; `names` gets what it lacks."""
    modules: list[str] = []
    made, places = PathTree(), list[int]()
    for parent, function, *figures in tree_of_request(served, parameters, modules).rows():
        if function < 0:
            name = modules[-2 - function]
        else:
            is_known = function < len(served.functions)
            name = served.functions[function].name if is_known else _UNKNOWN
        above = NO_PARENT if parent == NO_PARENT else places[parent]
        places.append(made.add(above, names.setdefault(name, len(names)), *figures))
    return made


def _nodes(a: PathTree, b: PathTree) -> list[list[int]]:
    """Return of each path its parent, its function and the figures of both."""
    columns = (a.parent, a.function, a.total_ns(), a.own_ns, a.calls, b.total_ns(), b.own_ns, b.calls)
    return [list(row) for row in zip(*columns, strict=True)]


def _function_rows(a: PathTree, b: PathTree) -> list[list[int]]:
    """Return each function with the figures of both, those with the largest difference of own time first."""
    sides = path_tree.by_function(a), path_tree.by_function(b)
    rows = []
    for function in sides[0]:
        figures = ((total, own, calls) for calls, total, own, _ in (side[function] for side in sides))
        rows.append([function, *chain.from_iterable(figures)])
    rows.sort(key=lambda row: (-abs(row[5] - row[2]), row[0]))
    return rows
