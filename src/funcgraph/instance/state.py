"""The state of an instance: the engine's instance, and what the engine does not keep of it."""

from __future__ import annotations

from errno import EBUSY
from typing import TYPE_CHECKING, Protocol

from funcgraph import _engine
from funcgraph.buffer.pieces import Pieces, Shown
from funcgraph.instance.lock import InstanceLock
from funcgraph.settings.table import OPTIONS

if TYPE_CHECKING:
    from funcgraph.events.event_state import EventState
    from funcgraph.instance.latency_instance import InstanceLatency
    from funcgraph.instance.profile import FunctionProfile

__all__ = ["State"]


class Commands(Protocol):
    """What an instance needs of its function commands: a FunctionCommands, which is above this module."""

    def text(self) -> str: ...

    def close(self) -> None: ...


class State:
    """What an instance consists of. Whoever changes it holds `lock`.

    Attributes:
        name: the instance's name.
        engine: its tracer, buffer and user of the function graph.
        lock: held for each change and each read.
        pipes: id of each pipe that is open -> the lane that it takes from; None: all.
        open_files: id of each file of a tracefs that is open.
        pieces: what a pipe of one lane took of others, for the pipes of those.
        nr_lanes: how many lanes there were when somebody last looked.
        shown: the lanes that texts show.
        options: trace option -> whether it is on.
        patterns: setting -> its patterns.
        tids: setting -> its thread ids: those of the tracer.
        event_tids: file -> the thread ids that it holds: set_event_pid, set_event_notrace_pid.
        c_calls: C functions are recorded where recorded functions call them.
        clock: trace_clock.
        latency: the latency tracer, if that is the current tracer.
        profile: the function profiler, once it was enabled.
        commands: its FunctionCommands, once somebody looked at them.
        event_states: name of an event -> what this instance wants of it.
    """

    __slots__ = (
        "c_calls",
        "clock",
        "commands",
        "engine",
        "event_states",
        "event_tids",
        "latency",
        "lock",
        "name",
        "nr_lanes",
        "open_files",
        "options",
        "patterns",
        "pieces",
        "pipes",
        "profile",
        "shown",
        "tids",
    )

    def __init__(self, name: str, buffer_kb: int, c_calls: bool) -> None:
        self.name = name
        self.engine = _engine.Instance(name, buffer_kb=buffer_kb)
        self.lock = InstanceLock()
        self.pipes: dict[int, int | None] = {}
        self.open_files: set[int] = set()
        self.pieces = Pieces(self.engine, name)
        self.nr_lanes = 1
        self.shown = Shown()
        self.options = {name: option.initial for name, option in OPTIONS.items()}
        self.patterns: dict[str, tuple[str, ...]] = {}
        self.tids: dict[str, tuple[int, ...]] = {}
        self.event_tids: dict[str, tuple[int, ...]] = {"set_event_pid": (), "set_event_notrace_pid": ()}
        self.c_calls = c_calls
        self.clock = "mono"
        self.latency: InstanceLatency | None = None
        self.profile: FunctionProfile | None = None
        self.commands: Commands | None = None
        self.event_states: dict[str, EventState] = {}

    def check_no_pipe(self) -> None:
        """Raise OSError EBUSY if a trace_pipe is open."""
        if self.pipes:
            raise OSError(EBUSY, "the instance is busy: its trace_pipe is open", self.name)

    def after_fork(self) -> None:
        """Forget, in a fork's child, the threads that held the lock or a pipe."""
        self.lock = InstanceLock()
        self.pipes.clear()
        self.open_files.clear()
        self.pieces = Pieces(self.engine, self.name)

    def trace(self) -> str:
        """Return the text of `trace`: what the buffer holds, or what the latency tracer found."""
        with self.lock:
            return self.latency.report() if self.latency else _engine.untraced(_read, self)

    def take_lines(self) -> bytes:
        """Return the buffer's lines, in UTF-8; no later text has them. The caller holds the lock."""
        return _engine.untraced(self.pieces.take_all, self.options, self.clock, self.shown)

    def clear(self) -> None:
        """Empty the buffer."""
        with self.lock:
            self.engine.clear()
            self.pieces.clear()

    def write_trace(self, path: str) -> None:
        """Write a trace of the buffer. The caller holds the lock."""
        _engine.untraced(_write_trace, self, path)

    def trace_bytes(self) -> bytes:
        """Return a trace of the buffer, a .fg. The caller holds the lock."""
        return _engine.untraced(_trace_bytes, self)


# What reading needs is imported when somebody reads.


def _read(state: State) -> str:
    from funcgraph.buffer import reading

    return reading.read_text(
        state.engine, state.name, state.options, clock=state.clock, lanes=state.shown.only()
    )


def _write_trace(state: State, path: str) -> None:
    from funcgraph.buffer import reading

    tracer = state.engine.tracer
    if state.latency and tracer == "nop":  # else the buffer has the graph inside sections
        tracer = state.latency.tracer
    meta = reading.describe(tracer, state.name)
    reading.write_trace(state.engine, path, meta, consume=False, clock=state.clock)


def _trace_bytes(state: State) -> bytes:
    from funcgraph.buffer import reading

    return reading.trace_bytes(state.engine, state.name, clock=state.clock)
