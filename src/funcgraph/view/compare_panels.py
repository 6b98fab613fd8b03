"""Two calls of a function side by side, for the page: of one trace, or of two that are compared."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from funcgraph.answers.compare_calls import (
    CallComparison,
    DifferentCalls,
    DifferentPair,
    compare_calls,
    different_calls,
)
from funcgraph.answers.compare_text import compare_json
from funcgraph.answers.facts import DIFFERENCES
from funcgraph.names import printable
from funcgraph.tracedata.description import SelectionError, TraceError
from funcgraph.view.answer_evidence import call_json, place_of_step
from funcgraph.view.answer_part import answer_of, command_of, function_name, located_call, notes_of
from funcgraph.view.parameters import Parameters
from funcgraph.view.request_error import RequestError
from funcgraph.view.served import Served

__all__ = ["compare", "different"]

_AT = ("lane", "time", "depth")
_MOST_ROWS = 200
_MOST_PAIRS = 10
_MOST_NAMES = 10


def compare(served: Served, parameters: Parameters) -> dict[str, Any]:
    """Return where the call at a place first differs from that at another place, and what differs after."""
    first = located_call(served, parameters.renamed({name: f"first_{name}" for name in _AT}))
    second = located_call(served, parameters)
    if (first.buffer, first.function, first.number) == (second.buffer, second.function, second.number):
        raise RequestError(404, "this is the call that was kept: choose another one of its function")
    found = answer_of(lambda: compare_calls(served.trace, first, served.trace, second))
    return {
        **_comparison(found, (served, served)),
        "notes": notes_of(served, None),
        "command": command_of(served, "compare", [str(first), str(second)], "-i"),
    }


def different(served: Served, parameters: Parameters) -> dict[str, Any]:
    """Return the first calls of a function, or of all, that differ in a trace and its base, the N-th beside
    the N-th; and one pair of these side by side.

    `name` is the function, `task` a thread's name or id in both, `number` which pair.
    """
    base = served.base
    if base is None:
        raise RequestError(404, "the trace is not compared with another: start funcgraph view --diff A B")
    name = _function_of(served, parameters)
    task = parameters.text("task", "")
    number = parameters.integer("number", 0, _MOST_PAIRS - 1, 0)
    sides, tasks = (base, served), [task] if task else []
    try:
        found = answer_of(lambda: different_calls(base.trace, served.trace, name, tasks, most=_MOST_PAIRS))
        pair = found.pairs[number] if number < len(found.pairs) else None
        one, lack = (None, "") if pair is None else _side_by_side(sides, pair)
    except (TraceError, OSError) as error:  # of either
        raise RequestError(409, f"the traces cannot be read: {error}") from None
    return {
        "function": name,
        "pairs": [_pair_json(row) for row in found.pairs],
        "number": number,
        "end": _end_json(found),
        "is_cut": found.is_cut,
        "one": one,
        "notes": [*filter(None, [lack]), *_notes(sides)],
        "command": _command(sides, name, task, pair, number),
    }


# ----


def _function_of(served: Served, parameters: Parameters) -> str:
    """Return the name of the function that a typed text means; "": all."""
    if not parameters.text("name", ""):
        return ""
    name = function_name(served, parameters)
    if isinstance(name, str):
        return name
    names = ", ".join(printable(served.function(number).name) for number in name["choices"][:_MOST_NAMES])
    raise RequestError(404, f"{name['count']:,} functions have this in their names: {names}")


def _side_by_side(sides: Sequence[Served], pair: DifferentPair) -> tuple[dict[str, Any] | None, str]:
    """Return the comparison of a pair; or None, and why there is none: a call was suspended."""
    a, b = sides
    try:
        return _comparison(compare_calls(a.trace, pair.a, b.trace, pair.b), sides), ""
    except SelectionError as error:
        return None, str(error)


def _notes(sides: Sequence[Served]) -> list[str]:
    return [f"{mark}: {note}" for mark, side in zip("AB", sides, strict=True) for note in notes_of(side)]


def _comparison(found: CallComparison, sides: Sequence[Served]) -> dict[str, Any]:
    """Return a comparison with the evidence in the trace of each side."""
    made = compare_json(found)
    for name in ("difference", "parting"):
        if (place := getattr(found, name)) is not None:
            made[name]["text"] = DIFFERENCES[place.what]
            made[name]["evidence"] = [
                None if at is None else _spot(served, place_of_step(served, call, at, place.what))
                for served, call, at in zip(sides, (found.a, found.b), (place.a, place.b), strict=True)
            ]
    calls = zip(sides, (found.a, found.b), strict=True)
    return {
        **made,
        "counts": made["counts"][:_MOST_ROWS],
        "evidence": [_spot(served, call_json(served, call)) for served, call in calls],
    }


def _spot(served: Served, spot: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if spot is None else {**spot, "trace": served.number}


def _pair_json(pair: DifferentPair) -> dict[str, Any]:
    what = pair.difference.what
    return {"a": pair.a.as_json(), "b": pair.b.as_json(), "what": what, "text": DIFFERENCES[what]}


def _end_json(found: DifferentCalls) -> dict[str, Any] | None:
    """Return where the traces differ beside any pair of calls: what each calls then; null: nothing."""
    if found.end is None:
        return None
    return {"a": found.end.a and found.end.a[1], "b": found.end.b and found.end.b[1]}


def _command(sides: Sequence[Served], name: str, task: str, pair: DifferentPair | None, number: int) -> str:
    """Return the command that prints a pair; "": none does."""
    thread = ["--task", task] if task else []
    if any(side.is_live for side in sides):
        return ""
    if pair is None and not name:
        words = ["diff", "--first-difference", *thread]
    elif name and not number:
        words = ["compare", "--at", name, *thread]
    elif pair is not None and pair.a.number == pair.b.number:
        words = ["compare", "--at", str(pair.a)]
    else:
        return ""
    return shlex.join(["funcgraph", *words, *(side.path for side in sides)])
