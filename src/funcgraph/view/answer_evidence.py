"""The evidence of answers about calls: where it is on the time line, and the command that prints it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from funcgraph.answers.exceptions import Raised
from funcgraph.answers.facts import Place
from funcgraph.answers.named_call import NamedCall
from funcgraph.tracedata.call_index import Lane, Span
from funcgraph.tracedata.description import Function, Task
from funcgraph.tracedata.summary import function_key
from funcgraph.view.call_detail import head_of, report_command
from funcgraph.view.parameters import Parameters
from funcgraph.view.served import Served

__all__ = ["call_json", "evidence", "exception_calls", "number_of", "place_json", "place_of_step", "spot"]

_MAX = 2**32 - 1


def evidence(served: Served, parameters: Parameters) -> dict[str, Any]:
    """Return the call that begins at a time in a lane; of several that of a function, or with that end."""
    lane = served.lane(parameters.integer("lane", 0, _MAX))
    begin_ns = served.begin_ns + parameters.time("begin")
    end_ns = served.begin_ns + parameters.time("end")
    number = parameters.integer("function", 0, _MAX) if "function" in parameters else None
    function = None if number is None else served.function(number)
    found = _call_at(served, lane, begin_ns, end_ns, function)
    return {"call": None if found is None else head_of(served, found)}


def number_of(served: Served, function: Function | None) -> int | None:
    """Return the number that the page has for a function; None: it has none, as that of a folded import."""
    try:
        return served.number_of(function)
    except KeyError:
        return None


def place_json(served: Served, place: Place, function: Function | None) -> dict[str, Any] | None:
    """Return where a call of a function is, as `evidence` takes it; None: its thread is not known."""
    return None if place.task is None else spot(served, place.task, place.begin_ns, place.end_ns, function)


def spot(
    served: Served, task: Task, begin_ns: int, end_ns: int, function: Function | None
) -> dict[str, Any] | None:
    """The same, of times in a thread."""
    lane = _lane_of(served, task)
    if lane is None:
        return None
    return {
        "lane": lane.number,
        "begin": max(begin_ns - served.begin_ns, 0),
        "end": max(end_ns - served.begin_ns, 0),
        "function": number_of(served, function),
        "report": report_command(served, lane, begin_ns, end_ns),
    }


def call_json(served: Served, call: NamedCall) -> dict[str, Any] | None:
    """Return where a call is that has a name."""
    return spot(served, call.task, call.begin_ns, call.end_ns, _function_named(served, call.function))


def place_of_step(
    served: Served, call: NamedCall, side: tuple[int, str, int], what: str
) -> dict[str, Any] | None:
    """Return where the call is that one of two calls makes, or that ends in it, where they first differ."""
    _, name, time_ns = side  # of arguments and results it is a text
    function = _function_named(served, name) if what == "call" else None
    begin_ns = time_ns - (what == "result")  # a call that ends then is in progress until then
    return spot(served, call.task, begin_ns, time_ns, function)


def _function_named(served: Served, name: str) -> Function | None:
    """Return the first function of a name; None: the trace names none."""
    return next((one for one in served.functions if one.name == name), None)


def exception_calls(served: Served, raised: Raised) -> list[dict[str, Any] | None]:
    """Return the calls that an exception ended, and then the one that received it last; None: it is not
    found, as those of a folded import are."""
    chain, place = _chain(served, raised), 0
    found: list[dict[str, Any] | None] = []
    for function in (frame.function for frame in raised.frames):
        at = _next_of(chain, place, function, raises=True)
        found.append(None if at is None else head_of(served, chain[at]))
        place = place if at is None else at + 1
    at = None if raised.fate == "left" else _next_of(chain, place, raised.handler, raises=False)
    return [*found, None if at is None else head_of(served, chain[at])]


def _next_of(chain: Sequence[Span], first: int, function: Function | None, *, raises: bool) -> int | None:
    """Return the place of the next call of a function, or of one that raised; None: there is none."""
    key = function_key(function)
    for place in range(first, len(chain)):
        if (not raises or chain[place].ended == "raise") and function_key(chain[place].function) == key:
            return place
    return None


def _chain(served: Served, raised: Raised) -> list[Span]:
    """Return the call that raised an exception, and those around it."""
    lane = None if raised.place.task is None else _lane_of(served, raised.place.task)
    if lane is None:
        return []
    for time_ns in (raised.raised_ns, max(raised.raised_ns - 1, 0)):
        around = list(_around(served, lane, time_ns))
        for place, span in enumerate(around):
            is_it = span.end_ns == raised.raised_ns and span.ended == "raise"
            if is_it and function_key(span.function) == function_key(raised.origin):
                return around[place:]
    return []


def _around(served: Served, lane: Lane, time_ns: int) -> Iterator[Span]:
    """Yield the calls in progress at a time, the innermost first."""
    innermost = served.index().call_at(lane, time_ns)
    if innermost is not None:
        yield innermost
        yield from served.index().parents(innermost)


def _call_at(
    served: Served, lane: Lane, begin_ns: int, end_ns: int, function: Function | None
) -> Span | None:
    """Return the call at a time that fits best: by its begin, then its function, then its end."""

    def misfits(span: Span) -> tuple[bool, bool, bool]:
        is_other = function is not None and function_key(span.function) != function_key(function)
        return span.begin_ns != begin_ns, is_other, span.end_ns != end_ns

    return min(_around(served, lane, begin_ns), key=misfits, default=None)


def _lane_of(served: Served, task: Task) -> Lane | None:
    """Return the lane of a thread: in a kernel's trace, of all its tasks on CPUs."""
    lanes = served.index().lanes()
    exact = next((lane for lane in lanes if lane.task == task), None)
    if exact is not None or not served.trace.is_kernel:
        return exact
    return next(
        (lane for lane in lanes if (lane.task.buffer, lane.task.tid) == (task.buffer, task.tid)), None
    )
