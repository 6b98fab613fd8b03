"""Lanes of an instance, which are its CPUs: what the kernel's folders `per_cpu/cpuN` show.

A lane has the records of one thread, then those of another, as the numbers in the text of `trace` say. It is
given to threads when the buffer is read, so a thread may have another lane in the next text, as a kernel's
task moves between CPUs.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from funcgraph import _engine
from funcgraph.instance.pipe import Pipe
from funcgraph.instance.state import State

if TYPE_CHECKING:
    from funcgraph.tracedata.description import Task

__all__ = ["LanePages", "LanePipe", "count", "stats_text", "tasks", "text", "used"]

_CLOCKS = {"boot": time.CLOCK_BOOTTIME, "mono_raw": time.CLOCK_MONOTONIC_RAW, "tai": time.CLOCK_TAI}
_COUNTING = ("counter", "uptime", "x86-tsc")  # clocks whose times are no seconds


def count(state: State) -> int:
    """Return how many lanes there are now: those of the buffer, and one for each CPU at least.

    Tools such as trace-cmd open a folder for each CPU of the machine.
    """
    with state.lock:
        state.nr_lanes = max(os.sysconf("SC_NPROCESSORS_CONF"), *(lane + 1 for lane in (0, *used(state))))
    return state.nr_lanes


def used(state: State) -> set[int]:
    """Return the lanes that have records."""
    with state.lock:
        return {*state.pieces.lanes(), *(task.lane for task in tasks(state))}


def tasks(state: State) -> list[Task]:
    """Return the threads that have records in the buffer."""
    with state.lock:
        if state.engine.closed or not state.engine.has_unread:
            return []
        return _engine.untraced(_tasks, state.trace_bytes())


def _tasks(trace: bytes) -> list[Task]:
    from funcgraph.buffer import reading

    return reading.tasks_of(trace)


def text(state: State, lane: int) -> str:
    """Return what the buffer holds of a lane, as `trace` prints it."""
    with state.lock:
        lines = _engine.untraced(_text, state, state.trace_bytes(), lane)
    return lines.decode("utf-8", "replace")


def _text(state: State, trace: bytes, lane: int) -> bytes:
    from funcgraph.buffer import reading

    lanes = (lane,) if lane in state.shown else ()
    return reading.text_of_bytes(trace, state.engine.tracer, state.options, lanes)


class LanePipe(Pipe):
    """The lines of one lane as they come: per_cpu/cpuN/trace_pipe."""

    def __init__(self, state: State, lane: int) -> None:
        super().__init__(state, lane)
        self._lane = lane

    @property
    def ready(self) -> bool:
        """Whether read() might find records now."""
        return self.is_open and (self._state.engine.has_unread or self._lane in self._state.pieces.lanes())

    def _take(self) -> bytes:
        return b"".join(_engine.untraced(self._taken))

    def _taken(self) -> list[bytes]:
        traces = list(self._state.pieces.take_lane(self._lane, self._state.clock))
        return [self._shown(trace) for trace in traces if self._lane in self._state.shown]

    def _shown(self, trace: bytes) -> bytes:
        return self._state.pieces.lines(trace, self._state.options, (self._lane,))


class LanePages(LanePipe):
    """The records of one lane as they come, in pages of the kernel's ring buffer: trace_pipe_raw."""

    def _shown(self, trace: bytes) -> bytes:
        return _pages(trace, self._lane)


def _pages(trace: bytes, lane: int) -> bytes:
    from funcgraph.buffer import pages
    from funcgraph.buffer.event_ids import event_id
    from funcgraph.events import live

    ids = {key: event_id(event) for key, event in live.events().items()}
    return pages.of_lane(trace, lane, ids)


# ---- stats


def stats_text(state: State, lane: int) -> str:
    """Return the figures of a lane: the kernel's per_cpu/cpuN/stats.

    Records are lost by the buffer, not by a lane: lane 0 counts them.
    """
    with state.lock:
        return _engine.untraced(_stats_text, state, state.trace_bytes(), lane)


def _stats_text(state: State, trace: bytes, lane: int) -> str:
    from funcgraph.buffer import pages, reading

    own = [task for task in reading.tasks_of(trace) if task.lane == lane]
    lost = reading.lost_of(trace) if lane == 0 else 0
    overwrites = state.options["overwrite"]
    newest = max((task.last_ns for task in own), default=0)
    rows = {
        "entries": sum(task.records for task in own),
        "overrun": lost if overwrites else 0,
        "commit overrun": 0,
        "bytes": pages.bytes_used(_pages(trace, lane)) if own else 0,
        "oldest event ts": _time(state, min((task.first_ns for task in own), default=0)),
        "now ts": _time(state, _now(state, newest)),
        "dropped events": 0 if overwrites else lost,
        "read events": state.pieces.taken.get(lane, 0),
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
