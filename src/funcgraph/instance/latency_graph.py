"""The function graph inside a section, from the copy of the ring buffer that was made when it ended."""

from __future__ import annotations

import re

from funcgraph.buffer import reading
from funcgraph.session.memory_file import memory_file
from funcgraph.tracedata import TraceFile

_ABSTIME = re.compile(r" *(\d+)\.(\d{6}) \|  (.*)", re.DOTALL)
_OPTIONS = {"funcgraph-abstime": True, "funcgraph-proc": True, "funcgraph-cpu": False}


def graph_lines(ring: bytes, begin_ns: int, end_ns: int, tid: int | None) -> list[str]:
    """Return the lines of the report of a section, each with the time since its begin.

    Args:
        ring: a ring-buffer file.
        begin_ns, end_ns: the section, in nanoseconds of CLOCK_MONOTONIC; the ring has calls outside it too.
        tid: only the calls of this thread; None: of all threads.
    """
    text = _report(ring, tid)
    lines = []
    for line in text.splitlines(keepends=True):
        found = _ABSTIME.fullmatch(line)
        if not found:
            continue  # the report's header, or a line without a time
        time_us = int(found[1]) * 1_000_000 + int(found[2])
        if begin_ns // 1000 <= time_us <= -(-end_ns // 1000):
            lines.append(f" {time_us - begin_ns // 1000:>8} us |  {found[3]}")
    return lines


class _Copy:
    """A stand-in for an engine's Instance, for reading.write_trace: its ring-buffer file exists already."""

    def __init__(self, ring: bytes) -> None:
        self._ring = ring

    def copy(self, path: int, *, consume: bool = False) -> int:
        with open(path, "r+b", closefd=False) as file:
            return file.write(self._ring)


def _report(ring: bytes, tid: int | None) -> str:
    with memory_file() as file:
        reading.write_trace(
            _Copy(ring), file, reading.describe("function_graph", ""), consume=False, clock="mono"
        )
        trace = TraceFile(file)
        tasks = None if tid is None else [task for task in trace.tasks if task.tid == tid]
        return b"".join(trace.report(_OPTIONS, tasks=tasks)).decode("utf-8", "replace")
