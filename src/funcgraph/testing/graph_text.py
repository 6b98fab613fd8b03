"""The end of a function graph as lines for a test's report: so many of them, and so wide."""

from __future__ import annotations

import re
from typing import NamedTuple

from funcgraph.session.memory_file import memory_file
from funcgraph.tracedata.trace_file import TraceFile

#: What a report of a test shows besides its defaults.
_OPTIONS = {"funcgraph-cpu": False, "funcgraph-overhead": False, "funcgraph-tail": True}

#: The line of a call or of its beginning: up to its arguments' end, and what is behind them. None as a result
#: says less than arguments do.
_CALL = re.compile(r"(.*)(\)(?:; /\* (?!(?:resumed )?ret=None \*/).*| \{(?: /\* .*)?))")


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
    """Return a line that fits. Of a call, arguments are cut first: what it returned says more."""
    if width is None or len(line) <= width:
        return line
    call = _CALL.fullmatch(line)
    if call is None:
        return _shortened(line, width)
    before, behind = call.groups()
    behind = _shortened(behind, max(width // 2, width - len(before)))
    return _shortened(before, width - len(behind)) + behind


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: max(width - 1, 0)]}\u2026"[:width]
