"""A profile in the format of callgrind, for KCachegrind and callgrind_annotate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import BinaryIO

from funcgraph.export.call_graph import NOBODY, CallGraph, Edge, call_graph
from funcgraph.export.format import Format
from funcgraph.export.source import Source
from funcgraph.export.trees import escaped_name, single_tree_of
from funcgraph.tracedata.call_tree import CallTree

#: The name of what calls the functions without a traced caller.
TOP = "<top>"


def write(source: Source, out: BinaryIO) -> None:
    """Write each function with its own time and its calls."""
    graph = call_graph(single_tree_of(source))
    out.writelines(line.encode() for line in _head(graph))
    callees: dict[int, list[tuple[int, Edge]]] = defaultdict(list)
    for (caller, callee), edge in graph.edges.items():
        if edge.calls or edge.resumes:
            callees[caller].append((callee, edge))
    names = _Names(graph.tree)
    for number in (NOBODY, *graph.figures):
        self_ns = 0 if number == NOBODY else graph.figures[number].self_ns
        lines = [*names.lines("", number), f"{names.line(number)} {self_ns}\n"]
        for callee, edge in callees[number]:
            lines += names.lines("c", callee)
            # A call of no calls is none: callgrind_annotate takes its cost for the caller's own.
            lines.append(f"calls={edge.calls + edge.resumes} {names.line(callee)}\n")
            lines.append(f"{names.line(number)} {edge.first_ns}\n")
        out.write("".join([*lines, "\n"]).encode())


def _head(graph: CallGraph) -> Iterator[str]:
    yield "# callgrind format\nversion: 1\ncreator: funcgraph\npositions: line\n"
    yield "event: ns : Nanoseconds\nevents: ns\n"
    yield f"summary: {sum(row.self_ns for row in graph.figures.values())}\n\n"


class _Names:
    """The names of functions and files. Each is written once, with a number for later."""

    def __init__(self, tree: CallTree) -> None:
        self.tree = tree
        self.files: dict[str, int] = {}
        self.written: set[int] = set()

    def line(self, number: int) -> int:
        """Return the line on which a function begins; 0 if it has no source."""
        function = None if number == NOBODY else self.tree.functions[number]
        return function.line if function and function.file else 0

    def lines(self, called: str, number: int) -> Iterator[str]:
        """Yield the lines with a function's file and name; `called` is "c" for a callee."""
        function = None if number == NOBODY else self.tree.functions[number]
        file = escaped_name(function.file) if function and function.file else "???"
        is_new = file not in self.files
        place = self.files.setdefault(file, len(self.files) + 1)
        yield f"{'cfi' if called else 'fl'}=({place}){f' {file}' if is_new else ''}\n"
        name = ""
        if number not in self.written:
            self.written.add(number)
            name = " " + (TOP if number == NOBODY else escaped_name(self.tree.name_of(number)))
        yield f"{called}fn=({number + 2}){name}\n"


FORMATS = (
    Format(
        "callgrind",
        (".callgrind",),
        "a profile for KCachegrind, QCachegrind and callgrind_annotate",
        "it has no exceptions, and a resume of a suspended call counts as a call; "
        "in recursion the outermost call has the time",
        write,
        is_text=True,
    ),
)
