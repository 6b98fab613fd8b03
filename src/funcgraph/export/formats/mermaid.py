"""A call graph as a Mermaid flowchart, for Markdown pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from funcgraph.export.call_graph import CallGraph, call_graph
from funcgraph.export.format import Format
from funcgraph.export.pruned import Pruned, color, count_text, prune, remark
from funcgraph.export.source import Source
from funcgraph.export.trees import escaped_name, single_tree_of

#: What would end a label, or has a meaning in one: Markdown, HTML, Mermaid's own entities.
_SPECIAL = frozenset('"#&<>;`*_~|[]{}()\\$%')


def write(source: Source, out: BinaryIO) -> None:
    """Write functions as boxes and calls as arrows."""
    graph = call_graph(single_tree_of(source))
    pruned = prune(graph)
    out.writelines(line.encode() for line in mermaid_lines(graph, pruned))
    source.remarks += filter(None, [remark(pruned)])


def mermaid_lines(graph: CallGraph, pruned: Pruned) -> Iterator[str]:
    """Yield the lines of a flowchart."""
    yield "flowchart TD\n"
    for number, row in pruned.functions.items():
        lines = (escaped_name(graph.name(number)), *pruned.figures(row))
        yield f'    f{number}["{"<br/>".join(map(_label, lines))}"]\n'
    for (caller, callee), edge in pruned.edges.items():
        yield f'    f{caller} -->|"{_label(count_text(edge.calls, edge.resumes))}"| f{callee}\n'
    for number, row in pruned.functions.items():
        box, text = color(pruned.share(row))
        yield f"    style f{number} fill:{box},color:{text},stroke:none\n"


def _label(text: str) -> str:
    """Write what has a meaning in a label as Mermaid's entities."""
    return "".join(f"#{ord(c)};" if c in _SPECIAL else c for c in text)


FORMATS = (
    Format(
        "mermaid",
        (".mmd",),
        "a call graph as a Mermaid flowchart, for Markdown",
        "it has no paths and no exceptions, and only functions and calls with a share worth showing",
        write,
        is_text=True,
        is_picture=True,
    ),
)
