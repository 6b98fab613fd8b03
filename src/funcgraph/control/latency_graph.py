"""The function graph inside a section, from the copy of a ring buffer that was made when the section was kept."""

from __future__ import annotations

import os
import re
import shutil
import tempfile

from funcgraph import _tracedata
from funcgraph.tracedata.trace_file import TraceFile

_ABSTIME = re.compile(r" *(\d+)\.(\d{6}) \|  (.*)", re.DOTALL)
_OPTIONS = {"funcgraph-abstime": True, "funcgraph-proc": True, "funcgraph-cpu": False}


def graph_lines(ring: bytes, begin_ns: int, end_ns: int, tid: int | None) -> list[str]:
    """Return the lines of the report of a section, each with the time since its begin.

    Args:
        ring: a ring-buffer file.
        begin_ns, end_ns: the section, in nanoseconds of CLOCK_MONOTONIC; the copy has more than it.
        tid: only what this thread did; None: all.
    """
    folder = tempfile.mkdtemp(prefix="funcgraph-", dir=_memory_folder())
    try:
        text = _report(ring, folder, tid)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    lines = []
    for line in text.splitlines(keepends=True):
        found = _ABSTIME.fullmatch(line)
        if not found:
            continue  # the report's own head; a line without a time
        time_us = int(found[1]) * 1_000_000 + int(found[2])
        if begin_ns // 1000 <= time_us <= -(-end_ns // 1000):
            lines.append(f" {time_us - begin_ns // 1000:>8} us |  {found[3]}")
    return lines


def _report(ring: bytes, folder: str, tid: int | None) -> str:
    path = os.path.join(folder, f"{os.getpid()}.0.ring")
    with open(path, "wb") as file:
        file.write(ring)
    recorder = _tracedata.Recorder(os.path.join(folder, "part"))
    try:
        recorder.finish(recorder.add_ring(path))
        recorder.assemble(os.path.join(folder, "trace.dat"), "{}")
    finally:
        recorder.close()
    trace = TraceFile(os.path.join(folder, "trace.dat"))
    tasks = None if tid is None else [task for task in trace.tasks if task.tid == tid]
    return b"".join(trace.report(_OPTIONS, tasks=tasks)).decode()


def _memory_folder() -> str | None:
    for folder in (os.environ.get("XDG_RUNTIME_DIR"), "/dev/shm"):
        if folder and os.access(folder, os.W_OK):
            return folder
    return None
