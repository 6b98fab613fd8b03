"""Exceptions of a trace: from where each was raised through the calls that it ended to where it was handled.

src/tracedata/answers/exceptions.h has the rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, cast

from funcgraph import _tracedata
from funcgraph.answers.facts import Counts, Names, Place, place_at
from funcgraph.answers.value_text import recorded_text
from funcgraph.tracedata.description import reading_error
from funcgraph.tracedata.selection import Selection
from funcgraph.tracedata.summary import function_key

if TYPE_CHECKING:
    from funcgraph._tracedata import ExceptionsTuple, ExceptionTuple
    from funcgraph.tracedata.description import Function
    from funcgraph.tracedata.opened import Trace

Fate: TypeAlias = Literal["handled", "replaced", "left", "open"]

_NO_FUNCTION = 2**32 - 1


class Frame(NamedTuple):
    """A call that an exception ended.

    Attributes:
        function: its function; None: the trace does not name it.
        caller_line: the line of the caller at which it had been made, or 0: not recorded.
    """

    function: Function | None
    caller_line: int


class Earlier(NamedTuple):
    """An exception that a call had received when it raised another one.

    Attributes:
        number: among the exceptions of the trace.
        type: its type.
        origin: the function that raised it.
    """

    number: int
    type: str
    origin: Function | None


@dataclass(frozen=True, slots=True)
class Raised:
    """One exception.

    Attributes:
        number: among all of the trace, from 1, in the order in which they were raised.
        type: the name of its type; "" if it is not recorded.
        fate: `handled`: the call that received it last, of the function `handler`, ended otherwise or
            received it again; `replaced`: that call ended by another exception; `left`: no call around the
            last one that it ended is in the trace; `open`: the end of the call that received it is not.
        frames: the calls that it ended, the one that raised it first.
        handler: see `fate`; None also if the trace does not name it.
        cause: its `__cause__` (`raise ... from`) as a report prints it: `KeyError('k')`; "" if it has none,
            or the trace was recorded without `--values`.
        after: what the call that raised it had received last: its `__context__`, if that was still being
            handled, which is not recorded.
        place: from the begin of the call that raised it to the end of the last call that it ended.
        raised_ns: the end of the call that raised it.
    """

    number: int
    type: str
    fate: Fate
    frames: tuple[Frame, ...]
    handler: Function | None
    cause: str
    after: Earlier | None
    place: Place
    raised_ns: int

    @property
    def origin(self) -> Function | None:
        """The function that raised it, or native code that it had called."""
        return self.frames[0].function


@dataclass(slots=True)
class ExceptionGroup:
    """Exceptions of one type, raised by one function, with one fate in one function.

    Attributes:
        first: the first of them.
        count: how many there are.
        last_number: the number of the last one.
    """

    first: Raised
    count: int
    last_number: int


@dataclass(frozen=True, slots=True)
class Exceptions:
    """The exceptions of a trace.

    Attributes:
        groups: by type, place and handler; the most frequent ones first.
        count: how many exceptions there are.
        left_out: how many of them are in no group, as there are too many kinds.
        one: the exception that was chosen by its number; None: none was, or there is none.
        counts: how many calls there are.
    """

    groups: list[ExceptionGroup]
    count: int
    left_out: int
    one: Raised | None
    counts: Counts


def exceptions(
    trace: Trace, *, number: int = 0, select: Selection | None = None, imports: bool = False
) -> Exceptions:
    """Follow each exception from where it was raised to where it was handled or left its thread.

    Args:
        trace: what `funcgraph.open` returned.
        number: the number of an exception, from 1, that `one` has; 0: none.
        select: the part of the trace that is read; None: all.
        imports: also those in the import machinery; else an import is one call.

    Raises:
        ValueError: `number` is negative.
        SelectionError: the trace has no such part.
        TraceError: the file is damaged.
        OSError: it cannot be read.

    Example:
        >>> with funcgraph.open("trace.fg") as trace:
        ...     for group in answers.exceptions(trace).groups:
        ...         print(group.count, group.first.type, group.first.fate)
    """
    if number < 0:
        raise ValueError(f"number must be at least 0, got {number}")
    reading = trace.reading(select, fold_imports=not imports)
    try:
        rows, counts, names = reading.reader.exceptions(
            reading.functions, reading.tasks, reading.select_unknown, number, reading.selection, reading.folds
        )
    except ValueError as error:
        raise reading_error(error) from None
    return exceptions_of(trace, rows, Counts(*counts), Names(trace.functions, names))


def exceptions_of(trace: Trace, rows: ExceptionsTuple, counts: Counts, names: Names) -> Exceptions:
    """Return the exceptions that a Reader returned."""
    groups, count, left_out, one = rows
    made = [
        ExceptionGroup(_raised(trace, first, names), number, last) for first, number, last, _last_ns in groups
    ]
    found = None if one is None else _raised(trace, one, names)
    return Exceptions(_merged(made), count, left_out, found, counts)


def _merged(groups: Iterable[ExceptionGroup]) -> list[ExceptionGroup]:
    """Make one of groups whose functions have several numbers in the trace."""
    merged: dict[object, ExceptionGroup] = {}
    for group in groups:
        first = group.first
        key = (first.type, first.fate, function_key(first.origin), function_key(first.handler))
        known = merged.setdefault(key, group)
        if known is group:
            continue
        known.count += group.count
        known.last_number = max(known.last_number, group.last_number)
        known.first = min(known.first, group.first, key=lambda raised: raised.number)
    return sorted(merged.values(), key=lambda group: (-group.count, group.first.number))


def _raised(trace: Trace, row: ExceptionTuple, names: Names) -> Raised:
    number, kind, fate, _identity, begin, raised, left, task, handler, frames = row[:10]
    after, origin, before, cause = row[10:]
    return Raised(
        number,
        kind,
        cast("Fate", _tracedata.EXCEPTION_FATES[fate]),
        tuple(Frame(names.function(function), line) for function, line in frames),
        None if handler == _NO_FUNCTION else names.function(handler),
        recorded_text(cause) if cause else "",
        Earlier(after, before, names.function(origin)) if after else None,
        place_at(trace, begin, left, task),
        raised,
    )
