"""What led to a call, beyond its callers: what awaits it, what scheduled the callback that it is part of,
what created its task, what started its thread."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from funcgraph.tracedata.call_index import Lane, Span
from funcgraph.tracedata.events import Event
from funcgraph.tracedata.run_table import COROUTINE, SUSPENDS
from funcgraph.tracedata.selection import Selection
from funcgraph.tracedata.values import PartialValue
from funcgraph.view import task_lanes
from funcgraph.view.call_detail import entry_of, head_of, located, time_text
from funcgraph.view.parameters import Parameters
from funcgraph.view.served import Served
from funcgraph.view.task_lanes import TaskLane

__all__ = ["MOST_HANDLES_READ", "Link", "callbacks", "creation", "flows", "handle_calls", "thread_start"]

_MOST_EVENTS = 300  # that are read to find one
_MOST_MARKS = 10_000
_BACK_NS = (10**5, 10**7, 10**9, 2**63)  # how far back the latest event is looked for
_CREATE, _SWITCH = ("asyncio", "task_create"), ("asyncio", "task_switch")
_TASKS_FLAGS = "-e asyncio:task_create -e asyncio:task_switch"
_THREADS_FLAGS = "-l threading.Thread.start"
# Each callback of an event loop has a handle: call_soon, call_later, add_reader and futures make one.
_INIT, _RUN = "asyncio.events.Handle.__init__", "asyncio.events.Handle._run"
_CALLBACKS_FLAGS = f"-l {_INIT} -l {_RUN} --args"
_MOST_HANDLES = 100_000  # that are looked at to find one
#: So many calls of handles are read to link all callbacks.
MOST_HANDLES_READ = 1_000_000


class Link(NamedTuple):
    """What led to a call.

    Attributes:
        source: the stretch of the call that did.
        time_ns: when in it.
    """

    source: Span
    time_ns: int


def flows(served: Served, parameters: Parameters) -> dict[str, Any]:
    """Return what led to a call, the nearest first. What the trace has not is told with the flags of `record`
    that have it recorded."""
    place = located(served, parameters)
    if place is None:
        return {"flows": []}
    found = []
    around = [place.span, *place.parents]
    if len(around) > 1 and _flags(around[0]) & COROUTINE and _flags(around[1]) & SUSPENDS:
        found.append(_flow(served, "awaited", around[1]))
    if scheduling := _scheduling(served, place.lane, around):
        found.append(scheduling)
    task = place.task or task_lanes.running(served, place.lane.number, place.span.begin_ns)
    if task is not None and task.root.kind == "coroutine":
        found.append(_flow_of(served, "created", creation(served, task), _TASKS_FLAGS))
    elif task is None and _is_later_thread(served, place.lane):
        found.append(_flow_of(served, "started", thread_start(served, place.lane), _THREADS_FLAGS))
    return {"flows": found}


def _flags(span: Span) -> int:
    return span.function.flags if span.function else 0


def _flow(
    served: Served, kind: str, span: Span | None, time_ns: int | None = None, record: str = ""
) -> dict[str, Any]:
    """Return a flow from a call, at a time within it; without one: how it would be recorded."""
    if span is None:
        return {"kind": kind, "call": None, "time_ns": None, "record": record}
    head = head_of(served, span)
    task = task_lanes.running(served, span.lane, span.begin_ns)
    if task is not None:
        head = task_lanes.span_head(task, span, head)
    at = span.begin_ns if time_ns is None else time_ns
    return {"kind": kind, "call": head, "time_ns": at - served.begin_ns, "record": ""}


def _flow_of(served: Served, kind: str, link: Link | None, record: str) -> dict[str, Any]:
    """The same of a link; None: the trace has not what it takes."""
    return _flow(served, kind, None, record=record) if link is None else _flow(served, kind, *link)


# ---- callbacks


def handle_calls(served: Served) -> int:
    """Return how many calls of handles a trace has."""
    rows = served.index().functions()
    return sum(row.calls for row in rows if row.function and row.function.name in (_INIT, _RUN))


def callbacks(served: Served, part: tuple[int, int]) -> Iterator[tuple[Span, Link]]:
    """Yield the callbacks that event loops make in a part of the time, with what scheduled each."""
    names = {function.name for function in served.functions}
    if not served.can_seek or not {_INIT, _RUN} <= names:
        return
    lanes = {lane.task: lane for lane in served.index().lanes()}
    made: dict[int, tuple[Lane, int]] = {}
    select = Selection(end=time_text(served, part[1] - 1), functions=(_INIT, _RUN))
    for event in islice(served.trace.events(select=select), 2 * MOST_HANDLES_READ):
        handle = _handle(event) if event.kind == "entry" else 0
        if not handle or event.function is None or event.task not in lanes:
            continue
        if event.function.name == _INIT:
            made[handle] = lanes[event.task], event.time_ns
        elif event.time_ns >= part[0] and handle in made:
            lane, time_ns = made[handle]
            run = served.index().call_at(lanes[event.task], event.time_ns)
            init = served.index().call_at(lane, time_ns)
            if run is not None and init is not None:
                yield run, Link(_scheduler(served, init), time_ns)


def _scheduling(served: Served, lane: Lane, around: list[Span]) -> dict[str, Any] | None:
    """Return the call that had an event loop make the callback around a call; None: it is in no callback."""
    run = next((span for span in around if _name(span) == _RUN), None)
    if run is None:
        is_in_loop = any(_is_of_asyncio(span) for span in around[1:])
        return _flow(served, "scheduled", None, record=_CALLBACKS_FLAGS) if is_in_loop else None
    handle = _handle(entry_of(served, lane, run))
    made = _handle_made(served, handle, run.begin_ns) if handle else None
    if made is None:
        return _flow(served, "scheduled", None, record=_CALLBACKS_FLAGS)
    return _flow(served, "scheduled", _scheduler(served, made), made.begin_ns)


def _name(span: Span) -> str:
    return span.function.name if span.function else ""


def _is_of_asyncio(span: Span) -> bool:
    return span.function is not None and span.function.module.partition(".")[0] == "asyncio"


def _handle(entry: Event | None) -> int:
    """Return the address of the handle that a method got; 0: it was not recorded."""
    handle = entry.arguments.get("self") if entry is not None and entry.values else None
    return handle.address if isinstance(handle, PartialValue) else 0


def _handle_made(served: Served, handle: int, before_ns: int) -> Span | None:
    """Return the latest call that made a handle at an address, before a time; None: it was not found."""
    if not served.can_seek or all(function.name != _INIT for function in served.functions):
        return None
    lanes = {lane.task: lane for lane in served.index().lanes()}
    for back_ns in _BACK_NS:
        begin_ns = max(before_ns - back_ns, 0)
        begin, end = time_text(served, begin_ns), time_text(served, before_ns)
        latest = None
        events = served.trace.events(select=Selection(begin=begin, end=end, functions=(_INIT,)))
        for event in islice(events, 2 * _MOST_HANDLES):
            if event.kind == "entry" and _handle(event) == handle:
                latest = event
        if latest is not None:
            return served.index().call_at(lanes[latest.task], latest.time_ns)
        if begin_ns == 0:
            break
    return None


def _scheduler(served: Served, made: Span) -> Span:
    """Return the call that made a handle: the nearest one that is not asyncio's own, if there is one."""
    parents = served.index().parents(made)
    return next((span for span in parents if not _is_of_asyncio(span)), parents[-1] if parents else made)


