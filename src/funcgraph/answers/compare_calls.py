"""Two calls of one function side by side: up to where they first differ, and what differs after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from funcgraph.answers.facts import same_calls
from funcgraph.answers.named_call import NamedCall, call_beginning, exact_pattern, find_call, function_named
from funcgraph.diff.first_difference import FirstDifference, Lockstep, Side, lockstep
from funcgraph.names import printable
from funcgraph.tracedata.description import SelectionError
from funcgraph.tracedata.selected_time import COARSE_CLOCKS, exact_time
from funcgraph.tracedata.selection import Selection

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Sequence

    from funcgraph.tracedata.opened import Trace


class CallCount(NamedTuple):
    """How often both calls call a function.

    Attributes:
        function: its name.
        a, b: how often each calls it, at any depth.
    """

    function: str
    a: int
    b: int


@dataclass(frozen=True, slots=True)
class CallComparison:
    """Two calls beside each other.

    Attributes:
        a, b: the calls.
        difference: where they first differ; None: they make the same calls with the same recorded values.
        parting: where they first call something else, whatever the values; None: nowhere.
        after_a, after_b: what each calls from there on, as (depth, name): the first ones.
        counts: the functions that one calls more often, those with the largest difference first.
    """

    a: NamedCall
    b: NamedCall
    difference: FirstDifference | None
    parting: FirstDifference | None
    after_a: tuple[tuple[int, str], ...]
    after_b: tuple[tuple[int, str], ...]
    counts: tuple[CallCount, ...]


def compare_calls(a: Trace, one: NamedCall, b: Trace, other: NamedCall) -> CallComparison:
    """Compare two calls of a function: what they call, in order, with the values that both recorded.

    Args:
        a, one: a trace and a call of it.
        b, other: likewise; may be the same trace.

    Raises:
        SelectionError: they are calls of two functions, or one was suspended and resumed: what it calls
            cannot be told from what others called meanwhile.
        TraceError, OSError: as `Trace.columns`.

    Example:
        >>> compare_calls(trace, find_call(trace, "shop.order:3"), trace, find_call(trace, "shop.order:4"))
    """
    if one.function != other.function:
        raise SelectionError(f"{one} and {other} are calls of two functions")
    for call in (one, other):
        if call.resumes:
            raise SelectionError(f"{call} was suspended and resumed: only calls that were not are compared")
    found = lockstep(_side_of(a, one), _side_of(b, other))
    if found.parting is None:  # the same calls: nothing follows, and each function is called as often
        return CallComparison(one, other, found.first, None, (), (), ())
    counts = tuple(_counts(*found.counts))
    return CallComparison(one, other, found.first, found.parting, *found.after, counts)


class DifferentPair(NamedTuple):
    """Two calls of a function that differ, one of each run.

    Attributes:
        a, b: the calls.
        difference: where they first differ. It counts the calls since the last pair that differs.
    """

    a: NamedCall
    b: NamedCall
    difference: FirstDifference


class DifferentCalls(NamedTuple):
    """The first calls that differ in two runs.

    Attributes:
        pairs: the calls, in their order.
        end: where the runs differ beside any pair of calls, so that nothing later is compared: one has no
            further call, or calls something else; None: nowhere.
        is_cut: more calls may differ.
    """

    pairs: tuple[DifferentPair, ...]
    end: FirstDifference | None
    is_cut: bool


def different_calls(
    a: Trace, b: Trace, function: str = "", tasks: Sequence[str] = (), *, most: int = 10
) -> DifferentCalls:
    """Return the first calls of a function that differ in two runs, the N-th of one beside the N-th of the
    other.

    Args:
        a, b: the runs.
        function: the function, or a pattern that it alone matches; "": all calls that no other call made.
        tasks: only in these threads: ids or names.
        most: how many pairs, at most. After a call that was suspended, or did not end, none is looked for:
            others may have begun meanwhile.

    Raises:
        SelectionError: there is no such function, or several threads call it.
        TraceError, OSError: as `Trace.columns`.

    Example:
        >>> with funcgraph.open("old.fg") as a, funcgraph.open("new.fg") as b:
        ...     for pair in different_calls(a, b, "shop.order").pairs:
        ...         print(pair.a, pair.b, pair.difference.what)
    """
    name = _common_function(a, b, function) if function else ""
    pairs: list[DifferentPair] = []
    begins: tuple[str | None, ...] = (None, None)
    while len(pairs) < most:
        found = _lockstep_of(a, b, name, tasks, begins)
        if found.first is None or not found.root:
            return DifferentCalls(tuple(pairs), found.first, False)
        pairs.append(_pair_of(a, b, found, tasks))
        ends = [_end_of(call) for call in pairs[-1][:2]]
        if None in ends:
            break
        begins = tuple(ends)
    return DifferentCalls(tuple(pairs), None, True)


def first_different_calls(
    a: Trace, b: Trace, function: str, tasks: Sequence[str] = ()
) -> tuple[NamedCall, NamedCall] | None:
    """Return the first calls of a function that differ in two runs, the N-th of one beside the N-th of the
    other; None: none do.

    Args:
        a, b: the runs.
        function: the function, or a pattern that it alone matches. If it is a call, as `find_call` takes it,
            that call of both.
        tasks: only in these threads: ids or names.

    Raises:
        SelectionError: there is no such function; several threads call it; one run has only the same calls
            and fewer.
        TraceError, OSError: as `Trace.columns`.

    Example:
        >>> with funcgraph.open("old.fg") as a, funcgraph.open("new.fg") as b:
        ...     pair = first_different_calls(a, b, "shop.order")
    """
    if function not in {one.name for one in a.functions} and (":" in function or "@" in function):
        return find_call(a, function), find_call(b, function)
    name = _common_function(a, b, function)
    found = _lockstep_of(a, b, name, tasks)
    if found.first is None:
        return None
    if not found.root:
        raise SelectionError(f"{same_calls(found.nr_roots, printable(name))}; one has no more")
    one, other, _ = _pair_of(a, b, found, tasks)
    return one, other


def _side_of(trace: Trace, call: NamedCall) -> Side:
    return Side(trace, call.window(), call.function, call.begin_ns)


def _common_function(a: Trace, b: Trace, pattern: str) -> str:
    """Return the name of the function that a pattern means. Raises SelectionError: one has none."""
    name, _ = function_named(a, pattern)
    function_named(b, name)
    return name


def _lockstep_of(
    a: Trace, b: Trace, name: str, tasks: Sequence[str], begins: Sequence[str | None] = (None, None)
) -> Lockstep:
    """Compare the calls of a function, or all, from a time of each run on, up to the first that differs."""
    graph = (exact_pattern(a, name),) if name else ()
    sides = [
        Side(trace, Selection(graph=graph, tasks=tasks, begin=begin))
        for trace, begin in zip((a, b), begins, strict=True)
    ]
    return lockstep(*sides, is_counted=False)


def _pair_of(a: Trace, b: Trace, found: Lockstep, tasks: Sequence[str]) -> DifferentPair:
    assert found.first is not None
    one, other = (
        call_beginning(trace, found.root, begin_ns, tasks)
        for trace, begin_ns in zip((a, b), found.roots_ns, strict=True)
    )
    return DifferentPair(one, other, found.first)


def _end_of(call: NamedCall) -> str | None:
    """Return the time after a call; None: other calls may have begun before its end, or in the same tick."""
    is_last = call.is_open or call.resumes or call.clock in COARSE_CLOCKS
    return None if is_last else exact_time(call.clock, call.end_ns + 1)


def _counts(a: Counter[str], b: Counter[str]) -> list[CallCount]:
    rows = [CallCount(name, a[name], b[name]) for name in {**a, **b} if a[name] != b[name]]
    return sorted(rows, key=lambda row: (-abs(row.a - row.b), row.function))
