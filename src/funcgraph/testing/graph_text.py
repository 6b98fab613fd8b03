"""The end of a function graph as lines for a test's report: so many of them, and so wide."""

from __future__ import annotations

from typing import NamedTuple

from funcgraph.session.memory_file import memory_file
from funcgraph.tracedata.trace_file import TraceFile

#: What a report of a test shows besides its defaults.
_OPTIONS = {"funcgraph-cpu": False, "funcgraph-overhead": False, "funcgraph-tail": True}


class GraphEnd(NamedTuple):
    """The last lines of a function graph.

    Attributes:
        lines: the lines.
        total: how many lines the graph has.
        lost: how many records the ring no longer had.
    """

    lines: list[str]
    total: int
    lost: int

    @property
    def title(self) -> str:
        """What part of the graph it is."""
        is_whole = len(self.lines) == self.total
        part = "" if is_whole else f"the last {len(self.lines)} of {self.total:,} lines of "
        return f"{part}the function graph" + (f", after {self.lost:,} older records" if self.lost else "")


def graph_end(trace: bytes, limit: int | None, width: int | None) -> GraphEnd:
    """Return the end of the graph in a trace, the bytes of a .fg.

    Args:
        limit: so many lines at most; None: all.
        width: a longer line is cut to so many columns; None: none is.
    """
    with memory_file(trace) as fd:
        file = TraceFile(fd)
        text = b"".join(file.report(_OPTIONS)).decode("utf-8", "replace")
        lost = file.lost
    lines = [line.rstrip() for line in text.splitlines() if not line.startswith("#") and line.strip()]
    last = lines if limit is None else lines[-limit:] if limit else []
    return GraphEnd([_cut(line, width) for line in last], len(lines), lost)


def _cut(line: str, width: int | None) -> str:
    return line if width is None or len(line) <= width else f"{line[: max(width - 1, 0)]}\u2026"
