"""Slices in the order in which they nest: for formats that want each end after its begin, and times in order.

Slices whose begin is not in the trace have only an end. If a trace has nothing else (--thresh), those of a
thread are put in order as soon as a call from no other has ended. Where records were lost, such a slice
begins at the last time that its thread has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from funcgraph.export.slices import ONLY_END, RESUME, SUSPENDED, Slices

#: A begin or end of a stretch of a call: when, whether it begins, its function. Those of a thread nest, and
#: are in order of time.
Step: TypeAlias = tuple[int, bool, int]


class _Held(NamedTuple):
    """A slice with only an end, in the order of what encloses what."""

    begin_ns: int
    depth: int
    order: int
    end_ns: int
    function: int


class _Thread:
    def __init__(self) -> None:
        self.depth = 0  # begins without an end so far
        self.last_ns = 0
        self.nr_cut = 0  # begins that came too late for their time
        self.held: list[_Held] = []
        self.steps: list[Step] = []

    def add(self, time_ns: int, is_begin: bool, function: int) -> None:
        self.nr_cut += is_begin and time_ns < self.last_ns
        self.last_ns = max(time_ns, self.last_ns)
        self.depth += 1 if is_begin else -1
        self.steps.append((self.last_ns, is_begin, function))

    def add_only_end(self, begin_ns: int, end_ns: int, depth: int, function: int) -> None:
        if self.depth:  # it lies in a call whose begin has been reported
            self.add(begin_ns, True, function)
            self.add(end_ns, False, function)
            return
        self.held.append(_Held(begin_ns, depth, -len(self.held), end_ns, function))
        if depth == 0:
            self.release()

    def release(self) -> None:
        """Tell what is held, each slice within those that enclose it."""
        open_slices: list[_Held] = []
        for held in sorted(self.held):
            while open_slices and (
                open_slices[-1].depth >= held.depth or open_slices[-1].end_ns <= held.begin_ns
            ):
                ended = open_slices.pop()
                self.add(ended.end_ns, False, ended.function)
            self.add(held.begin_ns, True, held.function)
            open_slices.append(held)
        while open_slices:
            ended = open_slices.pop()
            self.add(ended.end_ns, False, ended.function)
        self.held.clear()


class Nesting:
    """Puts the slices of all threads in order. It keeps only what has to wait."""

    def __init__(self) -> None:
        self._threads: defaultdict[int, _Thread] = defaultdict(_Thread)

    def steps(self, slices: Slices) -> Iterator[tuple[int, list[Step]]]:
        """Yield threads with the steps that each has more than before."""
        columns = (
            slices.thread, slices.what, slices.flags, slices.time_ns, slices.begin_ns, slices.depth,
            slices.function,
        )  # fmt: skip
        threads = self._threads
        for number, what, flags, time, begin, depth, function in zip(
            *(c.tolist() for c in columns), strict=True
        ):
            thread = threads[number]
            if flags & ONLY_END:
                thread.add_only_end(begin, time, depth, function)
            elif what != SUSPENDED:
                if thread.held:
                    thread.release()
                is_begin = what <= RESUME
                thread.depth += 1 if is_begin else -1
                thread.last_ns = time  # slices of a thread are in order of time
                thread.steps.append((time, is_begin, function))
        yield from self._made()

    def finish(self) -> Iterator[tuple[int, list[Step]]]:
        """Yield what had to wait."""
        for thread in self._threads.values():
            thread.release()
        yield from self._made()

    def remarks(self) -> Iterator[str]:
        """Yield what there is to say at the end."""
        if cut := sum(thread.nr_cut for thread in self._threads.values()):
            yield f"{cut:,} calls whose begin is not there are too short: they begin after what they called"

    def _made(self) -> Iterator[tuple[int, list[Step]]]:
        for number, thread in self._threads.items():
            if thread.steps:
                yield number, thread.steps
                thread.steps = []
