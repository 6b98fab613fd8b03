"""Collapsed stacks, the input of flamegraph.pl: a line for each path of functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from funcgraph.export.format import Format
from funcgraph.export.source import Source
from funcgraph.export.trees import escaped_name, tree_of
from funcgraph.tracedata.call_tree import NO_PARENT, CallTree

_LINES = 4096  # written at once


def write(source: Source, out: BinaryIO) -> None:
    """Write `outermost;...;innermost NANOSECONDS`: the self time of each path; without times, calls."""
    lines: list[str] = []
    for line in collapsed_lines(tree_of(source)):
        lines.append(line)
        if len(lines) == _LINES:
            out.write("".join(lines).encode())
            lines.clear()
    out.write("".join(lines).encode())


def collapsed_lines(tree: CallTree) -> Iterator[str]:
    """Yield the lines."""
    names = [escaped_name(tree.name_of(number), ";") for number in range(len(tree.functions))]
    values = tree.self_ns if any(tree.total_ns) else tree.calls
    path: list[str] = []
    places: list[int] = []  # of the path
    for place, parent in enumerate(tree.parent):
        if parent == NO_PARENT:
            path, places = [escaped_name(tree.name(place), ";")] if tree.name(place) else [], []
            bottom = len(path)
            continue
        while places and places[-1] != parent:
            places.pop()
        places.append(place)
        del path[bottom + len(places) - 1 :]
        path.append(names[tree.function[place]])
        if values[place]:
            yield f"{';'.join(path)} {values[place]}\n"


FORMATS = (
    Format(
        "collapsed",
        (".collapsed", ".folded"),
        "collapsed stacks, for flamegraph.pl, speedscope and the like",
        "it has the self time of each path in nanoseconds, no calls, resumes, exceptions or order",
        write,
        is_text=True,
        is_picture=True,
    ),
)
