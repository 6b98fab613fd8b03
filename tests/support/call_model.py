"""Calls put together from events, slowly: the rules of src/tracedata/calls/assembler.h, written anew.

`Calls` has a stack for each thread and reports rows as slices have them. Nothing is shared with the C code.
"""

from __future__ import annotations

from dataclasses import dataclass, field

BEGIN, RESUME, RETURN, RAISE, SUSPEND, CLOSE, LOST, OPEN, SUSPENDED = range(9)
WAIT = 7  # the number of that kind of event, in columns

#: A call's name: when it began, its function, its process.
Name = tuple[int, int, int]


@dataclass(frozen=True)
class Event:
    """An event of a thread. Of a wait only `time` and `waited` count."""

    time: int
    thread: int
    kind: int
    function: int = 0
    depth: int = 0
    start: int = 0  # when the call first began; 0: the event does not say
    calltime: int = 0
    waited: int = 0


@dataclass
class Call:
    id: int
    function: int
    above: int
    began: int
    is_whole: bool
    resumes: int = 0
    ran: int = 0
    self_: int = 0
    name: Name | None = None
    stretch: Stretch | None = None  # in progress
    latest: tuple[int, int, int] = (0, 0, 0)  # thread, depth and end of the latest stretch


@dataclass
class Stretch:
    call: Call
    thread: int
    depth: int
    began: int
    waited: int


@dataclass(frozen=True)
class Row:
    what: int
    time: int
    thread: int
    depth: int
    id: int
    function: int
    above: int
    began: int
    ran: int
    self_: int
    resumes: int
    is_whole: bool
    is_only_end: bool
    is_lost_end: bool


@dataclass
class Thread:
    stretches: list[Stretch] = field(default_factory=list)  # the innermost last
    callees: dict[int, int] = field(default_factory=dict)  # by depth
    top: int = 0  # 1 + the depth at which something was last in progress, if nothing is known there now
    last: int = 0
    waited: int = 0


