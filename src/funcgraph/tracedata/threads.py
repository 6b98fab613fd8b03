"""The threads of a trace: what has a stack of calls of its own."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Sequence

from funcgraph import _tracedata
from funcgraph.tracedata.description import Task
from funcgraph.tracedata.events import Columns

__all__ = ["Threads", "arrays_of"]


def arrays_of(batch: Columns) -> tuple[memoryview, ...]:
    """Return the arrays of a batch of events, as the extension module takes them."""
    return tuple(getattr(batch, name) for name in _tracedata.COLUMNS)


class Threads:
    """The threads of a trace, by number.

    A task is a thread, but for a kernel's trace: there, a thread has a task in each lane that it ran in, and
    each CPU has an idle task with the thread id 0.

    Args:
        threads_move: a thread may be in the middle of calls when it goes from one task to another: a kernel's
            trace, whose lanes are CPUs.

    Attributes:
        tasks: of each thread, its first task.
    """

    def __init__(self, *, threads_move: bool) -> None:
        self._threads_move = threads_move
        self._numbers: dict[Hashable, int] = {}
        self.tasks: list[Task] = []
        self._threads, self._pids = array("I"), array("i")

    def of(self, tasks: Sequence[Task]) -> tuple[array[int], array[int]]:
        """Return the number of the thread of each task, and its process."""
        known = len(self._threads)
        if known < len(tasks):  # the arrays may be held by who got them: these are new
            added = [self._number(number, task) for number, task in enumerate(tasks[known:], known)]
            self._threads = self._threads + array("I", added)
            self._pids = self._pids + array("i", [task.pid for task in tasks[known:]])
        return self._threads, self._pids

    def _number(self, place: int, task: Task) -> int:
        key: Hashable = place
        if self._threads_move:
            key = (task.buffer, task.tid) if task.tid else (-1, task.lane)
        if key not in self._numbers:
            self._numbers[key] = len(self.tasks)
            self.tasks.append(task)
        return self._numbers[key]
