"""How formats that have one name for a thread call it."""

from __future__ import annotations

from funcgraph.export.source import Source
from funcgraph.tracedata.description import Task


def thread_title(source: Source, task: Task) -> str:
    """Return a thread's name with its ids, and the instance that recorded it."""
    instance = source.trace.buffers[task.buffer].name
    return f"{task.name} (process {task.pid}, thread {task.tid})" + (f" [{instance}]" if instance else "")
