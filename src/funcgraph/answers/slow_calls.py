"""A function's calls by how long they took: the slow ones and the typical ones, found by one reading in C."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from funcgraph.answers.facts import place_of
from funcgraph.answers.named_call import NamedCall, function_named, graph_buffers, no_call, selection_of
from funcgraph.tracedata.description import reading_error
from funcgraph.tracedata.summary import function_key

if TYPE_CHECKING:
    from funcgraph._tracedata import SlowCallsTuple
    from funcgraph.tracedata.opened import Trace

_MOST_RANKED = 200_000  # durations that are sorted to find the slowest tenth
_MOST_CHOSEN = 50_000  # calls of a group whose parts are added up


class CallGroup(NamedTuple):
    """Calls that took about as long.

    Attributes:
        calls: how many there are.
        least_ns, most_ns: what each of them took, from begin to end.
    """

    calls: int
    least_ns: int
    most_ns: int


class SlowCalls(NamedTuple):
    """The calls of a function that are not made from another call of it, ranked by how long they took.

    Attributes:
        function: the function's name.
        buffer: the name of the instance that recorded the calls.
        calls: how many have both their begin and their end in the trace: these are ranked.
        unfinished: how many have not.
        others: functions of the same name that took less time in all and are left out, as `Why.others`.
        longest: the longest call, the first one of several; None: none is ranked.
        groups: the slowest tenth and the fifth in the middle; if no call took longer than that, it alone.
        begins: when the calls began that stand for the groups: all of them, or so many spread evenly; sorted.
        numbers: of each of these calls the place of its group in `groups`.
    """

    function: str
    buffer: str
    calls: int
    unfinished: int
    others: tuple[str, ...]
    longest: NamedCall | None
    groups: list[CallGroup]
    begins: array[int]
    numbers: bytes


def slow_calls(
    trace: Trace,
    function: str,
    buffers: Sequence[str] = (),
    tasks: Sequence[str] = (),
    *,
    most_ranked: int = _MOST_RANKED,
    most_chosen: int = _MOST_CHOSEN,
) -> SlowCalls:
    """Rank a function's calls by how long they took, from begin to end, and choose slow and typical ones.

    Args:
        trace: the trace.
        function: the function's name, or a pattern that only this one matches.
        buffers: names of instances; empty: all. The first one with calls of the function is read.
        tasks: only calls that ended in these threads: ids or names.
        most_ranked: of more calls only so many are sorted, spread evenly.
        most_chosen: of a larger group only so many calls are chosen, spread evenly.

    Raises:
        SelectionError: there is no such function, or no call of it.
        TraceError, OSError: as `Trace.columns`.

    Example:
        >>> slow_calls(trace, "shop.checkout").groups[0].least_ns
    """
    name, numbers = function_named(trace, function)
    keys = _keys(trace, numbers)
    for buffer in graph_buffers(trace, buffers):
        reading = trace.reading(selection_of(trace, name, tasks), buffers=[buffer])
        try:
            found = reading.reader.slow_calls(
                reading.functions,
                reading.tasks,
                reading.select_unknown,
                keys,
                reading.selection,
                (most_ranked, most_chosen),
            )
        except ValueError as error:
            raise reading_error(error) from None
        if found is not None:
            return _described(trace, name, buffer, keys, found)
    raise no_call(name, tasks)


def _keys(trace: Trace, numbers: Sequence[int]) -> array[int]:
    """Return a key for each function: those of one name that are defined at different places have different
    ones, as a decorator may make another function of the same name."""
    keys = array("I", bytes(4 * len(trace.functions)))
    places: dict[object, int] = {}
    for number in numbers:
        keys[number] = places.setdefault(function_key(trace.functions[number]), len(places) + 1)
    return keys


def _described(trace: Trace, name: str, buffer: str, keys: array[int], found: SlowCallsTuple) -> SlowCalls:
    key, calls, unfinished, longest, groups, begins, numbers = found
    others = {
        place_of(one) for one, other in zip(trace.functions, keys, strict=True) if other not in (0, key)
    }
    return SlowCalls(
        name,
        buffer,
        calls,
        unfinished,
        tuple(sorted(others)),
        None if longest is None else _named(trace, name, buffer, *longest),
        [CallGroup(*group) for group in groups],
        array("Q", begins),
        numbers,
    )


def _named(
    trace: Trace, name: str, buffer: str, number: int, begin_ns: int, end_ns: int, task: int, resumes: int
) -> NamedCall:
    return NamedCall(
        name, number, trace.tasks[task], buffer, trace.clock, begin_ns, end_ns, is_open=False, resumes=resumes
    )
