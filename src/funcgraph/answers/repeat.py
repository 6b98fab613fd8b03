"""What a program did more than once: below one call, over the whole run, exceptions that it swallowed, and
results that it discarded.

src/tracedata/answers/repeats.h has the rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from funcgraph.answers.exceptions import ExceptionGroup, exceptions_of
from funcgraph.answers.facts import Counts, Names, Place, place_at
from funcgraph.answers.value_text import value_text
from funcgraph.names import printable
from funcgraph.tracedata.description import Function, reading_error
from funcgraph.tracedata.events import name_arguments
from funcgraph.tracedata.recorded_options import recorded
from funcgraph.tracedata.selection import Selection
from funcgraph.tracedata.summary import function_key
from funcgraph.tracedata.values import PartialValue, Value, decode_values

if TYPE_CHECKING:
    from funcgraph._tracedata import DiscardsFunctionTuple, RepeatFunctionTuple, RepeatGroupTuple
    from funcgraph.tracedata.opened import Trace

DEFAULT_LEAST = 5
_SQL = 1  # FG_REPEAT_SQL


@dataclass(slots=True)
class Repetition:
    """The same call, made again and again below one call.

    Attributes:
        below: the function of the innermost call below which it was repeated; it is there `runs` times.
        function: what was called.
        is_sql: whether its statements of SQL have one shape; else the arguments are the same.
        text: the shape, literals as `?`; or the arguments of the longest run; None: they were forgotten.
        is_partial: whether some arguments are compared only by type, length or address.
        runs: below how many calls it was repeated.
        calls: all these calls.
        total_ns: their time.
        repeated_ns: that without one call of each run.
        most: how many calls there are in the longest run.
        place: the call below which that is.
    """

    below: Function | None
    function: Function | None
    is_sql: bool
    text: str | None
    is_partial: bool
    runs: int
    calls: int
    total_ns: int
    repeated_ns: int
    most: int
    place: Place


@dataclass(slots=True)
class Cacheable:
    """A function that returned the same result for the same arguments.

    Attributes:
        function: the function.
        calls: calls that returned, with recorded arguments and result.
        hits: those with the arguments and the result of an earlier one, if these never had another result.
        saved_ns: the time of these, which a cache would save.
        repeated: how many different arguments they have.
        differing: how many arguments had different results.
        best: the arguments whose repetition took longest; None: they were forgotten.
        best_calls: how many calls have them.
        is_partial: whether some arguments or results are compared only by type, length or address.
    """

    function: Function
    calls: int
    hits: int
    saved_ns: int
    repeated: int
    differing: int
    best: str | None
    best_calls: int
    is_partial: bool


@dataclass(slots=True)
class Discarded:
    """A Python function whose results were all thrown away by its callers.

    Attributes:
        function: the function.
        calls: calls that returned, with a recorded result.
        results: the results other than None; each was discarded: the call was a statement by itself.
        total_ns: the time of the calls that have them, without calls below another one of the function.
        place: the longest of these calls.
    """

    function: Function
    calls: int
    results: int
    total_ns: int
    place: Place


@dataclass(frozen=True, slots=True)
class Repeats:
    """What a program did more than once.

    Attributes:
        below: what was repeated below one call, that with the most time first.
        cacheable: functions with the same results for the same arguments, likewise.
        swallowed: exceptions that were raised and handled again and again, the most frequent first.
        discarded: functions whose results nobody used, that with the most time first.
        has_arguments, has_results: whether the trace has them: without arguments nothing is known of calls.
            What could be cached needs both, what was discarded needs results.
        forgotten: how many calls that had been met once were forgotten to bound the memory.
        counts: how many calls there are.
    """

    below: list[Repetition]
    cacheable: list[Cacheable]
    swallowed: list[ExceptionGroup]
    discarded: list[Discarded]
    has_arguments: bool
    has_results: bool
    forgotten: int
    counts: Counts


def repeat(
    trace: Trace, *, least: int = DEFAULT_LEAST, select: Selection | None = None, imports: bool = False
) -> Repeats:
    """Find what a program did more than once.

    Args:
        trace: what `funcgraph.open` returned.
        least: so many calls below one call, exceptions, or discarded results are a repetition; at least 2.
        select: the part of the trace that is read; None: all.
        imports: also what the import machinery does.

    Returns:
        The repetitions. A trace without arguments has only exceptions and discarded results; one without
        results has nothing that could be cached or was discarded.

    Raises:
        ValueError: `least` is less than 2.
        SelectionError: the trace has no such part.
        TraceError: the file is damaged.
        OSError: it cannot be read.

    Example:
        >>> with funcgraph.open("trace.fg") as trace:
        ...     for found in answers.repeat(trace).below:
        ...         print(found.most, found.function, found.text)
    """
    if least < 2:
        raise ValueError(f"least must be at least 2, got {least}")
    reading = trace.reading(select, fold_imports=not imports)
    has_arguments = recorded(trace.meta, "args")
    function_mask = (b"\1" if has_arguments else b"\0") * len(trace.functions)
    try:
        below, functions, results, raised, forgotten, counts, names = reading.reader.repeats(
            reading.functions,
            reading.tasks,
            reading.select_unknown,
            function_mask,
            least,
            reading.selection,
            reading.folds,
        )
    except ValueError as error:
        raise reading_error(error) from None
    known = Names(trace.functions, names)
    groups = exceptions_of(trace, raised, Counts(*counts), known).groups
    return Repeats(
        _without_doubles(_merged(_repetition(trace, known, row) for row in below)),
        _cacheable(trace, functions),
        [group for group in groups if group.first.fate == "handled" and group.count >= least],
        _discarded(trace, results, least),
        has_arguments,
        recorded(trace.meta, "retval"),
        forgotten,
        Counts(*counts),
    )


# ---- below one call


def _repetition(trace: Trace, names: Names, row: RepeatGroupTuple) -> Repetition:
    below, number, kind, runs, calls, total, repeated, most, begin, end, task, recorded_text = row
    function = names.function(number)
    is_sql = kind == _SQL
    values = () if is_sql else decode_values(recorded_text)
    if is_sql:
        text = printable(recorded_text.decode("utf-8", "backslashreplace")) if recorded_text else None
    else:
        text = arguments_text(function, values)
    place = place_at(trace, begin, end, task)
    is_partial = any(isinstance(value, PartialValue) and not value.is_whole for value in values)
    return Repetition(
        names.function(below), function, is_sql, text, is_partial, runs, calls, total, repeated, most, place
    )


def arguments_text(function: Function | None, values: tuple[Value, ...]) -> str:
    """Return arguments as a report prints them: `n=3, text='abc'`."""
    return ", ".join(
        f"{printable(name)}={value_text(v)}" for name, v in name_arguments(function, values).items()
    )


def _merged(found: Iterable[Repetition]) -> list[Repetition]:
    """Make one of those whose functions have several numbers in the trace."""
    merged: dict[object, Repetition] = {}
    for one in found:
        key = (
            function_key(one.below),
            function_key(one.function),
            one.is_sql,
            one.text if one.is_sql else "",
        )
        known = merged.setdefault(key, one)
        if known is not one:
            _add(known, one)
    return sorted(merged.values(), key=lambda one: (-one.repeated_ns, -one.calls))


def _add(known: Repetition, one: Repetition) -> None:
    known.runs += one.runs
    known.calls += one.calls
    known.total_ns += one.total_ns
    known.repeated_ns += one.repeated_ns
    if one.most > known.most:
        known.most, known.place, known.text, known.is_partial = one.most, one.place, one.text, one.is_partial


def _without_doubles(found: list[Repetition]) -> list[Repetition]:
    """Leave out a statement whose calls are there already, with the same arguments."""
    same = {
        (function_key(one.below), function_key(one.function)): one.calls for one in found if not one.is_sql
    }
    return [
        one
        for one in found
        if not one.is_sql or same.get((function_key(one.below), function_key(one.function)), 0) < one.calls
    ]


# ---- over the whole run


def _cacheable(trace: Trace, rows: Iterable[RepeatFunctionTuple]) -> list[Cacheable]:
    """Return the functions that have results. One that always returns None was called for its effects."""
    found: dict[object, Cacheable] = {}
    for row in rows:
        number, calls, hits, saved, differing, repeated, best_calls, _best_ns, best, is_none, is_partial = row
        if is_none:
            continue
        function = trace.functions[number]
        text = arguments_text(function, decode_values(best)) if best or not function.arguments else None
        one = Cacheable(function, calls, hits, saved, repeated, differing, text, best_calls, bool(is_partial))
        known = found.setdefault(function_key(function), one)
        if known is not one:
            known.calls += calls
            known.hits += hits
            known.saved_ns += saved
            known.repeated += repeated
            known.differing += differing
    return sorted(found.values(), key=lambda one: -one.saved_ns)


def _discarded(trace: Trace, rows: Iterable[DiscardsFunctionTuple], least: int) -> list[Discarded]:
    """Return the functions of which no result was used. Of what C code called, this is not known."""
    found: dict[object, Discarded] = {}
    used: set[object] = set()
    longest: dict[object, int] = {}
    for number, calls, results, discarded, total, begin, end, task in rows:
        function = trace.functions[number]
        key = function_key(function)
        if discarded < results:
            used.add(key)
        if not discarded:
            continue
        one = Discarded(function, calls, results, total, place_at(trace, begin, end, task))
        known = found.setdefault(key, one)
        if known is not one:
            known.calls += calls
            known.results += results
            known.total_ns += total
            if end - begin > longest[key]:
                known.place = one.place
        longest[key] = max(longest.get(key, 0), end - begin)
    return sorted(
        (one for key, one in found.items() if key not in used and one.results >= least),
        key=lambda one: (-one.total_ns, -one.results),
    )
