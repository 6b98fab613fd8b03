"""Two calls of one function side by side: up to where they first differ, and what differs after."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from funcgraph.answers.named_call import NamedCall, find_call, function_named
from funcgraph.diff.first_difference import CallCodes, FirstDifference, decoded, first_difference
from funcgraph.tracedata.description import SelectionError
from funcgraph.tracedata.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from funcgraph.tracedata.opened import Trace

_AFTER = 5


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
    selects = one.selection(), other.selection()
    found = first_difference(a, b, *selects)
    parting = found
    if found is not None and found.what != "call":
        parting = first_difference(a, b, *selects, values=False)
    if parting is None:  # the same calls: nothing follows, and each function is called as often
        return CallComparison(one, other, found, None, (), (), ())
    names: dict[str, int] = {}
    after_a, counts_a = _summed(a, names, selects[0], parting.calls)
    after_b, counts_b = _summed(b, names, selects[1], parting.calls)
    return CallComparison(one, other, found, parting, after_a, after_b, tuple(_counts(counts_a, counts_b)))


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
    name, _ = function_named(a, function)
    select = Selection(graph=(function,), tasks=tasks)
    found = first_difference(a, b, select)
    if found is None:
        return None
    last = found.calls + (found.what != "result")
    number = _number_of_root(CallCodes(a, {}, select), a, name, last)
    other = _number_of_root(CallCodes(b, {}, select), b, name, last)
    if number != other:
        raise SelectionError(
            f"the first {min(number, other):,} calls of {name} are the same; one has no more"
        )
    return find_call(a, f"{name}:{number}"), find_call(b, f"{name}:{number}")


def _number_of_root(calls: CallCodes, trace: Trace, name: str, last: int) -> int:
    """Return the number of the outermost call of a function in which the last of some calls is."""
    names = _names(trace)
    count = number = 0
    for code in islice(calls.codes(), last):
        depth, function = decoded(code, names)
        count += function == name
        number = number if depth else count
    return number


def _names(trace: Trace) -> list[str]:
    """Return the names of functions, as CallCodes numbers them in an empty table."""
    return list(dict.fromkeys([*(function.name for function in trace.functions), "<unknown>"]))


def _summed(
    trace: Trace, names: dict[str, int], select: Selection, before: int
) -> tuple[tuple[tuple[int, str], ...], Counter[str]]:
    """Return the calls of a selection after the first ones, and how often each function is called."""
    after: list[int] = []
    counts: Counter[int] = Counter()
    at = 0
    calls = CallCodes(trace, names, select, from_first=True)
    while codes := calls.peek():
        after += codes[max(before - at, 0) :][: _AFTER - len(after)] if at + len(codes) > before else []
        counts.update(codes)
        at += len(codes)
        calls.skip(len(codes))
    known = list(names)
    by_name: Counter[str] = Counter()
    for code, count in counts.items():
        by_name[decoded(code, known)[1]] += count
    return tuple(decoded(code, known) for code in after), by_name


def _counts(a: Counter[str], b: Counter[str]) -> list[CallCount]:
    rows = [CallCount(name, a[name], b[name]) for name in {**a, **b} if a[name] != b[name]]
    return sorted(rows, key=lambda row: (-abs(row.a - row.b), row.function))
