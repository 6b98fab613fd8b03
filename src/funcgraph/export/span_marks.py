"""Marks as a part of spans: each belongs to the innermost call that was running in its thread."""

from __future__ import annotations

from collections import defaultdict

from funcgraph.export.marks import Mark, marks_of
from funcgraph.export.slices import Slices
from funcgraph.export.source import Source
from funcgraph.tracedata.events import Columns
from funcgraph.tracedata.threads import Threads


class SpanMarks:
    """Finds the spans of marks. Ends of stretches are enough: the first one after a mark, of a stretch that
    began before it, is that of the innermost call.

    Attributes:
        of_spans: the marks of spans that have not been written, by the number of the call.
    """

    def __init__(self, source: Source, threads: Threads) -> None:
        self._source, self._threads = source, threads
        self.of_spans: dict[int, list[Mark]] = {}
        self._waiting: defaultdict[int, list[Mark]] = defaultdict(list)  # by thread, the latest last

    def add(self, batch: Columns | None, slices: Slices) -> None:
        """Take in the marks of a batch, and the ends of all stretches in it."""
        marks = [] if batch is None else list(marks_of(self._source, batch))
        if not marks and not self._waiting:
            return
        numbers = self._threads.of(batch.tasks)[0] if batch is not None else ()
        following = iter(marks)
        mark = next(following, None)
        columns = slices.time_ns, slices.begin_ns, slices.thread, slices.id, slices.above
        for time, begin, thread, call, above in zip(*(c.tolist() for c in columns), strict=True):
            while mark is not None and mark.time_ns < time:
                self._waiting[numbers[mark.task]].append(mark)
                mark = next(following, None)
            if thread in self._waiting:
                self._end(thread, begin, call, is_outermost=not above)
        while mark is not None:
            self._waiting[numbers[mark.task]].append(mark)
            mark = next(following, None)

    def _end(self, thread: int, begin_ns: int, call: int, *, is_outermost: bool) -> None:
        """End a stretch: it has the marks since its begin that no callee had."""
        waiting = self._waiting[thread]
        inside = len(waiting)
        while inside and waiting[inside - 1].time_ns >= begin_ns:
            inside -= 1
        if inside < len(waiting):
            self.of_spans.setdefault(call, []).extend(waiting[inside:])
            del waiting[inside:]
        if is_outermost or not waiting:  # what is left was in no call
            del self._waiting[thread]
