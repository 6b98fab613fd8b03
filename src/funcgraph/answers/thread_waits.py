"""When threads waited, as the latency tracers `gilwait` and `wakeup` recorded it beside the calls."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from funcgraph.tracedata.call_parts import Overlay
from funcgraph.tracedata.events import Columns
from funcgraph.tracedata.selected_time import COUNTING_CLOCKS
from funcgraph.tracedata.selection import Selection

if TYPE_CHECKING:
    from funcgraph.tracedata.description import Task
    from funcgraph.tracedata.opened import Trace

_MARK = Columns.KINDS.index("mark")
# The first text of a section: src/arch/cpython/latency
_SECTION = re.compile(rb"(gilwait|wakeup): latency: (\d{1,15}) us, started at: .*, ended at: (.*)", re.DOTALL)
_RUN = "asyncio.events.Handle._run"
_MOST_CUT_NS = 999  # a section's text has whole microseconds: the section began up to this much earlier
_PLACE = re.compile(rb" \([^()]*:\d+\)$")


class _Run(NamedTuple):
    """A call of a handle's `_run`."""

    begin_ns: int
    end_ns: int


def has_tracer(trace: Trace, tracer: str) -> bool:
    """Return whether an instance of the trace recorded every section of a latency tracer."""
    instances = trace.meta.get("instances", {})
    return any(
        one.tracer == tracer and instances.get(one.name, {}).get("thresh_us") == 1 for one in trace.buffers
    )


def gil_waits(trace: Trace, buffer: int) -> list[Overlay]:
    """Return when the threads of a buffer waited for the interpreter lock, and who had it."""
    return list(_sections(trace, buffer, "gilwait"))


def ready_waits(trace: Trace, buffer: int) -> list[Overlay]:
    """Return the stretches before callbacks and steps of tasks ran in which they were ready to.

    What a late callback makes ready was late for the same reason: so a timer's wait is also that of the task
    which its callback wakes, with `is_earlier`.
    """
    sections = list(_sections(trace, buffer, "wakeup"))
    return list(_with_causes(sections, _handle_runs(trace, buffer))) if sections else []


def processor_wait(trace: Trace, buffer: str, task: Task | None = None) -> int | None:
    """Return for how many nanoseconds a thread, or all of an instance, was ready to run without a processor,
    while it recorded; None: that is not known of all, or the trace has no nanoseconds."""
    number = [one.name for one in trace.buffers].index(buffer)
    tasks = [one for one in trace.tasks if one.buffer == number and one.records] if task is None else [task]
    if trace.clock in COUNTING_CLOCKS or not all(one.cpu_ns for one in tasks):
        return None
    return sum(one.ready_ns for one in tasks)


def _handle_runs(trace: Trace, buffer: int) -> dict[int, list[_Run]]:
    """Return when the event loops of tasks ran handles, by the numbers of the tasks."""
    runs: dict[int, list[_Run]] = {}
    if any(function.name == _RUN for function in trace.functions):
        names = [trace.buffers[buffer].name]
        for batch in trace.call_columns(select=Selection(functions=(_RUN,)), buffers=names, texts=False):
            for task, begin_ns, end_ns in zip(batch.task, batch.begin_ns, batch.end_ns, strict=True):
                runs.setdefault(task, []).append(_Run(begin_ns, end_ns))
    return runs


def _with_causes(sections: Iterable[Overlay], runs: Mapping[int, list[_Run]]) -> Iterator[Overlay]:
    """Yield sections, each after that of the callback in which its own began."""
    latest: dict[int, Overlay] = {}
    for section in sorted(sections, key=lambda one: one.end_ns):
        cause = latest.get(section.task)
        if cause is not None and _is_of_run_around(cause, section, runs.get(section.task, [])):
            yield cause._replace(end_ns=min(cause.end_ns, section.begin_ns), is_earlier=True)
        yield section
        latest[section.task] = section


def _is_of_run_around(cause: Overlay, section: Overlay, runs: Sequence[_Run]) -> bool:
    """Return whether a section ended because the run began in which another section begins."""
    place = bisect_left(runs, section.begin_ns - _MOST_CUT_NS, key=lambda run: run.end_ns)
    if place == len(runs) or runs[place].begin_ns > section.begin_ns:
        return False
    before_ns = runs[place - 1].begin_ns if place else -1
    return before_ns < cause.end_ns <= runs[place].begin_ns


def _sections(trace: Trace, buffer: int, tracer: str) -> Iterator[Overlay]:
    names = [one.name for one in trace.buffers if one.tracer == tracer]
    if not names:
        return
    numbers = {
        (task.host, task.pid, task.tid): number
        for number, task in enumerate(trace.tasks)
        if task.buffer == buffer
    }
    for batch in trace.columns(buffers=names):
        rows = zip(batch.kind.tolist(), batch.time_ns, batch.task, batch.payloads(), strict=True)
        for kind, time_ns, task, text in rows:
            section = _SECTION.match(text) if kind == _MARK else None
            if section is None or section[1].decode() != tracer:
                continue
            thread = batch.tasks[task]
            number = numbers.get((thread.host, thread.pid, thread.tid))
            if number is not None:
                holder = _PLACE.sub(b"", section[3].rstrip(b"\n")).decode("utf-8", "backslashreplace")
                yield Overlay(number, time_ns - 1000 * int(section[2]), time_ns, holder)
