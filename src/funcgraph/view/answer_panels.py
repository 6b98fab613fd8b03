"""Answers of `funcgraph.answers` for the page: of a trace or a part of it, with evidence and the command that
prints the same."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from funcgraph.answers.compare_calls import compare_calls
from funcgraph.answers.compare_text import DIFFERENCES, compare_json
from funcgraph.answers.exceptions import exceptions as followed_exceptions
from funcgraph.answers.exceptions_text import exceptions_head, exceptions_json, fate_text, ordered_groups
from funcgraph.answers.facts import Counts, limits
from funcgraph.answers.named_call import NamedCall, call_of_span
from funcgraph.answers.repeat import DEFAULT_LEAST
from funcgraph.answers.repeat import repeat as repeated_calls
from funcgraph.answers.repeat_text import repeat_json
from funcgraph.answers.values import FunctionValues, ValueField, distribution
from funcgraph.answers.values import values as grouped_calls
from funcgraph.answers.values_text import best_field, raising_text, slowest_value, values_json
from funcgraph.answers.why import Why
from funcgraph.answers.why import why as why_slow
from funcgraph.answers.why_text import MISSING, PART_TEXTS, paired_parts, per_call, why_json
from funcgraph.names import printable
from funcgraph.tracedata.call_parts import PartSum
from funcgraph.tracedata.description import SelectionError
from funcgraph.tracedata.recorded_options import missing
from funcgraph.tracedata.selection import Selection
from funcgraph.view.answer_evidence import call_json, exception_calls, number_of, place_json, place_of_step
from funcgraph.view.call_detail import located, time_text
from funcgraph.view.parameters import Parameters
from funcgraph.view.request_error import RequestError
from funcgraph.view.search import matching_functions
from funcgraph.view.served import Served

__all__ = ["FUNCTION", "PART", "compare", "exceptions", "repeat", "values", "why"]

_T = TypeVar("_T")
_MAX = 2**32 - 1
_MOST_ROWS = 200
_MOST_VALUES = 50  # of a field that are listed
_BAR_COLUMNS = 24
_VALUES = ("args", "retval")
_AT = ("lane", "time", "depth")
_LIVE = "a live recording: it goes on, and has no file for a command; funcgraph view -P PID -o FILE keeps one"

#: The parameters that say of which function an answer is: its number, or a name that a person has typed.
FUNCTION = ("function", "name")
#: Those that say of which part: `thread` is a lane.
PART = ("begin", "end", "thread")


def why(served: Served, parameters: Parameters) -> dict[str, Any]:
    """Return what a function's slow calls, its slowest one, or the call at a place spent their time on."""
    of = parameters.choice("of", ("slow", "slowest", "call"), "slow")
    if not served.has_times:
        clock = served.trace.clock
        raise RequestError(404, f"the trace's clock, {clock}, counts: it does not say how long a call took")
    if of == "call":
        call = _located_call(served, parameters)
        words = [str(call), *_instance(served, [call.buffer])]
        answer = _answer(
            lambda: why_slow(served.trace, call.function, nth=call.number, buffers=[call.buffer])
        )
    else:
        name = _function_name(served, parameters)
        if not isinstance(name, str):
            return name
        # Of no lane: the first instance that has calls of the function, as the command takes it.
        part = _part(served, parameters) if "thread" in parameters else Selection()
        is_one = of == "slowest"
        words = [name, *(["--slowest"] if is_one else []), *_words(served, part)]
        answer = _answer(
            lambda: why_slow(served.trace, name, slowest=is_one, tasks=part.tasks, buffers=part.buffers)
        )
    rows = list(_why_rows(served, answer))
    return {
        **_without_parts(why_json(answer)),
        "rows": rows[:_MOST_ROWS],
        "rest": _rest(rows[_MOST_ROWS:]),
        "total_ns": _per_call_ns(answer),
        "evidence": call_json(served, answer.longest),
        "lacks": [MISSING[word] for word in answer.missing],
        "notes": _notes(served, _unfinished(answer)),
        "command": _command(served, "why", words, "-i"),
    }


def compare(served: Served, parameters: Parameters) -> dict[str, Any]:
    """Return where the call at a place first differs from that at another place, and what differs after."""
    first = _located_call(served, parameters.renamed({name: f"first_{name}" for name in _AT}))
    second = _located_call(served, parameters)
    if (first.buffer, first.function, first.number) == (second.buffer, second.function, second.number):
        raise RequestError(404, "this is the call that was kept: choose another one of its function")
    found = _answer(lambda: compare_calls(served.trace, first, served.trace, second))
    made = compare_json(found)
    for name in ("difference", "parting"):
        if (place := getattr(found, name)) is not None:
            made[name]["text"] = DIFFERENCES[place.what]
            made[name]["evidence"] = [
                None if side is None else place_of_step(served, call, side, place.what)
                for call, side in ((first, place.a), (second, place.b))
            ]
    return {
        **made,
        "counts": made["counts"][:_MOST_ROWS],
        "evidence": [call_json(served, call) for call in (first, second)],
        "notes": _notes(served, None),
        "command": _command(served, "compare", [str(first), str(second)], "-i"),
    }


