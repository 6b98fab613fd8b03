"""One self-contained page for a browser: that of the viewer, with figures of paths and no time line."""

from __future__ import annotations

import os
from typing import Any, BinaryIO

from funcgraph.export.flame import title_of
from funcgraph.export.format import Format
from funcgraph.export.source import Source
from funcgraph.export.trees import tree_of
from funcgraph.page import path_tree
from funcgraph.page.embedded import embedded_page, page_head
from funcgraph.page.path_tree import PathTree
from funcgraph.page.rows import function_row, trace_row
from funcgraph.page.waiting_functions import is_waiting
from funcgraph.tracedata.call_tree import CallTree
from funcgraph.tracedata.description import Function
from funcgraph.tracedata.selected_time import COUNTING_CLOCKS
from funcgraph.tracedata.summary import FunctionKey, function_key

#: Paths in a page. A browser draws so many at once without delay, and they are some megabytes.
MOST_PATHS = 30_000


def write(source: Source, out: BinaryIO) -> None:
    """Write the page; what is left out of it is a remark of the source."""
    tree = tree_of(source)
    functions = _Functions(tree)
    has_times = source.trace.clock not in COUNTING_CLOCKS
    whole = _paths_of(tree, functions, has_times=has_times)
    paths, _ = path_tree.largest(whole, MOST_PATHS, whole.total_ns())
    summed_up = len(whole) - sum(function != path_tree.OTHERS for function in paths.function)
    if summed_up:
        source.remarks.append(f"{summed_up:,} paths are summed up as (others): those with the least time")
    title = title_of(source)
    trace = {
        **trace_row(source.trace, _file_name(source) or title),
        "calls": sum(row.calls for row in tree.summary),
        "events": None,
        "duration_ns": sum(whole.own_ns),
        "time_line": False,
        "message": "; ".join(source.notes()),
    }
    rows = functions.rows(is_kernel=source.trace.is_kernel)
    head = page_head(trace, rows, paths.rows(), has_times=has_times, **functions.figures())
    out.write(embedded_page(head, title=f"{title} - funcgraph", first="tab=flame").encode())


def _file_name(source: Source) -> str:
    path = source.trace.path
    return os.path.basename(path) if isinstance(path, str) else ""


class _Functions:
    """The functions of a tree by the numbers that the page has for them, and after them its instances: a path
    of several instances begins with the instance.

    Args:
        tree: the tree.
    """

    def __init__(self, tree: CallTree) -> None:
        known = {function_key(function): function for function in tree.functions if function}
        self._functions = [*known.values()]
        self._places: dict[FunctionKey, int] = {key: place for place, key in enumerate(known)}
        names = tree.groups if any(tree.groups) else ()
        self._groups = [Function("", name, "", 0, 0, ()) for name in names]
        self._summary = {function_key(row.function): row for row in tree.summary if row.function}

    def number(self, function: Function | None) -> int:
        """Return the number of a function: that of an unknown one comes after all."""
        return self._places.get(function_key(function), len(self._functions) + len(self._groups))

    def group(self, number: int) -> int | None:
        """Return the number of a tree's root; None: it is not shown."""
        return len(self._functions) + number if self._groups else None

    def rows(self, *, is_kernel: bool) -> list[dict[str, Any]]:
        """Return what the page is told of each."""
        made = []
        for number, function in enumerate([*self._functions, *self._groups]):
            row = self._summary.get(function_key(function))
            calls, total_ns = (row.calls, row.total_ns) if row else (0, 0)
            made.append(function_row(function, number, calls, total_ns, is_kernel=is_kernel))
        return made

    def figures(self) -> dict[str, Any]:
        """Return what else the page is told of them."""
        return {
            "groups": [len(self._functions) + number for number in range(len(self._groups))],
            "waiting": [number for number, function in enumerate(self._functions) if is_waiting(function)],
            "limits": {
                number: (row.min_ns, row.max_ns)
                for key, number in self._places.items()
                if (row := self._summary.get(key)) and row.ended
            },
        }


def _paths_of(tree: CallTree, functions: _Functions, *, has_times: bool) -> PathTree:
    made = PathTree()
    roots = []
    for number in range(len(tree.groups)):
        group = functions.group(number)
        roots.append(path_tree.NO_PARENT if group is None else made.add(path_tree.NO_PARENT, group))
    numbers = [functions.number(function) for function in tree.functions]
    path_tree.add_call_tree(made, tree, numbers, roots, has_times=has_times)
    return made


FORMATS = (
    Format(
        "html",
        (".html",),
        "the viewer's page without a time line: flame graph, table, call tree, callers and callees",
        f"it has figures of paths and functions, no order in time, and at most {MOST_PATHS:,} paths",
        write,
        is_text=True,
        is_picture=True,
    ),
)
