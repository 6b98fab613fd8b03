"""Answers from call trees: the tree itself, a table of functions, and the callers and callees of one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from funcgraph.page import path_tree
from funcgraph.page.path_tree import NO_PARENT, PathTree
from funcgraph.page.waiting_functions import is_waiting
from funcgraph.view import task_lanes
from funcgraph.view.parameters import Parameters
from funcgraph.view.request_error import RequestError
from funcgraph.view.run_tree import add_runs
from funcgraph.view.search import matching_functions
from funcgraph.view.served import Served
from funcgraph.view.window_tree import whole_tree, window_tree

__all__ = [
    "MOST_PATHS",
    "MOST_ROWS",
    "OPERATIONS",
    "PART",
    "butterfly",
    "limits",
    "table",
    "tree",
    "tree_of_request",
    "unit",
]

#: The parameters that choose a part, and those that change the tree of it.
PART = ("begin", "end", "lanes")
OPERATIONS = ("waiting", "merge", "collapse", "hide", "focus", "invert")

_MAX = 2**32 - 1
#: An answer has at most so many paths, and so many functions.
MOST_PATHS = 20_000
MOST_ROWS = 20_000


def tree(served: Served, parameters: Parameters) -> dict[str, Any]:
    """Return the merged call tree of a part. Modules, if they are collapsed, are the functions -2, -3, ..."""
    modules: list[str] = []
    made = tree_of_request(served, parameters, modules)
    shown, is_cut = path_tree.largest(made, MOST_PATHS, made.total_ns())
    totals = shown.total_ns()
    nodes = [
        [parent, function, calls, totals[place], own_ns, raised]
        for place, (parent, function, calls, own_ns, raised) in enumerate(shown.rows())
    ]
    return {"nodes": nodes, "cut": is_cut, "modules": modules, "unit": unit(served)}


def table(served: Served, parameters: Parameters) -> dict[str, Any]:
    """Return the figures of each function in a part."""
    modules: list[str] = []
    rows = path_tree.by_function(tree_of_request(served, parameters, modules))
    is_whole = _is_whole(served, parameters) and not any(
        name in parameters for name in ("lanes", *OPERATIONS)
    )
    limits_of = limits(served) if is_whole else {}
    shown = [
        [function, calls, total, own, *limits_of.get(function, (None, None)), raised]
        for function, (calls, total, own, raised) in rows.items()
    ]
    shown.sort(key=lambda row: (-(row[3] or 0), row[0]))
    return {
        "rows": shown[:MOST_ROWS],
        "cut": len(shown) > MOST_ROWS,
        "modules": modules,
        "unit": unit(served),
    }


def butterfly(served: Served, parameters: Parameters) -> dict[str, Any]:
    """Return who called a function and whom it called, in a part."""
    number = parameters.integer("function", 0, _MAX)
    served.function(number)
    made = tree_of_request(served, parameters, [])
    totals = made.total_ns()
    callers: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    callees: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    total_ns = own_ns = all_calls = 0
    for place, _, around in made.paths():
        parent, function, calls = made.parent[place], made.function[place], made.calls[place]
        caller = NO_PARENT if parent == NO_PARENT else made.function[parent]
        if function == number:
            is_outermost = around[number] == 1
            all_calls += calls
            own_ns += made.own_ns[place]
            total_ns += totals[place] if is_outermost else 0
            callers[caller][0] += calls
            callers[caller][1] += totals[place] if is_outermost else 0
        if caller == number:
            callees[function][0] += calls
            # Within another call of the function, it is in the figures of that already.
            callees[function][1] += totals[place] if around[number] == 1 + (function == number) else 0
    return {
        "callers": _ranked(callers),
        "callees": _ranked(callees),
        "total_ns": total_ns,
        "own_ns": own_ns,
        "calls": all_calls,
        "unit": unit(served),
    }


def _ranked(rows: dict[int, list[int]]) -> list[list[int]]:
    """Return function, calls and time, those with the most time first; NO_PARENT: no caller."""
    ranked = sorted(rows, key=lambda number: (-rows[number][1], -rows[number][0], number))
    return [[number, *rows[number]] for number in ranked[:MOST_ROWS]]


def unit(served: Served) -> str:
    """Return what the times of a trace count."""
    return "ns" if served.has_times else "calls"


def tree_of_request(served: Served, parameters: Parameters, modules: list[str]) -> PathTree:
    """Return the tree of the part that a request is about, with its operations done.

    Args:
        modules: gets the names of the modules, if they are collapsed.
    """
    return _changed(served, parameters, _part_tree(served, parameters), modules)


def _part_tree(served: Served, parameters: Parameters) -> PathTree:
    """Return the tree of the part that a request is about."""
    numbers = parameters.integers("lanes", _MAX)
    begin_ns, end_ns = served.part_or_all(parameters)
    is_all = _is_whole(served, parameters)
    names = None if numbers is None else tuple(sorted(set(numbers)))
    key = (names, None if is_all else (begin_ns, end_ns))
    made = served.trees.get(key)
    if made is None:
        made = _made_tree(served, names, begin_ns, end_ns, is_all=is_all)
        served.trees.put(key, made)
    return made


def _is_whole(served: Served, parameters: Parameters) -> bool:
    """Return whether a request is about all of the time."""
    begin_ns, end_ns = served.part_or_all(parameters)
    return begin_ns <= served.begin_ns and end_ns > served.begin_ns + served.duration_ns


def _made_tree(
    served: Served, names: Sequence[int] | None, begin_ns: int, end_ns: int, *, is_all: bool
) -> PathTree:
    """Return the tree of lanes, None for all of the first instance that has calls."""
    runs = [number for number in names or () if task_lanes.is_task(number)]
    lanes = None if names is None else [served.lane(number) for number in names if number not in runs]
    made = PathTree()
    if is_all and lanes != []:
        made = whole_tree(served, lanes)
    elif lanes != []:
        made = window_tree(served, served.call_lanes() if lanes is None else lanes, begin_ns, end_ns)
    for number in runs:
        add_runs(served, made, task_lanes.task_lane(served, number), begin_ns, end_ns)
    return made


def _changed(served: Served, parameters: Parameters, made: PathTree, modules: list[str]) -> PathTree:
    """Do to a tree what a request wants; `modules` gets the names of groups."""
    functions = served.functions
    if not parameters.switch("waiting", True):
        waiting = {number for number, function in enumerate(functions) if is_waiting(function)}
        made = path_tree.without(made, waiting)
    if "hide" in parameters:
        made = path_tree.hide(made, _matching(served, parameters, "hide"))
    if "focus" in parameters:
        made = path_tree.focus(made, _matching(served, parameters, "focus"))
    if "merge" in parameters and parameters.choice("merge", ("recursion", "none")) == "recursion":
        made = path_tree.merge_recursion(made)
    if "collapse" in parameters and parameters.choice("collapse", ("module", "none")) == "module":
        made = _collapsed(served, made, modules)
    return path_tree.invert(made) if parameters.switch("invert") else made


def _matching(served: Served, parameters: Parameters, name: str) -> set[int]:
    text = parameters.text(name)
    if not text:
        raise RequestError(400, f"{name} must not be empty")
    return set(matching_functions(served.functions, text))


def _collapsed(served: Served, made: PathTree, modules: list[str]) -> PathTree:
    numbers: dict[str, int] = {}

    def group_of(function: int) -> int:
        known = function < len(served.functions)
        module = served.functions[function].module if known else ""
        return -2 - numbers.setdefault(module, len(numbers))

    collapsed = path_tree.collapse(made, group_of)
    modules += numbers
    return collapsed


def limits(served: Served) -> dict[int, tuple[int, int]]:
    """Return the shortest and the longest call of each function, of the whole trace."""
    rows = served.reader().summary(buffers=served.call_buffers()[:1])
    return {served.number_or_unknown(row.function): (row.min_ns, row.max_ns) for row in rows if row.ended}