def values(served: Served, parameters: Parameters) -> dict[str, Any]:
    """Return the calls of a function grouped by their arguments, results and exceptions."""
    _refuse_kernel(served, "arguments and results")
    name = _function_name(served, parameters)
    if not isinstance(name, str):
        return name
    part = _part(served, parameters)
    found = _answer(lambda: grouped_calls(served.trace, name, select=part))
    if not found:
        raise RequestError(404, f"{printable(name)} has no call in this part")
    first = found[0]
    counts = Counts(first.all.calls, first.open, 0)
    made = values_json(first)
    return {
        **made,
        "number": number_of(served, first.function),
        "evidence": place_json(served, first.all.slowest, first.function) if first.all.timed else None,
        "fields": [
            {**row, **_field(served, first, one, row)}
            for row, one in zip(made["fields"], first.fields, strict=True)
        ],
        "slow": [one.name for one in first.ranked("slow")],
        "best": best.name if (best := best_field(first)) else None,
        "notes": _notes(served, _lacks_values(served), counts),
        "command": _command(served, "values", [name, *_words(served, part)]),
    }


def repeat(served: Served, parameters: Parameters) -> dict[str, Any]:
    """Return what was done more than once, and exceptions that were swallowed again and again."""
    _refuse_kernel(served, "arguments, results and exceptions")
    least = parameters.integer("least", 2, _MAX, DEFAULT_LEAST)
    imports, part = parameters.switch("imports"), _part(served, parameters)
    found = _answer(lambda: repeated_calls(served.trace, least=least, select=part, imports=imports))
    made = repeat_json(found)
    for row, one in zip(made["below"][:_MOST_ROWS], found.below, strict=False):
        row["number"], row["below_number"] = number_of(served, one.function), number_of(served, one.below)
        row["evidence"] = place_json(served, one.place, one.below)
    for row, entry in zip(made["cacheable"][:_MOST_ROWS], found.cacheable, strict=False):
        row["number"] = number_of(served, entry.function)
    counts = {key: len(made[key]) for key in ("below", "cacheable", "swallowed")}
    words = [*([f"--least={least}"] if least != DEFAULT_LEAST else []), *(["--imports"] if imports else [])]
    return {
        **made,
        **{key: made[key][:_MOST_ROWS] for key in counts},
        "counts": counts,
        "least": least,
        "has_arguments": found.has_arguments,
        "has_results": found.has_results,
        "notes": _notes(served, _lacks_values(served), found.counts),
        "command": _command(served, "repeat", [*words, *_words(served, part)]),
    }


def exceptions(served: Served, parameters: Parameters) -> dict[str, Any]:
    """Return the kinds of exceptions; and one of them, with the calls that it ended."""
    _refuse_kernel(served, "exceptions")
    number = parameters.integer("number", 0, 2**53, 0)
    imports, part = parameters.switch("imports"), _part(served, parameters)
    found = _answer(lambda: followed_exceptions(served.trace, number=number, select=part, imports=imports))
    if number and found.one is None:
        raise RequestError(
            404, f"this part of the trace has {found.count:,} exceptions, no number {number:,}"
        )
    ordered = ordered_groups(found)
    made = exceptions_json(replace(found, groups=ordered[:_MOST_ROWS]))
    for row, group in zip(made["groups"], ordered, strict=False):
        row["became"] = fate_text(group.first)
        row["number"] = number_of(served, group.first.origin)
    if found.one is not None:
        one, calls = made["one"], exception_calls(served, found.one)
        for row, frame, call in zip(one["frames"], found.one.frames, calls, strict=False):
            row["number"], row["call"] = number_of(served, frame.function), call
        one["more_frames"] = max(len(one["frames"]) - _MOST_ROWS, 0)
        one["handler_line"] = one["frames"][-1]["caller_line"]
        one["frames"] = one["frames"][:_MOST_ROWS]
        one["handler_number"], one["handler_call"] = number_of(served, found.one.handler), calls[-1]
        one["became"] = fate_text(found.one)
        one["time_ns"] = found.one.raised_ns - served.begin_ns
        one["evidence"] = place_json(served, found.one.place, found.one.origin)
    words = [*(["--nth", str(number)] if number else []), *(["--imports"] if imports else [])]
    return {
        **made,
        "kinds": len(ordered),
        "head": exceptions_head(found),
        "notes": _notes(served, None, found.counts),
        "command": _command(served, "exceptions", [*words, *_words(served, part)]),
    }


