"""Functions whose own time was mostly waiting, by the time that their threads ran.

A trace has the times at which calls began and ended, and for each thread how long it ran in all. So what a
function has by itself beyond that is time in which its thread slept: in functions that were not recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from funcgraph.names import printable
from funcgraph.tracedata.description import Task
from funcgraph.tracedata.selection import Selection
from funcgraph.tracedata.summary import duration_text
from funcgraph.tracedata.trace_file import TraceFile


class Waiting(NamedTuple):
    """A function that mostly waited.

    Attributes:
        task: the thread in which it did.
        name: the function.
        self_ns: its own time in that thread.
    """

    task: Task
    name: str
    self_ns: int

    @property
    def least_ns(self) -> int:
        """So long it waited at least: if all that the thread ran, or was ready to run, was in it."""
        return self.self_ns - _awake_ns(self.task)

    def __str__(self) -> str:
        percent = 100 * self.least_ns // self.self_ns
        return (
            f"thread {printable(self.task.name)}-{self.task.tid} waited at least {percent} % of the "
            f"{duration_text(self.self_ns)} that {printable(self.name)} took by itself there: it ran for "
            f"{duration_text(self.task.cpu_ns)} in all, and was ready to run without a processor for "
            f"{duration_text(self.task.ready_ns)}\n"
            "record --c-calls shows the C functions that waited; record -p gilwait, who had the interpreter "
            "lock\n"
        )


def find_waiting(trace: TraceFile, buffer: int, select: Selection | None = None) -> Waiting | None:
    """Return the function with the most own time of the thread that slept longest, if it mostly waited.

    None: there is none, or it is a C function: they are recorded already.
    """
    tasks = [task for task in trace.tasks if task.buffer == buffer and task.cpu_ns]
    task = max(tasks, key=_asleep_ns, default=None)
    if task is None or _asleep_ns(task) <= 0:
        return None
    rows = trace.summary(tasks=[task], buffers=[buffer], select=select, fold_imports=True)
    longest = max(rows, key=lambda row: row.self_ns, default=None)
    if longest is None or longest.function is None or not longest.function.file:
        return None
    waiting = Waiting(task, longest.name, longest.self_ns)
    return waiting if 2 * waiting.least_ns > waiting.self_ns else None


def waiting_texts(
    trace: TraceFile, buffers: Iterable[int], select: Selection | None = None
) -> Iterator[bytes]:
    """Yield, for each buffer in which a function mostly waited, what is said of it."""
    for buffer in buffers:
        yield str(find_waiting(trace, buffer, select) or "").encode("utf-8", "backslashreplace")


def _awake_ns(task: Task) -> int:
    return task.cpu_ns + task.ready_ns


def _asleep_ns(task: Task) -> int:
    return task.last_ns - task.first_ns - _awake_ns(task)
