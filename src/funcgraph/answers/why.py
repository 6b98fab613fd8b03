"""Why a call took so long: its time in parts that add up exactly, or slow calls beside typical ones."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from funcgraph.answers.named_call import NamedCall, find_call, function_named
from funcgraph.answers.slow_calls import SlowCalls, slow_calls
from funcgraph.answers.thread_waits import gil_waits, has_tracer, processor_wait, ready_waits
from funcgraph.answers.waits import kinds_of
from funcgraph.tracedata.call_parts import ChosenCalls, PartSums
from funcgraph.tracedata.description import NATIVE, SelectionError
from funcgraph.tracedata.selected_time import COUNTING_CLOCKS

if TYPE_CHECKING:
    from funcgraph.tracedata.opened import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Some calls of a function, and their parts.

    Attributes:
        least_ns, most_ns: what each of them took.
        calls: how many there are.
        sums: the parts of those that were looked at: all of them, or `sums.calls` spread evenly.
    """

    least_ns: int
    most_ns: int
    calls: int
    sums: PartSums


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """What a call, or a function's slow calls, spent their time on.

    Attributes:
        function: the function.
        calls: how many calls of it there are, without those made from another call of it.
        others: functions of the same name elsewhere, which took less time in all and are left out: as
            ` (FILE:LINE)`, or "" if that is not known.
        unfinished: how many of these did not end, or began before the trace: only `call` can be one of them.
        call: the call that was chosen; None: slow calls beside typical ones.
        slow: the call; or the slow ones.
        typical: the calls in the middle; None: of a single call.
        missing: what was not recorded, so that its time is in other parts: `c_calls`, `gil`, `ready`, `gc`,
            `entries`, `functions`, `with`: `with lock`, which CPython before 3.14 does not tell; `processor`.
        processor_wait_ns: how long the threads that can have run these calls were ready to run and had no
            processor, from their first records to their ends or that of the recording: so much of the calls'
            time is that, at most. Of a call that was never suspended its thread, else all of the instance.
            None: not known (`processor` is missing), or the trace's clock does not count nanoseconds.
        lost: how many records the trace lost.
        longest: the call, or the longest of the slow ones.
    """

    function: str
    calls: int
    others: tuple[str, ...] = ()
    unfinished: int
    call: NamedCall | None
    slow: Group
    typical: Group | None
    missing: tuple[str, ...]
    processor_wait_ns: int | None
    lost: int
    longest: NamedCall

    @property
    def selection(self) -> tuple[str, ...]:
        """Arguments of `funcgraph report` that show the longest call."""
        begin, end = self.longest.times()
        return ("--task", str(self.longest.task.tid), "--from", begin, "--to", end)


def why(
    trace: Trace,
    function: str,
    *,
    nth: int | None = None,
    slowest: bool = False,
    tasks: Sequence[str] = (),
    buffers: Sequence[str] = (),
) -> Why:
    """Tell what a function's slow calls, or one call, spent their time on.

    Each nanosecond between a call's begin and end is in exactly one part, also while the call was suspended.
    The slow calls are the slowest tenth, the typical ones the fifth in the middle. If these take the same,
    those that take longer are slow; if none does, they are the typical ones. A call that is made from
    another call of the function is a part of that one. Of several functions of one name, that with the most
    time is meant, unless a call is named.

    Args:
        trace: the trace.
        function: the function's name, or a pattern, as of `-l`, that only this one matches. Or a call, as
            `find_call` takes it.
        nth: the N-th call alone, from 1; from -1 on backwards.
        slowest: the slowest call alone.
        tasks: only calls that ended in these threads: ids or names.
        buffers: names of instances; empty: the first one with calls of the function.

    Raises:
        SelectionError: there is no such function or call, or `nth` and `slowest` are both given.
        TraceError, OSError: as `Trace.columns`.

    Example:
        >>> for part in why(trace, "shop.checkout", slowest=True).slow.sums.parts:
        ...     print(part.kind, part.ns)
    """
    if nth is not None and slowest:
        raise SelectionError("--nth and --slowest: only one of them can be given")
    if nth is not None:
        call = find_call(trace, f"{function}:{nth}", buffers)
        return _of_one(trace, call, 1, 0)
    if _is_call(trace, function):
        return _of_one(trace, find_call(trace, function, buffers), 1, 0)
    ranked = slow_calls(trace, function, buffers, tasks)
    if ranked.longest is None:
        message = f"no call of '{ranked.function}' has both its begin and its end in the trace: --nth 1"
        raise SelectionError(message)
    if slowest or ranked.calls == 1:
        answer = _of_one(trace, ranked.longest, ranked.calls, ranked.unfinished)
    else:
        answer = _of_groups(trace, ranked, ranked.longest)
    return replace(answer, others=ranked.others)