# ---- which part, which function


def _answer(question: Callable[[], _T]) -> _T:
    """Return an answer; a question that the trace has nothing for is no damage of it."""
    try:
        return question()
    except SelectionError as error:
        raise RequestError(404, str(error)) from None


def _part(served: Served, parameters: Parameters) -> Selection:
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


def _words(served: Served, part: Selection) -> Iterator[str]:
    """Yield the options of a command that select the same part."""
    for task in part.tasks:
        yield from ("--task", task)
    yield from _instance(served, part.buffers)
    if part.begin is not None and part.end is not None:
        yield from ("--from", part.begin, "--to", part.end)


def _instance(served: Served, buffers: Sequence[str]) -> list[str]:
    return ["-B", buffers[0]] if buffers and len(served.trace.buffers) > 1 else []


def _function_name(served: Served, parameters: Parameters) -> str | dict[str, Any]:
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


def _located_call(served: Served, parameters: Parameters) -> NamedCall:
    place = located(served, parameters)
    if place is None:
        raise RequestError(404, "there is no call at this place")
    call = _answer(lambda: call_of_span(served.trace, place.lane, place.span))
    if call is None:
        raise RequestError(404, "the trace lacks the begin of this call, or the name of its function")
    return call


def _command(served: Served, verb: str, words: Sequence[str], flag: str = "") -> str:
    """Return the command that prints an answer; "": its trace has no name."""
    if served.is_live:
        return ""
    return shlex.join(["funcgraph", verb, *words, *([flag] if flag else []), served.path])


# ---- what cannot be answered


def _refuse_kernel(served: Served, what: str) -> None:
    if served.trace.is_kernel:
        raise RequestError(
            404, f"a kernel's trace has no {what} of Python: funcgraph record makes one that has"
        )


def _lacks_values(served: Served) -> str | None:
    return missing(served.trace.meta, _VALUES)


def _notes(served: Served, first: str | None, counts: Counts | None = None) -> list[str]:
    """Return lines about what an answer cannot know."""
    notes = [first] if first else []
    notes += limits(served.trace, counts, is_of_one_instance=True)
    if served.is_live:
        notes.append(_LIVE)
    return notes


# ---- why


def _unfinished(answer: Why) -> str | None:
    if not answer.unfinished:
        return None
    return f"{answer.unfinished:,} more calls began before the trace or did not end: choose one to see it"


def _without_parts(made: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without its parts: a row has those of both groups."""
    for group in filter(None, (made["slow"], made["typical"])):
        del group["parts"]
    return made


def _why_rows(served: Served, answer: Why) -> Iterator[dict[str, Any]]:
    """Yield the parts, per call: of one call the largest first, else those that differ most."""
    slow, typical = answer.slow.sums, answer.typical.sums if answer.typical else None
    pairs: Sequence[tuple[PartSum | None, PartSum | None]] = (
        [(part, None) for part in slow.parts] if typical is None else paired_parts(slow, typical)
    )
    for one, other in pairs:
        part = one or other
        assert part is not None
        yield {
            "kind": part.kind,
            "text": PART_TEXTS[part.kind][1],
            "name": part.function.name if part.function else part.label,
            "number": number_of(served, part.function),
            "slow_ns": per_call(one, slow, "ns"),
            "slow_count": per_call(one, slow, "count"),
            "typical_ns": per_call(other, typical, "ns") if typical else None,
            "typical_count": per_call(other, typical, "count") if typical else None,
        }


def _rest(rows: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    if not rows:
        return None
    sums = {key: sum(row[key] or 0 for row in rows) for key in ("slow_ns", "typical_ns")}
    return {"rows": len(rows), **sums}


def _per_call_ns(answer: Why) -> list[float]:
    groups = [group.sums for group in (answer.slow, answer.typical) if group is not None]
    return [sums.total_ns / max(sums.calls, 1) for sums in groups]


# ---- values


def _field(served: Served, found: FunctionValues, one: ValueField, made: dict[str, Any]) -> dict[str, Any]:
    """Return what the page needs besides of what calls are grouped by: the first of its values."""
    shown = one.groups[:_MOST_VALUES]
    durations = distribution(shown, _BAR_COLUMNS)
    rows = zip(made["values"], shown, durations.counts, strict=False)
    return {
        "values": [
            {
                **row,
                "durations": counts,
                "evidence": place_json(served, group.slowest, found.function) if group.timed else None,
            }
            for row, group, counts in rows
        ],
        "count": len(one.groups),
        "least_ns": durations.least_ns,
        "most_ns": durations.most_ns,
        "slowest": slowest_value(one),
        "raise_text": raising_text(one) if one.raise_share is not None else "",
    }
