"""What the panels of answers share: of which part of a trace an answer is, of which function or call, the
command that prints the same, and what cannot be answered."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from funcgraph.answers.facts import Counts, limits
from funcgraph.answers.named_call import NamedCall, call_of_span
from funcgraph.names import printable
from funcgraph.tracedata.description import SelectionError
from funcgraph.tracedata.recorded_options import missing
from funcgraph.tracedata.selection import Selection
from funcgraph.view.call_detail import located, time_text
from funcgraph.view.parameters import Parameters
from funcgraph.view.request_error import RequestError
from funcgraph.view.search import matching_functions
from funcgraph.view.served import Served

__all__ = [
    "FUNCTION",
    "PART",
    "answer_of",
    "command_of",
    "dated",
    "function_name",
    "instance_of",
    "lacks_values",
    "located_call",
    "notes_of",
    "part_of",
    "refuse_kernel",
    "words_of",
]

_T = TypeVar("_T")
_MAX = 2**32 - 1
_MOST_ROWS = 200
_VALUES = ("args", "retval")
_LIVE = "a live recording: it goes on, and has no file for a command; funcgraph view -P PID -o FILE keeps one"

#: The parameters that say of which function an answer is: its number, or a name that a person has typed.
FUNCTION = ("function", "name")
#: Those that say of which part: `thread` is a lane.
PART = ("begin", "end", "thread")


def answer_of(question: Callable[[], _T]) -> _T:
    """Return an answer; a question that the trace has nothing for is no damage of it."""
    try:
        return question()
    except SelectionError as error:
        raise RequestError(404, str(error)) from None


def dated(
    question: Callable[[Served, Parameters], dict[str, Any]],
) -> Callable[[Served, Parameters], dict[str, Any]]:
    """Return a question whose answers say of what time they are, as a trace may grow meanwhile."""

    def answer(served: Served, parameters: Parameters) -> dict[str, Any]:
        return {
            **question(served, parameters),
            "first_ns": served.first_ns,
            "until_ns": served.duration_ns,
        }

    return answer


def part_of(served: Served, parameters: Parameters) -> Selection:
    """Return the part that a request is about: of several instances, that of the first one with calls."""
    tasks: tuple[str, ...] = ()
    buffer = served.call_buffers()[0]
    if "thread" in parameters:
        lane = served.lane(parameters.integer("thread", 0, _MAX))
        tasks, buffer = (str(lane.task.tid),), lane.task.buffer
    names = [one.name for one in served.trace.buffers]
    buffers = (names[buffer],) if len(names) > 1 and buffer < len(names) else ()
    if "begin" not in parameters and "end" not in parameters:
        return Selection(tasks=tasks, buffers=buffers)
    begin, end = (time_text(served, time_ns) for time_ns in served.part_or_all(parameters))
    return Selection(tasks=tasks, buffers=buffers, begin=begin, end=end)


def words_of(served: Served, part: Selection) -> Iterator[str]:
    """Yield the options of a command that select the same part."""
    for task in part.tasks:
        yield from ("--task", task)
    yield from instance_of(served, part.buffers)
    if part.begin is not None and part.end is not None:
        yield from ("--from", part.begin, "--to", part.end)


def instance_of(served: Served, buffers: Sequence[str]) -> list[str]:
    return ["-B", buffers[0]] if buffers and len(served.trace.buffers) > 1 else []


def function_name(served: Served, parameters: Parameters) -> str | dict[str, Any]:
    """Return the name of the function that a request is about; or, if a typed text means several, these."""
    if "function" in parameters:
        return served.function(parameters.integer("function", 0, _MAX)).name
    text = parameters.text("name")
    if not text:
        raise RequestError(400, "name must not be empty")
    if any(function.name == text for function in served.functions):
        return text
    names: dict[str, int] = {}
    for number in matching_functions(served.functions, text):
        names.setdefault(served.functions[number].name, number)
    if not names:
        raise RequestError(404, f"no function of the trace has '{printable(text)}' in its name")
    if len(names) == 1:
        return next(iter(names))
    return {"choices": list(names.values())[:_MOST_ROWS], "count": len(names)}


def located_call(served: Served, parameters: Parameters) -> NamedCall:
    place = located(served, parameters)
    if place is None:
        raise RequestError(404, "there is no call at this place")
    call = answer_of(lambda: call_of_span(served.trace, place.lane, place.span))
    if call is None:
        raise RequestError(404, "the trace lacks the begin of this call, or the name of its function")
    return call


def command_of(served: Served, verb: str, words: Sequence[str], flag: str = "") -> str:
    """Return the command that prints an answer; "": its trace has no name."""
    if served.is_live:
        return ""
    return shlex.join(["funcgraph", verb, *words, *([flag] if flag else []), served.path])


# ---- what cannot be answered


def refuse_kernel(served: Served, what: str) -> None:
    if served.trace.is_kernel:
        raise RequestError(
            404, f"a kernel's trace has no {what} of Python: funcgraph record makes one that has"
        )


def lacks_values(served: Served) -> str | None:
    return missing(served.trace.meta, _VALUES)


def notes_of(served: Served, first: str | None = None, counts: Counts | None = None) -> list[str]:
    """Return lines about what an answer cannot know."""
    notes = [first] if first else []
    notes += limits(served.trace, counts, is_of_one_instance=True)
    if served.is_live:
        notes.append(_LIVE)
    return notes
