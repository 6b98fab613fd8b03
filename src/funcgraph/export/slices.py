"""The slices of a trace: when each stretch of each call begins and ends. slices.h says what they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from funcgraph import _tracedata
from funcgraph.export.source import Source
from funcgraph.tracedata.events import Columns
from funcgraph.tracedata.selected_time import COUNTING_CLOCKS
from funcgraph.tracedata.threads import Threads, arrays_of

(BEGIN, RESUME, RETURN, RAISE, SUSPEND, CLOSE, LOST, OPEN, SUSPENDED) = range(9)
WHATS = _tracedata.SLICE_WHATS
ONLY_END, WHOLE, IRQ = _tracedata.SLICE_ONLY_END, _tracedata.SLICE_WHOLE, _tracedata.SLICE_IRQ
LOST_END = _tracedata.SLICE_LOST_END
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


def _lost_ends(slices: Slices) -> int:
    flags = bytes(slices.flags)
    return sum(flags.count(value) for value in range(2 * LOST_END) if value & LOST_END)


def slices_of(
    source: Source, threads: Threads, whats: int = ALL, *, first_id: int = 1, size: int = 65536
) -> Iterator[tuple[Columns | None, Slices]]:
    """Return an iterator over batches of events with their slices.

    The last batch has no events: it has the ends of what is in progress. What was lost or in progress is
    reported in the notes of the source.

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
        source.lost_ends += _lost_ends(slices)
        yield batch, slices
    slices = Slices(slicer.finish())
    source.open_ends += bytes(slices.what).count(OPEN)
    yield None, slices
