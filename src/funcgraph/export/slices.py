"""The slices of a trace: when each stretch of each call begins and ends. slices.h says what they are."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterator, Sequence
from typing import ClassVar

from funcgraph import _tracedata
from funcgraph.export.source import COUNTING_CLOCKS, Source
from funcgraph.tracedata.description import Task
from funcgraph.tracedata.events import Columns

(BEGIN, RESUME, RETURN, RAISE, SUSPEND, CLOSE, LOST, OPEN, SUSPENDED) = range(9)
WHATS = _tracedata.SLICE_WHATS
ONLY_END, WHOLE, IRQ = _tracedata.SLICE_ONLY_END, _tracedata.SLICE_WHOLE, _tracedata.SLICE_IRQ
NO_EVENT = 2**32 - 1
NO_FUNCTION = 2**32 - 1


def _bits(*whats: int) -> int:
    return sum(1 << what for what in whats)


#: All kinds of slices.
ALL = _bits(*range(len(WHATS)))
#: Each call once, at its end.
CALLS = _bits(RETURN, RAISE, CLOSE, LOST, OPEN, SUSPENDED)
#: Each stretch of each call.
STRETCHES = _bits(RETURN, RAISE, SUSPEND, CLOSE, LOST, OPEN)


class Slices:
    """A batch of slices: an array for each of their properties, as `Columns` has them of events."""

    WHATS: ClassVar[tuple[str, ...]] = WHATS

    __slots__ = (*_tracedata.SLICES, "arrays")

    time_ns: memoryview[int]
    begin_ns: memoryview[int]
    call_ns: memoryview[int]
    ran_ns: memoryview[int]
    self_ns: memoryview[int]
    id: memoryview[int]
    above: memoryview[int]
    root: memoryview[int]
    event: memoryview[int]
    function: memoryview[int]
    parent: memoryview[int]
    caller: memoryview[int]
    caller_line: memoryview[int]
    thread: memoryview[int]
    task: memoryview[int]
    depth: memoryview[int]
    resumes: memoryview[int]
    what: memoryview[int]
    flags: memoryview[int]
    data_offsets: memoryview[int]
    data: memoryview[int]

    def __init__(self, arrays: tuple[memoryview, ...]) -> None:
        self.arrays = arrays
        for name, items in zip(_tracedata.SLICES, arrays, strict=True):
            setattr(self, name, items)

    def __len__(self) -> int:
        return len(self.time_ns)


def arrays_of(batch: Columns) -> tuple[memoryview, ...]:
    """Return the arrays of a batch of events, as the extension module takes them."""
    return tuple(getattr(batch, name) for name in _tracedata.COLUMNS)


class Threads:
    """The threads of a trace, by number: what has a stack of calls of its own.

    A task is a thread, but for a kernel's trace: there, a thread has a task in each lane that it ran in, and
    each CPU has an idle task with the thread id 0.

    Attributes:
        tasks: of each thread, its first task.
    """

    def __init__(self, source: Source) -> None:
        self._threads_move = source.threads_move
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


def slices_of(
    source: Source, threads: Threads, whats: int = ALL, *, first_id: int = 1, size: int = 65536
) -> Iterator[tuple[Columns | None, Slices]]:
    """Return an iterator over batches of events with their slices.

    The last batch has no events: it has the ends of what is in progress. What was lost or in progress is
    told in the notes of the source.

    Args:
        source: what is read.
        threads: gets the threads.
        whats: which kinds of slices: ALL, CALLS, STRETCHES. Those two lack no end.
        first_id: the number of the first call.
        size: events in a batch.
    """
    slicer = _tracedata.Slicer(source.trace.clock not in COUNTING_CLOCKS, whats, first_id)
    for batch in source.columns(size=size):
        slices = Slices(slicer.add(arrays_of(batch), *threads.of(batch.tasks)))
        source.lost_ends += bytes(slices.what).count(LOST)
        yield batch, slices
    slices = Slices(slicer.finish())
    source.open_ends += bytes(slices.what).count(OPEN)
    yield None, slices
