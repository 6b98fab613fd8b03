"""One self-contained HTML page: a flame graph, a table of functions, callers and callees, search."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, BinaryIO

from funcgraph.export.call_graph import call_graph
from funcgraph.export.flame import color_of, title_of, weights_of
from funcgraph.export.format import Format
from funcgraph.export.source import Source
from funcgraph.export.trees import escaped_name, tree_of
from funcgraph.tracedata.call_tree import NO_PARENT, CallTree

#: Paths in a page. A browser draws so many at once without delay, and they are some megabytes.
MOST_PATHS = 30_000


def write(source: Source, out: BinaryIO) -> None:
    """Write the page; what is left out of it is a remark of the source."""
    tree = tree_of(source)
    weights, has_times = weights_of(tree)
    shown = heaviest(tree, weights, MOST_PATHS)
    if len(shown) < len(tree):
        source.remarks.append(f"{len(tree) - len(shown):,} paths are left out: those with the least time")
    data = {
        "title": title_of(source),
        "hasTimes": has_times,
        "lost": source.trace.lost,
        "tasks": len({(task.pid, task.tid) for task in source.tasks}),
        "leftOut": len(tree) - len(shown),
        "paths": _paths(tree, weights, shown),
        "roots": [[escaped_name(name), "#d8d2c6"] for name in tree.groups],
        **_functions(tree),
    }
    out.write(page(data).encode())


def page(data: Any) -> str:
    """Return the page with its data, styles and script in it."""
    folder = files("funcgraph.export.formats")
    text = folder.joinpath("html_page.html").read_text()
    # In JSON, "<" occurs in texts only: escaped, none of them can end the element.
    parts = {
        "/*STYLE*/": folder.joinpath("html_page.css").read_text(),
        "/*DATA*/": json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
        "/*SCRIPT*/": folder.joinpath("html_page.js").read_text(),
    }
    for mark, part in parts.items():
        before, _, after = text.partition(mark)
        text = before + part + after
    return text


def heaviest(tree: CallTree, weights: Sequence[int], most: int) -> list[int]:
    """Return the places of the paths with the most time, in order. Those that lead to them are there, too."""
    if len(tree) <= most:
        return list(range(len(tree)))
    least = sorted(weights, reverse=True)[most]
    return [n for n, parent in enumerate(tree.parent) if weights[n] > least or parent == NO_PARENT]


def _paths(tree: CallTree, weights: Sequence[int], shown: Sequence[int]) -> dict[str, list[int]]:
    """Return columns. A path comes after the one that it goes on from, whose place it has; -1: a root."""
    places = {place: n for n, place in enumerate(shown)}
    return {
        "parent": [-1 if tree.parent[n] == NO_PARENT else places[tree.parent[n]] for n in shown],
        "func": [tree.function[n] for n in shown],
        "weight": [weights[n] for n in shown],
        "calls": [tree.calls[n] for n in shown],
        "resumes": [tree.resumes[n] for n in shown],
        "total": [tree.total_ns[n] for n in shown],
        "self": [tree.self_ns[n] for n in shown],
    }


def _functions(tree: CallTree) -> dict[str, Any]:
    """Return the functions by number, with summary's figures, and the calls between them."""
    graph = call_graph(tree)
    functions = []
    for number, function in enumerate(tree.functions):
        row = graph.figures.get(number)
        module = function.module if function else ""
        place = f"{function.file}:{function.line}" if function and function.file else ""
        counts = (row.calls, row.resumes, row.exceptions, row.total_ns, row.self_ns) if row else ()
        functions.append([escaped_name(tree.name_of(number)), color_of(module), escaped_name(place), *counts])
    edges = [
        [caller, callee, edge.calls, edge.resumes, edge.total_ns, edge.self_ns]
        for (caller, callee), edge in graph.edges.items()
    ]
    return {"functions": functions, "edges": edges}


FORMATS = (
    Format(
        "html",
        (".html",),
        "one page with flame graph, table of functions and search, for a browser",
        f"it has figures of paths and functions, no order in time, and at most {MOST_PATHS:,} paths",
        write,
        is_text=True,
        is_picture=True,
    ),
)
