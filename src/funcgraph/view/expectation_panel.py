"""Expectations for the page: whether a trace meets one, where it first differs, and one that it meets."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

from funcgraph import _tracedata
from funcgraph.answers.expectation import Expectation, ExpectationError, RecordedCall, parse_expectation
from funcgraph.answers.expectation_text import difference_json, title_of
from funcgraph.answers.trace_check import CheckedTrace, ThreadDifference, checked_trace
from funcgraph.answers.written_expectation import (
    functions_of_call,
    functions_of_time,
    write_call,
    write_expectation,
)
from funcgraph.names import printable
from funcgraph.tracedata.call_index import Lane
from funcgraph.tracedata.description import SelectionError, Task, encodable
from funcgraph.tracedata.selection import Selection, pattern_names
from funcgraph.tracedata.summary import function_key
from funcgraph.view.answer_evidence import spot
from funcgraph.view.answer_part import (
    answer_of,
    command_of,
    instance_of,
    located_call,
    notes_of,
    part_of,
    words_of,
)
from funcgraph.view.parameters import Parameters
from funcgraph.view.request_error import RequestError
from funcgraph.view.served import Served

__all__ = ["MOST_TEXT_BYTES", "PART", "check", "write"]

#: Longer expectations are neither taken nor written.
MOST_TEXT_BYTES = 65536
#: The parameters of `write` that say of which part it is.
PART = ("of", "patterns", "levels", "lane", "time", "depth", "begin", "end", "thread")

_MAX = 2**32 - 1
_COUNT_PIXELS = 64
_MOST_CALLS = 200_000  # that are written, and in memory: 400 bytes each
_MOST_STEPS = 400_000_000  # of the comparison: some seconds
_MOST_PATTERNS = 1000
_MOST_SHOWN = 50  # calls around a difference, and lines of which one would have been right
_MOST_CHARACTERS = 500  # of a call
_MAX_LEVELS = 200
_FILE = "calls.txt"


def check(served: Served, parameters: Parameters) -> dict[str, Any]:
    """Return whether a trace, or a thread of it, meets an expectation; if not, where it first differs."""
    expectation = _parsed(parameters.text("text", most=MOST_TEXT_BYTES))
    part = part_of(served, parameters)
    _check_patterns(expectation.functions)
    checked = _checked(served, expectation, part)
    found = checked.difference
    return {
        "holds": found is None,
        "calls": checked.calls,
        "threads": checked.threads,
        "functions": checked.functions,
        "difference": None if found is None else _difference(served, found),
        "notes": notes_of(served),
        "command": command_of(served, "expect", [_FILE, *words_of(served, part)]),
    }


def write(served: Served, parameters: Parameters) -> dict[str, Any]:
    """Return an expectation that a trace meets: of a call, of a part of the time, or of all."""
    of = parameters.choice("of", ("all", "range", "call"), "all")
    patterns = parameters.text("patterns", "").split()
    levels = parameters.integer("levels", 0, _MAX_LEVELS, 0) or None
    words = [word for pattern in patterns for word in ("-l", pattern)]
    words += ["--max-depth", str(levels)] if levels else []
    if of == "call":
        text, part = _text_of_call(served, parameters, patterns, levels)
    else:
        text, part = _text_of_part(served, parameters, patterns, levels, is_all=of == "all")
    size = len(text.encode())
    if size > MOST_TEXT_BYTES:
        advice = "choose functions, fewer levels, or a shorter part"
        raise RequestError(
            404, f"it would have {size:,} bytes, at most {MOST_TEXT_BYTES:,} are shown here: {advice}"
        )
    command = command_of(served, "expect", [_FILE, "--write", *words, *part])
    return {"text": text, "lines": text.count("\n"), "command": command}


def _text_of_call(
    served: Served, parameters: Parameters, patterns: Sequence[str], levels: int | None
) -> tuple[str, list[str]]:
    call = located_call(served, parameters)
    lanes = [lane for lane in served.index().lanes() if lane.task.tid == call.task.tid]
    if not patterns:
        _check_part(served, lanes, call.begin_ns, call.end_ns)
        patterns = answer_of(lambda: functions_of_call(served.trace, call))
    _check_size(served, patterns, lanes)
    text = _written(lambda: write_call(served.trace, call, patterns, levels))
    return text, ["--call", str(call), *instance_of(served, [call.buffer])]


def _text_of_part(
    served: Served, parameters: Parameters, patterns: Sequence[str], levels: int | None, *, is_all: bool
) -> tuple[str, list[str]]:
    part = part_of(served, parameters.without("begin", "end") if is_all else parameters)
    tasks, buffers, begin, end = part.tasks, part.buffers, part.begin, part.end
    lanes = _lanes(served, parameters)
    if not is_all and not patterns:
        _check_part(served, lanes, *served.part_or_all(parameters))
        patterns = answer_of(lambda: functions_of_time(served.trace, tasks, buffers, begin=begin, end=end))
    _check_size(served, patterns or ["*"], lanes)
    text = _written(
        lambda: write_expectation(served.trace, patterns, tasks, buffers, levels, begin=begin, end=end)
    )
    return text, list(words_of(served, part))


# ---- bounds


def _lanes(served: Served, parameters: Parameters) -> list[Lane]:
    """Return the lanes that a request is about."""
    if "thread" in parameters:
        return [served.lane(parameters.integer("thread", 0, _MAX))]
    return served.call_lanes()


def _check_part(served: Served, lanes: Sequence[Lane], begin_ns: int, end_ns: int) -> None:
    """Refuse a part of the time with more calls than are read at once."""
    index = served.index()
    calls = sum(sum(index.spans(lane, begin_ns, end_ns + 1, _COUNT_PIXELS).count) for lane in lanes)
    _refuse_many(calls, "choose a shorter part, or name functions")


def _check_patterns(patterns: Sequence[str]) -> None:
    if len(patterns) > _MOST_PATTERNS:
        raise RequestError(
            404, f"it is about {len(patterns):,} functions: at most {_MOST_PATTERNS:,} are compared here"
        )


def _check_size(served: Served, patterns: Sequence[str], lanes: Sequence[Lane]) -> None:
    """Refuse functions with more calls than are held in memory."""
    _check_patterns(patterns)
    named = [pattern_names(function) for function in served.functions]
    chosen = bytearray(len(named))
    for pattern in patterns:
        try:
            marks = _tracedata.match_functions(pattern, named)
        except ValueError:
            continue  # the selection refuses it, and says why
        chosen = bytearray(map(max, chosen, marks))
    keys = {function_key(served.functions[number]) for number, mark in enumerate(chosen) if mark}
    calls = sum(row.calls for row in served.index().functions() if function_key(row.function) in keys)
    _refuse_many(
        min(calls, sum(lane.calls for lane in lanes)), "name fewer functions in a line 'functions: ...'"
    )


def _refuse_many(calls: int, advice: str) -> None:
    if calls > _MOST_CALLS:
        raise RequestError(
            404, f"{calls:,} calls are too many to compare here, at most {_MOST_CALLS:,}: {advice}"
        )


# ---- the text


def _parsed(text: str) -> Expectation:
    if hidden := next((one for one in text if one not in "\n\r\t" and unicodedata.category(one) == "Cc"), ""):
        raise RequestError(400, f"the expectation has a control character: {printable(hidden)}")
    try:
        return parse_expectation(text)
    except ExpectationError as error:
        raise RequestError(400, printable(str(error))) from None


def _written(write_it: Callable[[], str]) -> str:
    try:
        return answer_of(write_it)
    except ExpectationError as error:
        raise RequestError(404, f"{error}: choose fewer levels, or functions") from None


def _checked(served: Served, expectation: Expectation, part: Selection) -> CheckedTrace:
    try:
        return checked_trace(expectation, served.trace, part.tasks, part.buffers, _MOST_STEPS)
    except SelectionError as error:  # of a function: the text of the page has no -l
        raise RequestError(404, str(error).removeprefix("-l ")) from None
    except ExpectationError as error:
        raise RequestError(404, str(error)) from None


# ---- the difference


def _difference(served: Served, found: ThreadDifference) -> dict[str, Any]:
    """Return a difference with the calls to which a click leads."""
    difference, task = found.difference, found.task
    around = difference.path[-1] if difference.path else None
    return {
        **difference_json(found),
        "title": title_of(difference),
        "path": [_call(served, task, call) for call in difference.path[:_MOST_SHOWN]],
        "more_path": max(len(difference.path) - _MOST_SHOWN, 0),
        "before": [_call(served, task, call) for call in difference.before],
        "expected": [
            {"line": one.line, "text": one.text[:_MOST_CHARACTERS]}
            for one in difference.expected[:_MOST_SHOWN]
        ],
        "more_expected": max(len(difference.expected) - _MOST_SHOWN, 0),
        "got": None if difference.got is None else _call(served, task, difference.got),
        "around": None if around is None else _call(served, task, around),
    }


def _call(served: Served, task: Task, call: RecordedCall) -> dict[str, Any]:
    """Return a call as a text, with where it is on the time line."""
    function = next((one for one in served.functions if encodable(one.name) == call.function), None)
    return {
        "text": str(call)[:_MOST_CHARACTERS],
        "evidence": spot(served, task, call.time_ns, call.time_ns, function),
    }