# ---- tasks


def creation(served: Served, task: TaskLane) -> Link | None:
    """Return what created a task of an event loop; None: the trace has not the events that say it."""
    known = {(kind.system, kind.name) for kind in served.trace.event_types}
    run = task.run_at(task.root.begin_ns)
    if known >= {_CREATE, _SWITCH} and run is not None:
        number = _task_id(served, run[1], task.root.begin_ns)
        created = _created(served, run[1], number, task.root.begin_ns) if number is not None else None
        if created is not None:
            lane, time_ns = created
            source = served.index().call_at(lane, time_ns)
            return None if source is None else Link(source, time_ns)
    return None


def _task_id(served: Served, lane: Lane, begin_ns: int) -> object:
    """Return the id of the task that the loop switched to last before a time."""
    for time_ns in _event_times(served, lane, begin_ns):
        for event in _events_at(served, lane, time_ns, _SWITCH):
            return event.fields["next_id"]
    return None


def _created(served: Served, lane: Lane, number: object, before_ns: int) -> tuple[Lane, int] | None:
    """Return where the task with an id was created: its thread's lane, and when."""
    same = [one for one in served.index().lanes() if one.task.pid == lane.task.pid]
    same.sort(key=lambda one: one.number != lane.number)
    for one in same:
        for time_ns in _event_times(served, one, before_ns):
            if any(event.fields["id"] == number for event in _events_at(served, one, time_ns, _CREATE)):
                return one, time_ns
    return None


def _event_times(served: Served, lane: Lane, before_ns: int) -> list[int]:
    """Return the times of a lane's latest events before a time, the latest first."""
    times: list[int] = []
    for back_ns in _BACK_NS:
        begin = max(before_ns - back_ns, 0)
        marks = served.index().marks(lane, begin, before_ns + 1, kinds=["event"], most=_MOST_MARKS)
        times = [mark.time_ns for mark in marks]
        if len(times) >= _MOST_EVENTS or begin == 0:
            break
    return times[: -_MOST_EVENTS - 1 : -1]


def _events_at(served: Served, lane: Lane, time_ns: int, name: tuple[str, str]) -> list[Event]:
    if lane.task not in served.tasks or not served.can_seek:
        return []
    text = time_text(served, time_ns)
    events = served.trace.events(tasks=[lane.task], select=Selection(begin=text, end=text))
    return [event for event in events if event.type and (event.type.system, event.type.name) == name]


# ---- threads


def _is_later_thread(served: Served, lane: Lane) -> bool:
    """Whether another thread of the process was there before."""
    others = _beside(served, lane)
    return not served.trace.is_kernel and any(one.begin_ns < lane.begin_ns for one in others)


def _beside(served: Served, lane: Lane) -> list[Lane]:
    """Return the other lanes of a thread's process."""
    lanes = served.index().lanes()
    return [one for one in lanes if one.task.pid == lane.task.pid and one.number != lane.number]


def thread_start(served: Served, lane: Lane) -> Link | None:
    """Return the call around that of Thread.start() that waits while a thread begins; None: there is none."""
    if not _is_later_thread(served, lane):
        return None
    index = served.index()
    for one in _beside(served, lane):
        span = index.call_at(one, lane.begin_ns)
        around = [span, *index.parents(span)] if span else []
        for place, call in enumerate(around):
            if call.function and (call.function.module, call.function.qualname) == (
                "threading",
                "Thread.start",
            ):
                return Link(around[min(place + 1, len(around) - 1)], call.begin_ns)
    return None
