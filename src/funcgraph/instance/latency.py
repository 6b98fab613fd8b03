"""The latency tracers: the longest time that a callback, a task or a thread waited, and for what.

    with Latency("loopblock") as latency:
        asyncio.run(main())
    print(latency.max_latency_us)
    print(latency.report())

The semantics are those of the kernel's latency tracers (Documentation/trace/ftrace.rst: irqsoff, wakeup,
tracing_max_latency, tracing_thresh); docs/guides/latency.md says what a section is here.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from types import TracebackType

from funcgraph import _engine
from funcgraph.settings import check

__all__ = ["Event", "Latency", "Section"]

_GRAPH_HEAD = """\
#   REL TIME      TASK/PID         DURATION                  FUNCTION CALLS
#      |           |    |            |   |                     |   |   |   |
"""
# The kernel's delay marks: the next line is more than so many microseconds later.
_MARKS = ((1_000_000, "$"), (100_000, "@"), (10_000, "*"), (1_000, "#"), (100, "!"), (10, "+"))


@dataclass(frozen=True)
class Event:
    """An event in a section.

    Attributes:
        time_ns: its time, in nanoseconds of CLOCK_MONOTONIC.
        duration_ns: its duration; 0 for a point in time.
        text: the function, as "module.qualname (file:line)", or another description. A text that begins
            with "=> " names a coroutine that the event before it awaited.
    """

    time_ns: int
    duration_ns: int
    text: str


@dataclass(frozen=True)
class Section:
    """The longest section that a latency tracer found.

    Attributes:
        latency_ns: its length in nanoseconds.
        begin_ns, end_ns: its begin and end, in nanoseconds of CLOCK_MONOTONIC.
        task: the name of the thread that it belongs to.
        tid: that thread's native id.
        started_at, ended_at: the functions with which it began and ended, as "module.qualname (file:line)".
        slowest_call: of "loopblock", the call inside that took longest by itself, without what it called:
            "function <-caller:line"; "": no call ended there, or another tracer.
        slowest_ns: how long that call took, in nanoseconds.
        events: its events, in order of time.
        left_out: number of events for which there was no room.
    """

    latency_ns: int
    begin_ns: int
    end_ns: int
    task: str
    tid: int
    started_at: str
    ended_at: str
    slowest_call: str
    slowest_ns: int
    events: tuple[Event, ...]
    left_out: int


class Latency:
    """A latency tracer that runs during a `with` block.

    Args:
        tracer: "loopblock": how long one callback kept an asyncio event loop from running another one.
            "wakeup": how long a callback or a task that was ready waited to run. "gilwait": how long a
            thread waited for the interpreter lock.
        display_graph: record the function graph inside sections too, for report(): with "loopblock" the
            calls of the callback, with the others all functions of all threads. This costs what recording
            costs.
        buffer_kb: size of the buffer for the graph, in KiB; it keeps the newest calls.
        slowest_call: of "loopblock": look for the call inside a section that took longest by itself. That
            looks at each call, also of C functions; without it the tracer costs next to nothing.
        thresh_us: in microseconds. Not 0: keep each section of at least this length; `section` is the
            latest. 0: keep only a section that is longer than all before.

    Raises:
        ValueError: unknown tracer or negative threshold; entering the block: the buffer is too small.
        OSError: entering the block: EBUSY: the tracer runs already (a process has one of each). EOPNOTSUPP:
            it does not work with this CPython; the text says why.

    Example:
        with Latency("loopblock", thresh_us=10_000) as latency:
            asyncio.run(main())
        if latency.section:
            print(latency.section.started_at, latency.max_latency_us, "us")

    The semantics are those of the kernel's irqsoff and wakeup tracers (Documentation/trace/ftrace.rst).
    """

    def __init__(
        self,
        tracer: str,
        *,
        thresh_us: int = 0,
        display_graph: bool = False,
        buffer_kb: int = 2048,
        slowest_call: bool = True,
    ) -> None:
        if tracer not in _engine.LATENCY_TRACERS:
            allowed = ", ".join(_engine.LATENCY_TRACERS) + check.meant(tracer, _engine.LATENCY_TRACERS)
            raise ValueError(f"invalid tracer {tracer!r}: must be one of {allowed}")
        self.tracer = tracer
        self._thresh_us = _microseconds("thresh_us", thresh_us)
        self._inside_kb = buffer_kb if display_graph else 0
        self._slowest_call = slowest_call

    def __enter__(self) -> Latency:
        """Start the tracer with a maximum of 0 and without a section."""
        _engine.latency_start(self.tracer, self._inside_kb, 0, 0, self._slowest_call)
        _engine.latency_set_thresh(self.tracer, self._thresh_us * 1000)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop the tracer; its section can be read until it starts again."""
        _engine.latency_stop(self.tracer)

    @property
    def max_latency_us(self) -> int:
        """The kernel's tracing_max_latency: the length of the kept section in whole microseconds.

        Setting 0 lets it start again; with another number it keeps only longer sections. ValueError: the
        number is negative.
        """
        return int(_engine.latency_get(self.tracer)["max_ns"]) // 1000

    @max_latency_us.setter
    def max_latency_us(self, value: int) -> None:
        _engine.latency_set_max(self.tracer, _microseconds("max_latency_us", value) * 1000)

    @property
    def thresh_us(self) -> int:
        """The kernel's tracing_thresh, in microseconds. ValueError: the number is negative."""
        return self._thresh_us

    @thresh_us.setter
    def thresh_us(self, value: int) -> None:
        self._thresh_us = _microseconds("thresh_us", value)
        _engine.latency_set_thresh(self.tracer, self._thresh_us * 1000)

    @property
    def section(self) -> Section | None:
        """The section that was kept; None: there is none yet."""
        return last_section(self.tracer)

    def report(self) -> str:
        """Return the kept section as text, in the layout of the kernel's latency traces.

        With display_graph it shows the graph inside, if a call began or ended there; otherwise the events.
        """
        return report(self.tracer)


