"""Why a call took so long: its time in parts that add up exactly, or slow calls beside typical ones."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import sub
from typing import TYPE_CHECKING, Any

from funcgraph.answers.facts import place_of
from funcgraph.answers.named_call import NamedCall, call_batches_of, call_of, find_call, function_named
from funcgraph.answers.thread_waits import gil_waits, has_tracer, ready_waits
from funcgraph.answers.waits import kinds_of
from funcgraph.tracedata.call_columns import CallColumns
from funcgraph.tracedata.call_parts import ChosenCalls, PartSums
from funcgraph.tracedata.description import NATIVE, SelectionError
from funcgraph.tracedata.summary import function_key

if TYPE_CHECKING:
    from funcgraph.tracedata.opened import Trace

_OPEN = CallColumns.ENDS.index("open")
_MOST_RANKED = 200_000  # durations that are sorted to find the slowest tenth
_MOST_CHOSEN = 50_000  # calls of a group whose parts are added up


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
            `entries`, `functions`, `with`: `with lock`, which CPython before 3.14 does not tell.
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
    name, buffer, batches = call_batches_of(trace, function, buffers, tasks)
    chosen = _most_used(trace, name, lambda: call_batches_of(trace, function, [buffer], tasks)[2])
    calls = _Durations(trace, batches, name, buffer, chosen)
    if calls.slowest is None:
        raise SelectionError(f"no call of '{name}' has both its begin and its end in the trace: --nth 1")
    if slowest or len(calls.durations) == 1:
        answer = _of_one(trace, calls.slowest, len(calls.durations), calls.unfinished)
    else:
        answer = _of_groups(trace, name, buffer, calls)
    return replace(answer, others=_others(trace, name, chosen))


def _is_call(trace: Trace, text: str) -> bool:
    """Return whether a text names a call, not a function."""
    head, mark, tail = text.rpartition(":") if "@" not in text else text.rpartition("@")
    return bool(mark and head and tail) and text not in {function.name for function in trace.functions}


# ---- which calls


def _most_used(trace: Trace, name: str, read: Callable[[], Iterable[CallColumns]]) -> frozenset[int]:
    """Return the numbers of the function of a name that took the most time: a decorator may make another one
    of the same name. Empty: there is only one."""
    _, numbers = function_named(trace, name)
    keys = {number: function_key(trace.functions[number]) for number in numbers}
    if len(set(keys.values())) < 2:
        return frozenset()
    took: Counter[object] = Counter()
    for batch in read():
        for number, duration in zip(batch.function, batch.duration_ns, strict=True):
            took[keys[number]] += max(duration, 0)
    most = max(took, key=lambda key: took[key])
    return frozenset(number for number in numbers if keys[number] == most)


def _others(trace: Trace, name: str, chosen: frozenset[int]) -> tuple[str, ...]:
    if not chosen:
        return ()
    _, numbers = function_named(trace, name)
    return tuple(sorted({place_of(trace.functions[number]) for number in numbers if number not in chosen}))


class _Durations:
    """The calls of a function that ended and are not inside of another: how long they took, and when."""

    def __init__(
        self,
        trace: Trace,
        batches: Iterable[CallColumns],
        name: str,
        buffer: str,
        functions: frozenset[int] = frozenset(),
    ) -> None:
        self._functions = functions  # empty: all that the batches have
        self.durations, self.begins = array("Q"), array("Q")
        self.unfinished = 0
        self.slowest: NamedCall | None = None
        most = -1
        for batch in batches:
            known = len(self.durations)
            self._add(batch)
            longest = max(memoryview(self.durations)[known:], default=-1)
            if longest > most:
                most = longest
                self.slowest = call_of(trace, batch, self._found(batch, longest), name, buffer)

    def _add(self, batch: CallColumns) -> None:
        is_plain = not self._functions and not any(batch.parent)
        if is_plain and _OPEN not in bytes(batch.ended) and min(batch.duration_ns) >= 0:
            self.durations.extend(map(sub, batch.end_ns, batch.begin_ns))
            self.begins.frombytes(batch.begin_ns.cast("B"))
            return
        ended, durations = batch.ended, batch.duration_ns
        for place, parent in enumerate(batch.parent):
            if parent or not self._has(batch.function[place]):
                continue
            if ended[place] == _OPEN or durations[place] < 0:
                self.unfinished += 1
                continue
            self.durations.append(batch.end_ns[place] - batch.begin_ns[place])
            self.begins.append(batch.begin_ns[place])

    def _has(self, function: int) -> bool:
        return not self._functions or function in self._functions

    def _found(self, batch: CallColumns, took: int) -> int:
        """Return the place of the outermost call of a batch that ended and took so long."""
        return next(
            place
            for place, (begin, end) in enumerate(zip(batch.begin_ns, batch.end_ns, strict=True))
            if end - begin == took
            and self._has(batch.function[place])
            and not batch.parent[place]
            and batch.ended[place] != _OPEN
            and batch.duration_ns[place] >= 0
        )

    def between(self, least: int, most: int) -> array[int]:
        """Return the places of the calls that took so long."""
        return array("I", (place for place, took in enumerate(self.durations) if least <= took <= most))

    def limits(self) -> tuple[int, int, int]:
        """Return where the slowest tenth begins, and where the fifth in the middle begins and ends."""
        step = -(-len(self.durations) // _MOST_RANKED)
        ranked = sorted(self.durations[::step])
        last = len(ranked) - 1
        slow = ranked[min(len(ranked) * 9 // 10, last)]
        return slow, ranked[len(ranked) * 2 // 5], ranked[min(len(ranked) * 3 // 5, last)]


def _of_one(trace: Trace, call: NamedCall, calls: int, unfinished: int) -> Why:
    took = call.end_ns - call.begin_ns
    [sums] = _parts(trace, call.function, call.buffer, array("Q", [call.begin_ns]), b"\0")
    return Why(
        function=call.function,
        calls=calls,
        unfinished=unfinished,
        call=call,
        slow=Group(least_ns=took, most_ns=took, calls=1, sums=sums),
        typical=None,
        missing=tuple(_missing(trace, call.buffer, [sums])),
        lost=trace.lost,
        longest=call,
    )


def _of_groups(trace: Trace, name: str, buffer: str, calls: _Durations) -> Why:
    least, low, high = calls.limits()
    if least <= low:  # most take the same: what takes longer is slow, if anything does
        least = high + 1
    slow = calls.between(least, 2**64)
    middle = calls.between(low, min(high, least - 1))
    chosen = sorted(
        [(calls.begins[place], 0) for place in _spread(slow or middle)]
        + [(calls.begins[place], 1) for place in (_spread(middle) if slow else ())]
    )
    begins = array("Q", [begin for begin, _ in chosen])
    sums = _parts(trace, name, buffer, begins, bytes(group for _, group in chosen))
    assert calls.slowest is not None
    return Why(
        function=name,
        calls=len(calls.durations) + calls.unfinished,
        unfinished=calls.unfinished,
        call=None,
        slow=_group(calls, slow or middle, sums[0]),
        typical=_group(calls, middle, sums[-1]),
        missing=tuple(_missing(trace, buffer, sums)),
        lost=trace.lost,
        longest=calls.slowest,
    )


def _group(calls: _Durations, places: Sequence[int], sums: PartSums) -> Group:
    least, most = (limit(calls.durations[place] for place in places) for limit in (min, max))
    return Group(least_ns=least, most_ns=most, calls=len(places), sums=sums)


def _spread(places: Sequence[int]) -> Sequence[int]:
    return places[:: -(-len(places) // _MOST_CHOSEN) or 1]


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


def _missing(trace: Trace, buffer: str, sums: Sequence[PartSums]) -> Iterator[str]:
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


def _is_filtered(options: Mapping[str, Any]) -> bool:
    names = options.get("filter") or ()
    others = any(options.get(name) for name in ("notrace", "graph", "max_graph_depth"))
    return others or bool(names and "*" not in names)


def _has_native_locks(trace: Trace) -> bool:
    return any(one.flags & NATIVE and one.qualname.startswith("sem_") for one in trace.functions)
