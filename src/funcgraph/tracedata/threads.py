"""The threads of a trace: what has a stack of calls of its own."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Sequence

from funcgraph import _tracedata
from funcgraph.tracedata.description import Task
from funcgraph.tracedata.events import Columns

__all__ = ["Threads", "arrays_of", "threads_of"]


def arrays_of(batch: Columns) -> tuple[memoryview, ...]:
    """Return the arrays of a batch of events, as the extension module takes them."""
    return tuple(getattr(batch, name) for name in _tracedata.COLUMNS)


class Threads:
    """The threads of a trace, by number.

    Args:
        key: what the tasks of one thread have in common, and no others: from a task's index and the task.

    Attributes:
        tasks: of each thread, its first task.
    """

    def __init__(self, key: Callable[[int, Task], Hashable]) -> None:
        self._key = key
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
        key = self._key(place, task)
        if key not in self._numbers:
            self._numbers[key] = len(self.tasks)
            self.tasks.append(task)
        return self._numbers[key]


def _task(place: int, task: Task) -> Hashable:
    return place


def _moving_thread(place: int, task: Task) -> Hashable:
    return (task.buffer, task.tid) if task.tid else (-1, task.lane)


def threads_of(is_kernel: bool) -> Threads:
    """Return the threads of a trace: none so far.

    A task is a thread, but for a kernel's trace, whose lanes are CPUs: there, a thread has a task in each
    lane that it ran in, maybe in the middle of calls, and each CPU has an idle task with the thread id 0.

    Args:
        is_kernel: whether it is a kernel's.
    """
    return Threads(_moving_thread if is_kernel else _task)
