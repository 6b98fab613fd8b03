"""Lanes of an instance, which are its CPUs: what the kernel's folders `per_cpu/cpuN` show.

A lane has the records of one thread, then those of another, as the numbers in the text of `trace` say. It is
given to threads when the buffer is read, so a thread may have another lane in the next text, as a kernel's
task moves between CPUs.

The buffer is one for all lanes: a pipe that takes the records of one lane takes those of all. The others are
kept here, in pieces, for the pipes of their lanes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from funcgraph import _engine
from funcgraph.instance.pipe import Pipe
from funcgraph.instance.state import State

__all__ = ["LanePages", "LanePipe", "Piece", "count", "stats_text", "take_all", "text"]

_CLOCKS = {"boot": time.CLOCK_BOOTTIME, "mono_raw": time.CLOCK_MONOTONIC_RAW, "tai": time.CLOCK_TAI}
_COUNTING = ("counter", "uptime", "x86-tsc")  # clocks whose times are no seconds


class Piece:
    """Records that were taken out of a buffer, as a trace.

    Attributes:
        trace: the bytes of a .fg.
        left: lane -> how many of its records nobody has read yet.
    """

    __slots__ = ("left", "trace")

    def __init__(self, trace: bytes, left: dict[int, int]) -> None:
        self.trace = trace
        self.left = left


def _reading() -> Any:
    from funcgraph.instance import reading

    return reading


def count(state: State) -> int:
    """Return how many lanes the buffer has now, at least one."""
    with state.lock:
        if state.engine.closed or not (state.engine.has_unread or state.kept_pieces):
            return 1
        records: dict[int, int] = _engine.untraced(_records, state.trace_bytes())
    return max([0, *records, *(lane for piece in state.kept_pieces for lane in piece.left)]) + 1


def _records(trace: bytes) -> dict[int, int]:
    from funcgraph.session.memory_file import memory_file

    with memory_file(trace) as file:
        records: dict[int, int] = _reading().records_of(file)
        return records


def text(state: State, lane: int) -> bytes:
    """Return what the buffer holds of a lane, as `trace` prints it."""
    with state.lock:
        trace = state.trace_bytes()
        lines: bytes = _engine.untraced(_text, state, trace, (lane,))
    return lines


def _text(state: State, trace: bytes, lanes: Sequence[int]) -> Any:
    return _reading().text_of_bytes(trace, state.engine.tracer, state.options, lanes)


# ---- taking


def take_all(state: State) -> bytes:
    """Return the lines of all lanes that nobody has read, and leave them out of later texts."""
    reading = _reading()
    pieces, state.kept_pieces = state.kept_pieces, []
    kept = [reading.without_header(_text(state, piece.trace, tuple(piece.left))) for piece in pieces]
    for piece in pieces:
        _count_taken(state, piece.left)
    lines, records = reading.take_lines(state.engine, state.name, state.options, clock=state.clock)
    _count_taken(state, records)
    return b"".join([*kept, lines])


def _count_taken(state: State, records: Mapping[int, int]) -> None:
    for lane, number in records.items():
        state.taken[lane] = state.taken.get(lane, 0) + number


def _take_piece(state: State) -> None:
    """Move what the buffer holds into a piece. The oldest go if they are more than two buffers."""
    if state.engine.has_unread:
        trace = _reading().trace_bytes(state.engine, state.name, clock=state.clock, consume=True)
        state.kept_pieces.append(Piece(trace, _records(trace)))
    while sum(len(piece.trace) for piece in state.kept_pieces[:-1]) > state.engine.buffer_kb * 2048:
        del state.kept_pieces[0]


def _of_lane(state: State, lane: int) -> list[bytes]:
    """Return the pieces that have something of a lane; nobody else gets that."""
    _take_piece(state)
    traces = []
    for piece in state.kept_pieces:
        if lane in piece.left:
            traces.append(piece.trace)
            _count_taken(state, {lane: piece.left.pop(lane)})
    state.kept_pieces = [piece for piece in state.kept_pieces if piece.left]
    return traces


class LanePipe(Pipe):
    """The lines of one lane as they come: per_cpu/cpuN/trace_pipe."""

    def __init__(self, state: State, lane: int) -> None:
        super().__init__(state, lane)
        self._lane = lane

    @property
    def ready(self) -> bool:
        """Whether read() might find records now."""
        kept = any(self._lane in piece.left for piece in self._state.kept_pieces)
        return self.is_open and (self._state.engine.has_unread or kept)

    def _take(self) -> bytes:
        return b"".join(_engine.untraced(self._taken))

    def _taken(self) -> list[bytes]:
        return [self._shown(trace) for trace in _of_lane(self._state, self._lane)]

    def _shown(self, trace: bytes) -> bytes:
        lines: bytes = _reading().without_header(_text(self._state, trace, (self._lane,)))
        return lines


class LanePages(LanePipe):
    """The records of one lane as they come, in pages of the kernel's ring buffer: trace_pipe_raw."""

    def _shown(self, trace: bytes) -> bytes:
        from funcgraph.instance import pages

        return pages.of_lane(trace, self._lane)


# ---- stats


def stats_text(state: State, lane: int) -> str:
    """Return the figures of a lane: the kernel's per_cpu/cpuN/stats.

    Records are lost by the buffer, not by a lane: lane 0 counts them.
    """
    with state.lock:
        text: str = _engine.untraced(_stats_text, state, state.trace_bytes(), lane)
    return text


def _stats_text(state: State, trace: bytes, lane: int) -> str:
    from funcgraph.instance import pages
    from funcgraph.session.memory_file import memory_file
    from funcgraph.tracedata import TraceFile

    with memory_file(trace) as fd:
        file = TraceFile(fd)
    tasks = [task for task in file.tasks if task.lane == lane]
    lost = file.lost if lane == 0 else 0
    overwrites = state.options["overwrite"]
    newest = max((task.last_ns for task in tasks), default=0)
    rows = {
        "entries": sum(task.records for task in tasks),
        "overrun": lost if overwrites else 0,
        "commit overrun": 0,
        "bytes": pages.bytes_used(pages.of_lane(trace, lane)) if tasks else 0,
        "oldest event ts": _time(state, min((task.first_ns for task in tasks), default=0)),
        "now ts": _time(state, _now(state, newest)),
        "dropped events": 0 if overwrites else lost,
        "read events": state.taken.get(lane, 0),
    }
    return "".join(f"{name}: {value}\n" for name, value in rows.items())


def _now(state: State, newest: int) -> int:
    if state.clock in _COUNTING:
        return newest
    return time.clock_gettime_ns(_CLOCKS.get(state.clock, time.CLOCK_MONOTONIC))


def _time(state: State, at: int) -> str:
    if state.clock in _COUNTING:
        return str(at)
    return f"{at // 10**9:5}.{at % 10**9 // 1000:06}"
