"""A call graph for Graphviz."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from funcgraph.export.call_graph import CallGraph, call_graph
from funcgraph.export.format import Format
from funcgraph.export.pruned import Pruned, color, count_text, prune, remark
from funcgraph.export.source import Source
from funcgraph.export.trees import escaped_name, single_tree_of
from funcgraph.tracedata.summary import duration_text


def write(source: Source, out: BinaryIO) -> None:
    """Write functions as boxes and calls as arrows."""
    graph = call_graph(single_tree_of(source))
    pruned = prune(graph)
    out.writelines(line.encode() for line in dot_lines(graph, pruned))
    source.remarks += filter(None, [remark(pruned)])


def dot_lines(graph: CallGraph, pruned: Pruned) -> Iterator[str]:
    """Yield the lines of a digraph."""
    yield "digraph funcgraph {\n"
    yield '    graph [rankdir=TB, nodesep=0.25, ranksep=0.4, bgcolor="white"];\n'
    yield '    node [shape=box, style="filled,rounded", fontname="Helvetica", fontsize=11, penwidth=0];\n'
    yield '    edge [fontname="Helvetica", fontsize=9, color="#6e7781", fontcolor="#57606a"];\n'
    for number, row in pruned.functions.items():
        box, text = color(pruned.share(row))
        label = "\\n".join(map(_quoted, (escaped_name(graph.name(number)), *pruned.figures(row))))
        tip = _quoted(_place(graph, number))
        yield (f'    f{number} [label="{label}", tooltip="{tip}", fillcolor="{box}", fontcolor="{text}"];\n')
    for (caller, callee), edge in pruned.edges.items():
        lines = [count_text(edge.calls, edge.resumes)]
        if pruned.has_times:
            lines.append(duration_text(edge.total_ns))
        width = 0.6 + 5 * pruned.share(edge)
        label = "\\n".join(lines)
        yield f'    f{caller} -> f{callee} [label="{label}", penwidth={width:.2f}];\n'
    yield "}\n"


def _place(graph: CallGraph, number: int) -> str:
    function = graph.tree.functions[number]
    return escaped_name(f"{function.file}:{function.line}") if function and function.file else ""


def _quoted(text: str) -> str:
    """Escape what has a meaning between quotes: a backslash begins one of Graphviz's own escapes."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


FORMATS = (
    Format(
        "dot",
        (".dot", ".gv"),
        "a call graph for Graphviz: functions and calls between them",
        "it has no paths and no exceptions, and only functions and calls with a share worth showing",
        write,
        is_text=True,
        is_picture=True,
    ),
)
