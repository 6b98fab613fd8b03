"""The last call of each function, with its arguments and its result, as an editor shows them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from funcgraph.answers.facts import Place, place_of
from funcgraph.answers.values import function_mask
from funcgraph.names import printable
from funcgraph.tracedata.links import NO_LINKS, Links
from funcgraph.tracedata.summary import FunctionKey, function_key

if TYPE_CHECKING:
    from funcgraph.tracedata.call_columns import CallColumns
    from funcgraph.tracedata.description import Function
    from funcgraph.tracedata.opened import Trace
    from funcgraph.tracedata.selection import Selection


class LastCall(NamedTuple):
    """A function's last call in a trace.

    Attributes:
        function: the function.
        arguments: as a report prints them: `amount=3, currency='JPY'`; "" if they are not recorded.
        result: likewise; the type of the exception, if `ended` is `raise`.
        ended: how it ended, of `CallColumns.ENDS`.
        place: when, and in which thread.
    """

    function: Function
    arguments: str
    result: str
    ended: str
    place: Place


def last_calls(trace: Trace, function: str, *, select: Selection | None = None) -> list[LastCall]:
    """Return the last call of each of some functions: the one that ended last, or else did not end.

    Args:
        trace: what `funcgraph.open` returned.
        function: a function's name, or a pattern as of `funcgraph record -l`.
        select: the part of the trace that is read; None: all.

    Returns:
        The functions that were called, by name.

    Raises:
        SelectionError: no function of the trace matches, or the trace has no such part.
        TraceError, OSError: as `Trace.columns`.

    Example:
        >>> with funcgraph.open("trace.fg") as trace:
        ...     for call in last_calls(trace, "shop.*"):
        ...         print(call.function.name, call.arguments)
    """
    mask = function_mask(trace, function)
    found: dict[FunctionKey, LastCall] = {}
    for batch in trace.call_columns(select=select):
        # The places of the last calls, without a step of Python for each call.
        places = dict(zip(batch.function, count()))
        for number, place in sorted(places.items(), key=lambda item: item[1]):
            if number < len(mask) and mask[number]:
                one = trace.functions[number]
                found[function_key(one)] = _call(trace, batch, place, one)
    return sorted(
        found.values(), key=lambda call: (call.function.name, call.function.file, call.function.line)
    )


def _call(trace: Trace, batch: CallColumns, row: int, function: Function) -> LastCall:
    arguments, result = (
        bytes(data[offsets[row] : offsets[row + 1]]).decode("utf-8", "backslashreplace")
        for offsets, data in (
            (batch.arguments_offsets, batch.arguments),
            (batch.result_offsets, batch.result),
        )
    )
    task = batch.tasks[batch.task[row]]
    place = Place(batch.begin_ns[row], batch.end_ns[row], task, trace.clock)
    return LastCall(function, arguments, result, batch.ENDS[batch.ended[row]], place)


def last_calls_lines(calls: list[LastCall], links: Links = NO_LINKS) -> Iterator[str]:
    """Yield a line for each call: `shop.price(amount=3) = 4.0 (/w/shop.py:12)`."""
    for call in calls:
        name = f"{printable(call.function.name)}({call.arguments})"
        yield f"{name}{_outcome(call)}{place_of(call.function, links)}"


def _outcome(call: LastCall) -> str:
    if call.ended == "open":
        return " did not end"
    if call.ended == "raise":
        return f" raised {call.result}".rstrip()
    return f" = {call.result}" if call.result else ""


def last_call_json(call: LastCall) -> dict[str, Any]:
    """Return a call as `funcgraph values --last --json` has it."""
    return {
        "name": call.function.name,
        "file": call.function.file,
        "line": call.function.line,
        "arguments": call.arguments,
        "result": call.result,
        "ended": call.ended,
        "place": call.place.as_json(),
    }
