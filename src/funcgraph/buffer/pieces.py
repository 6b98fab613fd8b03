"""Records that were taken out of an instance's buffer for one lane, with those of the others.

The buffer is one for all lanes: a pipe that takes the records of one lane takes those of all. The others are
kept, for the pipes of their lanes, as pieces. All of this runs untraced (_engine.untraced).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from funcgraph import _engine

if TYPE_CHECKING:
    from funcgraph.tracedata.description import Task

__all__ = ["Pieces", "Shown"]


class Shown(Container[int]):
    """The lanes that texts show: tracing_cpumask.

    Args:
        mask: a bit for each lane; None: all lanes, also those that come.
    """

    __slots__ = ("_mask",)

    def __init__(self, mask: int | None = None) -> None:
        self._mask = mask

    def __contains__(self, lane: object) -> bool:
        return self._mask is None or (isinstance(lane, int) and bool(self._mask >> lane & 1))

    def of(self, bits: int) -> int:
        """Return the mask of so many lanes."""
        return (1 << bits) - 1 if self._mask is None else self._mask

    def only(self) -> Shown | None:
        """Return None if all lanes are shown."""
        return None if self._mask is None else self


class _Piece:
    """What was taken at once.

    Attributes:
        trace: the bytes of a .fg.
        left: lane -> how many of its records nobody has read yet.
    """

    __slots__ = ("left", "trace")

    def __init__(self, trace: bytes, left: dict[int, int]) -> None:
        self.trace = trace
        self.left = left


class Pieces:
    """The pieces of an instance.

    Args:
        engine: the instance.
        name: its name.

    Attributes:
        taken: lane -> how many records readers have taken of it.
        threads: thread id -> name, of the threads whose records were taken, the latest last.
    """

    MOST_THREADS = 32768

    def __init__(self, engine: _engine.Instance, name: str) -> None:
        self._engine = engine
        self._name = name
        self._pieces: list[_Piece] = []
        self.taken: dict[int, int] = {}
        self.threads: dict[int, str] = {}

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def lanes(self) -> set[int]:
        """Return the lanes that have records in pieces."""
        return {lane for piece in self._pieces for lane in piece.left}

    def clear(self) -> None:
        """Forget all records."""
        self._pieces.clear()
        self.taken.clear()

    def take_all(self, options: Mapping[str, bool], clock: str, shown: Shown) -> bytes:
        """Return the lines that nobody has read, of the lanes that are shown; no later text has them."""
        from funcgraph.buffer import reading  # when somebody reads

        pieces, self._pieces = self._pieces, []
        texts = [
            self.lines(piece.trace, options, [lane for lane in piece.left if lane in shown])
            for piece in pieces
        ]
        for piece in pieces:
            self._count(piece.left)
        lines, tasks = reading.take_lines(self._engine, self._name, options, clock=clock, lanes=shown.only())
        self._note(tasks)
        self._count(reading.records_of(tasks))
        return b"".join([*texts, lines])

    def take_lane(self, lane: int, clock: str) -> Iterator[bytes]:
        """Yield the traces in which a lane has records that nobody has read. Nobody else gets those."""
        self._take(clock)
        for piece in self._pieces:
            if lane in piece.left:
                self._count({lane: piece.left.pop(lane)})
                yield piece.trace
        self._pieces = [piece for piece in self._pieces if piece.left]

    def lines(self, trace: bytes, options: Mapping[str, bool], lanes: Container[int]) -> bytes:
        """Return the lines of lanes in a trace."""
        from funcgraph.buffer import reading  # when somebody reads

        text = reading.text_of_bytes(trace, self._engine.tracer, options, lanes)
        return reading.without_header(text)

    def _take(self, clock: str) -> None:
        """Move what the buffer holds into a piece. The oldest go if they are more than two buffers."""
        if self._engine.has_unread:
            from funcgraph.buffer import reading  # when somebody reads

            trace = reading.trace_bytes(self._engine, self._name, clock=clock, consume=True)
            tasks = reading.tasks_of(trace)
            self._note(tasks)
            self._pieces.append(_Piece(trace, reading.records_of(tasks)))
        while sum(len(piece.trace) for piece in self._pieces[:-1]) > self._engine.buffer_kb * 2048:
            del self._pieces[0]

    def _note(self, tasks: Iterable[Task]) -> None:
        """Remember the names of threads."""
        for task in tasks:
            self.threads.pop(task.tid, None)
            self.threads[task.tid] = task.name
        while len(self.threads) > self.MOST_THREADS:
            del self.threads[next(iter(self.threads))]

    def _count(self, records: Mapping[int, int]) -> None:
        for lane, number in records.items():
            self.taken[lane] = self.taken.get(lane, 0) + number
