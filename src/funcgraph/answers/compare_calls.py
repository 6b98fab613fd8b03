"""Two calls of one function side by side: up to where they first differ, and what differs after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from funcgraph.answers.facts import same_calls
from funcgraph.answers.named_call import NamedCall, call_beginning, exact_pattern, find_call, function_named
from funcgraph.diff.first_difference import FirstDifference, Side, lockstep
from funcgraph.names import printable
from funcgraph.tracedata.description import SelectionError
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
    function_named(b, name)  # raises an error if it is not there
    select = Selection(graph=(exact_pattern(a, name),), tasks=tasks)
    found = lockstep(Side(a, select), Side(b, select), is_counted=False)
    if found.first is None:
        return None
    if _is_at_next_root(found.first):
        raise SelectionError(f"{same_calls(found.nr_roots, printable(name))}; one has no more")
    one, other = (
        call_beginning(trace, name, begin_ns, tasks)
        for trace, begin_ns in zip((a, b), found.roots_ns, strict=True)
    )
    return one, other


def _side_of(trace: Trace, call: NamedCall) -> Side:
    return Side(trace, call.window(), call.function, call.begin_ns)


def _is_at_next_root(found: FirstDifference) -> bool:
    """Whether one side has one more call of depth 0, and the other no further call."""
    return found.what == "call" and any(
        end is None and other is not None and not other[0]
        for end, other in ((found.a, found.b), (found.b, found.a))
    )


def _counts(a: Counter[str], b: Counter[str]) -> list[CallCount]:
    rows = [CallCount(name, a[name], b[name]) for name in {**a, **b} if a[name] != b[name]]
    return sorted(rows, key=lambda row: (-abs(row.a - row.b), row.function))
