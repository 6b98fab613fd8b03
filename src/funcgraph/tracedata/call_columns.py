"""Calls of a trace as columns: a row for each call, put together in C."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from funcgraph import _tracedata
from funcgraph.tracedata.description import Task, reading_error


class CallColumns:
    """A batch of calls: an array for each of their properties.

    The arrays are read-only memoryviews, as those of `Columns`. Item i of each is of call i. Sums over all
    calls are the figures of `funcgraph summary`.

    Attributes:
        id: uint64 (format "Q"): the call's number, in the order of beginnings, from 1.
        parent: uint64: the number of the traced call that it was made from, or 0.
        begin_ns, end_ns: uint64: when it began and ended, on the trace's clock. Of a call that is open:
            `end_ns` is its last event.
        duration_ns: int64 (format "q"): how long it ran, without the time in which it was suspended or waited
            for the recorder; -1: unknown, for its beginning or its end is not in the trace.
        self_ns: uint64: of that its own time, without traced callees; of an open call up to its last event.
        function: uint32 (format "I"): index in the trace's `functions`; their number: not named.
        caller: uint32: the function that made the call, if that was recorded; the number of functions: none.
        caller_line: uint32: the line at which it did, or 0.
        task: uint32: index in `tasks`: where it ended.
        depth: uint32: how many traced calls it was made from, there.
        resumes: uint32: how often it was resumed.
        ended: uint8 (format "B"): index in `ENDS`.
        arguments_offsets, arguments: int32 and uint8: its arguments as a report prints them: the text of call
            i lies from item i of the offsets to item i + 1, as Apache Arrow stores texts.
        result_offsets, result: likewise: its result, or the type of the exception that ended it.
        tasks: the trace's `tasks`, and then those that the trace's description lacks.
    """

    ENDS: ClassVar[tuple[str, ...]] = _tracedata.CALL_ENDS
    "How a call can end; `open`: its end is not in the trace, or it is still suspended."

    __slots__ = (*_tracedata.CALL_COLUMNS, "tasks")

    id: memoryview[int]
    parent: memoryview[int]
    begin_ns: memoryview[int]
    end_ns: memoryview[int]
    duration_ns: memoryview[int]
    self_ns: memoryview[int]
    function: memoryview[int]
    caller: memoryview[int]
    caller_line: memoryview[int]
    task: memoryview[int]
    depth: memoryview[int]
    resumes: memoryview[int]
    ended: memoryview[int]
    arguments_offsets: memoryview[int]
    arguments: memoryview[int]
    result_offsets: memoryview[int]
    result: memoryview[int]
    tasks: Sequence[Task]

    def __init__(self, columns: _tracedata.ColumnTuple, tasks: Sequence[Task]) -> None:
        for name, column in zip(_tracedata.CALL_COLUMNS, columns, strict=True):
            setattr(self, name, column)
        self.tasks = tasks

    def __len__(self) -> int:
        return len(self.id)

    def __repr__(self) -> str:
        return f"<CallColumns of {len(self)} calls>"


def call_batches(
    iterator: _tracedata.CallsIterator, known: Sequence[Task], cpus: int
) -> Iterator[CallColumns]:
    """Return an iterator over the batches of a reader."""
    tasks = list(known)
    try:
        for columns in iterator:
            for lane, tid in iterator.unknown_tasks()[len(tasks) - len(known) :]:
                tasks.append(Task.unnamed(lane, tid, lane // cpus))
            yield CallColumns(columns, tasks)
    except ValueError as error:
        raise reading_error(error) from None