def _is_call(trace: Trace, text: str) -> bool:
    """Return whether a text names a call, not a function."""
    head, mark, tail = text.rpartition(":") if "@" not in text else text.rpartition("@")
    return bool(mark and head and tail) and text not in {function.name for function in trace.functions}


def _of_one(trace: Trace, call: NamedCall, calls: int, unfinished: int) -> Why:
    took = call.end_ns - call.begin_ns
    [sums] = _parts(trace, call.function, call.buffer, array("Q", [call.begin_ns]), b"\0")
    processor_wait_ns = processor_wait(trace, call.buffer, None if call.resumes else call.task)
    return Why(
        function=call.function,
        calls=calls,
        unfinished=unfinished,
        call=call,
        slow=Group(least_ns=took, most_ns=took, calls=1, sums=sums),
        typical=None,
        missing=tuple(_missing(trace, call.buffer, [sums], processor_wait_ns)),
        processor_wait_ns=processor_wait_ns,
        lost=trace.lost,
        longest=call,
    )


def _of_groups(trace: Trace, ranked: SlowCalls, longest: NamedCall) -> Why:
    sums = _parts(trace, ranked.function, ranked.buffer, ranked.begins, ranked.numbers)
    processor_wait_ns = processor_wait(trace, ranked.buffer)
    groups = [
        Group(least_ns=group.least_ns, most_ns=group.most_ns, calls=group.calls, sums=one)
        for group, one in zip(ranked.groups, sums, strict=True)
    ]
    return Why(
        function=ranked.function,
        calls=ranked.calls + ranked.unfinished,
        unfinished=ranked.unfinished,
        call=None,
        slow=groups[0],
        typical=groups[-1],
        missing=tuple(_missing(trace, ranked.buffer, sums, processor_wait_ns)),
        processor_wait_ns=processor_wait_ns,
        lost=trace.lost,
        longest=longest,
    )


# ---- parts


def _parts(trace: Trace, name: str, buffer: str, begins: array[int], groups: bytes) -> list[PartSums]:
    _, numbers = function_named(trace, name)
    number = [one.name for one in trace.buffers].index(buffer)
    return trace.call_parts(
        ChosenCalls(
            functions=numbers,
            begins=begins,
            groups=groups,
            tasks=[task for task in trace.tasks if task.buffer == number],
            kinds=kinds_of(trace.functions),
            gil=gil_waits(trace, number),
            ready=ready_waits(trace, number),
            gc=_gc_types(trace),
        )
    )


def _gc_types(trace: Trace) -> tuple[int, int] | None:
    names = [f"{kind.system}/{kind.name}" for kind in trace.event_types]
    events = ("py/gc_start", "py/gc_done")
    if not all(name in names for name in events):
        return None
    return names.index(events[0]), names.index(events[1])


# ---- what was not recorded


def _missing(
    trace: Trace, buffer: str, sums: Sequence[PartSums], processor_wait_ns: int | None
) -> Iterator[str]:
    """Yield what an instance did not record, so that the time of it is in other parts: see `Why.missing`."""
    options = trace.meta.get("instances", {}).get(buffer, {})
    kinds = {part.kind for one in sums for part in one.parts}
    if options.get("thresh_us"):
        yield "entries"
    if _is_filtered(options):
        yield "functions"
    if not options.get("c_calls"):
        yield "c_calls"
    elif sums[0].parts and sums[0].parts[0].kind == "own" and not _has_native_locks(trace):
        yield "with"
    if not has_tracer(trace, "gilwait"):
        yield "gil"
    if "suspended" in kinds and not has_tracer(trace, "wakeup"):
        yield "ready"
    if _gc_types(trace) is None and not any("gc_start" in str(event) for event in options.get("events", ())):
        yield "gc"
    if processor_wait_ns is None and trace.clock not in COUNTING_CLOCKS:
        yield "processor"


def _is_filtered(options: Mapping[str, Any]) -> bool:
    names = options.get("filter") or ()
    others = any(options.get(name) for name in ("notrace", "graph", "max_graph_depth"))
    return others or bool(names and "*" not in names)


def _has_native_locks(trace: Trace) -> bool:
    return any(one.flags & NATIVE and one.qualname.startswith("sem_") for one in trace.functions)