class Calls:
    """Takes events one by one, and `finish`; `rows` has what became of them.

    Args:
        pids: the process of each thread.
        has_times: whether the clock counts nanoseconds.
    """

    def __init__(self, pids: list[int], has_times: bool = True) -> None:
        self.rows: list[Row] = []
        self._pids, self._has_times = pids, has_times
        self._threads = [Thread() for _ in pids]
        self._named: dict[Name, Call] = {}
        self._ids = 0

    def add(self, event: Event) -> None:
        thread = self._threads[event.thread]
        if event.kind == WAIT:
            thread.waited += event.waited
        elif event.kind in (BEGIN, RESUME):
            self._begin(event, thread)
        else:
            self._end(event, thread)
        thread.last = event.time

    def finish(self) -> None:
        for thread in self._threads:
            self._give_up(thread, 0, OPEN)
        for call in list(self._named.values()):
            self._forget(call)

    # ---- begins

    def _begin(self, event: Event, thread: Thread) -> None:
        self._give_up(thread, event.depth, LOST)
        call = self._find(event) if event.kind == RESUME else None
        if call:
            call.resumes += 1
        else:
            began = event.start if event.kind == RESUME else event.time
            call = self._new(event, thread, began, is_whole=event.kind == BEGIN)
            call.resumes = event.kind == RESUME
        call.stretch = Stretch(call, event.thread, event.depth, event.time, thread.waited)
        thread.stretches.append(call.stretch)
        thread.callees[event.depth] = 0
        thread.top = event.depth + 1
        self._put(event.kind, event.time, event.thread, event.depth, call, sums=False)

    def _new(self, event: Event, thread: Thread, began: int, *, is_whole: bool) -> Call:
        self._ids += 1
        above = thread.stretches[-1].call.id if thread.stretches else 0
        return Call(self._ids, event.function, above, began, is_whole)

    def _find(self, event: Event) -> Call | None:
        call = self._named.get((event.start, event.function, self._pids[event.thread]))
        if call and call.stretch:
            self._give_up(self._threads[call.stretch.thread], call.stretch.depth, LOST)
        return call

    # ---- ends

    def _end(self, event: Event, thread: Thread) -> None:
        self._give_up(thread, event.depth + 1, LOST)
        stretch = thread.stretches[-1] if thread.stretches else None
        is_late = not (
            stretch
            and thread.top == event.depth + 1
            and stretch.depth == event.depth
            and stretch.call.function == event.function
        )
        if is_late:
            stretch = self._begin_late(event, thread)
        assert stretch
        call = stretch.call
        if not is_late:
            thread.stretches.pop()
        thread.top = event.depth
        self._add_times(thread, call, event.depth, max(event.time - event.calltime, 0))
        call.stretch = None
        call.latest = (event.thread, event.depth, event.time)
        if event.start:
            call.began = event.start
        self._put(event.kind, event.time, event.thread, event.depth, call, is_only_end=is_late)
        if event.kind == SUSPEND and event.start:
            self._name(call, (event.start, call.function, self._pids[event.thread]))
        elif call.name:
            self._remove(call)

    def _begin_late(self, event: Event, thread: Thread) -> Stretch:
        is_other = any(stretch.depth == event.depth for stretch in thread.stretches)
        callees = 0 if is_other else thread.callees.get(event.depth, 0)
        self._give_up(thread, event.depth, LOST)
        call = self._find(event) if event.start else None
        if call:
            call.resumes += event.kind != CLOSE
        else:
            is_whole = event.kind != CLOSE and event.start in (0, event.calltime)
            call = self._new(event, thread, event.start or event.calltime, is_whole=is_whole)
        thread.callees[event.depth] = callees
        began = event.calltime if self._has_times and event.calltime < event.time else event.time
        return Stretch(call, event.thread, event.depth, began, thread.waited)

    def _add_times(self, thread: Thread, call: Call, depth: int, ran: int) -> None:
        call.ran += ran
        call.self_ += max(ran - thread.callees.get(depth, 0), 0)
        thread.callees[depth] = 0
        if depth:
            thread.callees[depth - 1] = thread.callees.get(depth - 1, 0) + ran

    # ---- ends that are not there

    def _give_up(self, thread: Thread, depth: int, why: int) -> None:
        for at in range(thread.top - 1, depth - 1, -1):
            thread.top = at
            if thread.stretches and thread.stretches[-1].depth == at:
                self._give_up_stretch(thread, thread.stretches.pop(), why)
            thread.callees[at] = 0

    def _give_up_stretch(self, thread: Thread, stretch: Stretch, why: int) -> None:
        call = stretch.call
        ran = 0
        if why == OPEN and self._has_times:
            ran = max(max(thread.last - stretch.began, 0) - (thread.waited - stretch.waited), 0)
        self._add_times(thread, call, stretch.depth, ran)
        call.is_whole = False
        call.stretch = None
        end = max(thread.last, stretch.began)
        call.latest = (stretch.thread, stretch.depth, thread.last)
        what = SUSPEND if call.name and why == LOST else why
        self._put(what, end, stretch.thread, stretch.depth, call, is_lost_end=why == LOST)
        if call.name and why == OPEN:
            self._remove(call)

    # ---- names

    def _name(self, call: Call, name: Name) -> None:
        if call.name == name:
            return
        if other := self._named.get(name):
            if other.stretch:
                self._give_up(self._threads[other.stretch.thread], other.stretch.depth, LOST)
            self._forget(other)
        if call.name:
            del self._named[call.name]
        call.name = name
        self._named[name] = call

    def _remove(self, call: Call) -> None:
        assert call.name
        del self._named[call.name]
        call.name = None

    def _forget(self, call: Call) -> None:
        thread, depth, end = call.latest
        self._remove(call)
        self._put(SUSPENDED, end, thread, depth, call, has_whole=False)

    def _put(
        self,
        what: int,
        time: int,
        thread: int,
        depth: int,
        call: Call,
        *,
        sums: bool = True,
        has_whole: bool = True,
        is_only_end: bool = False,
        is_lost_end: bool = False,
    ) -> None:
        is_end = what in (RETURN, RAISE, SUSPEND, CLOSE) and not is_lost_end
        self.rows.append(
            Row(
                what,
                time,
                thread,
                depth,
                call.id,
                call.function,
                call.above,
                call.began,
                call.ran if sums else 0,
                call.self_ if sums else 0,
                int(call.resumes),
                call.is_whole and has_whole and is_end,
                is_only_end,
                is_lost_end,
            )
        )
