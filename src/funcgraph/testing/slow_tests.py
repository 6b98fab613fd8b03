"""The slowest tests of a run, and where their time went."""

from __future__ import annotations

from bisect import insort
from typing import TypedDict

from funcgraph.session.memory_file import memory_file
from funcgraph.tracedata.trace_file import TraceFile
from funcgraph.tracedata.tree_text import TreeLimits, tree_text

_PERCENT = 2.0  # of the whole: paths that took less are not shown


class SlowTest(TypedDict):
    """A slow test. It goes through reports, from other processes too: it has simple values alone.

    Attributes:
        nodeid: of the test.
        seconds: how long it took, with its fixtures.
        path: of the file with its graph.
        lines: where its time went.
        failed: it failed as well: its file stays in any case.
    """

    nodeid: str
    seconds: float
    path: str
    lines: list[str]
    failed: bool


class SlowTests:
    """The slowest ones, slowest first.

    Args:
        limit: how many there are at most.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.tests: list[SlowTest] = []

    def admits(self, seconds: float) -> bool:
        """Return whether a test that took so long is one of them, up to now."""
        return len(self.tests) < self._limit or (self._limit > 0 and seconds > self.tests[-1]["seconds"])

    def add(self, test: SlowTest) -> list[SlowTest]:
        """Add a test; return those that are no longer among the slowest."""
        again = [one for one in self.tests if one["nodeid"] == test["nodeid"]]  # a test that was run again
        for one in again:
            self.tests.remove(one)
        insort(self.tests, test, key=lambda one: -one["seconds"])
        dropped, self.tests[self._limit :] = self.tests[self._limit :], []
        return dropped


def time_lines(trace: bytes, limit: int | None, width: int | None) -> list[str]:
    """Return where the time of a trace went: its merged call tree.

    Args:
        trace: the bytes of a .fg.
        limit: so many lines at most; None: all.
        width: of the lines, in columns; None: any.
    """
    with memory_file(trace) as fd:
        tree = TraceFile(fd).call_tree()
    lines = [
        line.decode("utf-8", "replace").rstrip()
        for line in tree_text(tree, TreeLimits(_PERCENT, None), width=width)
    ]
    return lines if limit is None else lines[:limit]