def last_section(tracer: str) -> Section | None:
    """Return the section that a latency tracer has kept; None: there is none yet."""
    found = _engine.latency_section(tracer)
    if found is None:
        return None
    events = tuple(Event(*event) for event in found.pop("events"))
    return Section(**found, events=events)


def report(tracer: str) -> str:
    """Return the section that a latency tracer has kept as text."""
    return _engine.untraced(_report, tracer)


def _report(tracer: str) -> str:
    section = last_section(tracer)
    if section is None:
        return f"# tracer: {tracer}\n#\n"
    lines = _graph(tracer, section)
    if lines:
        return _header(tracer, section, len(lines), 0) + _GRAPH_HEAD + "".join(lines)
    return _header(tracer, section, len(section.events), section.left_out) + _events(section)


def _graph(tracer: str, section: Section) -> list[str]:
    """Return the lines of the function graph inside a section.

    There are none if the graph was not recorded, or no call began or ended there.
    """
    ring = _engine.latency_inside(tracer)
    if ring is None:
        return []
    from funcgraph.instance.latency_graph import graph_lines

    tid = section.tid if tracer != "gilwait" else None  # gilwait is about the thread that holds the lock
    return graph_lines(ring, section.begin_ns, section.end_ns, tid)


def _microseconds(name: str, value: int) -> int:
    if value < 0:
        raise ValueError(f"invalid {name} {value}: must be 0 or more")
    return value


def _header(tracer: str, section: Section, entries: int, left_out: int) -> str:
    """Return the header of both layouts. It has no CPU, policy and priority: a Python thread has none."""
    total = entries + left_out
    lock = "GIL" if _has_gil() else "no GIL"
    lines = [
        f"# tracer: {tracer}",
        "#",
        f"# {tracer} latency trace v1.1.5 on {platform.python_implementation()} {platform.python_version()}",
        "# " + "-" * 68,
        f"# latency: {section.latency_ns // 1000} us, #{entries}/{total} | (M:{lock} #P:{os.cpu_count()})",
        "#    -----------------",
        f"#    | task: {section.task}-{section.tid} (uid:{os.getuid()})",
        "#    -----------------",
        f"#  => started at: {section.started_at}",
        f"#  => ended at:   {section.ended_at}",
        *_slowest(section),
        "#",
        "#",
    ]
    return "".join(f"{line}\n" for line in lines)


def _slowest(section: Section) -> list[str]:
    if not section.slowest_call:
        return []
    return [f"#  => slowest call: {section.slowest_call} ({section.slowest_ns // 1000} us)"]


def _has_gil() -> bool:
    import sys

    enabled = getattr(sys, "_is_gil_enabled", None)
    return True if enabled is None else bool(enabled())


def _events(section: Section) -> str:
    """Return the layout without a graph: a line for each event, with the time since the section's begin."""
    lines = [
        "#  cmd     pid        time  |   caller",
        "#     \\   /             \\    |    /",
    ]
    for i, event in enumerate(section.events):
        if event.text.startswith("=> "):
            lines.append(f" {event.text}")
            continue
        since_us = (event.time_ns - section.begin_ns) // 1000
        later = section.events[i + 1].time_ns if i + 1 < len(section.events) else event.time_ns
        mark = next((mark for us, mark in _MARKS if (later - event.time_ns) // 1000 > us), " ")
        took = f" ({event.duration_ns // 1000} us)" if event.duration_ns else ""
        lines.append(f"{section.task[:8]:>8}-{section.tid:<7} {since_us:>8}us{mark}: {event.text}{took}")
    return "".join(f"{line}\n" for line in lines)
