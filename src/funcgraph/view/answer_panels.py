"""Answers of `funcgraph.answers` for the page: of a trace or a part of it, with evidence and the command that
prints the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from funcgraph.answers.exceptions import exceptions as followed_exceptions
from funcgraph.answers.exceptions_text import exceptions_head, exceptions_json, fate_text, ordered_groups
from funcgraph.answers.facts import Counts
from funcgraph.answers.repeat import DEFAULT_LEAST
from funcgraph.answers.repeat import repeat as repeated_calls
from funcgraph.answers.repeat_text import repeat_json
from funcgraph.answers.values import FunctionValues, ValueField, distribution
from funcgraph.answers.values import values as grouped_calls
from funcgraph.answers.values_text import best_field, raising_text, slowest_value, values_json
from funcgraph.answers.why import Why
from funcgraph.answers.why import why as why_slow
from funcgraph.answers.why_text import (
    MISSING,
    PART_TEXTS,
    paired_parts,
    per_call,
    processor_wait_text,
    why_json,
)
from funcgraph.names import printable
from funcgraph.tracedata.call_parts import PartSum
from funcgraph.tracedata.selection import Selection
from funcgraph.view.answer_evidence import call_json, exception_calls, number_of, place_json
from funcgraph.view.answer_part import (
    answer_of,
    command_of,
    function_name,
    instance_of,
    lacks_values,
    located_call,
    notes_of,
    part_of,
    refuse_kernel,
    words_of,
)
from funcgraph.view.parameters import Parameters
from funcgraph.view.request_error import RequestError
from funcgraph.view.served import Served

__all__ = ["exceptions", "repeat", "values", "why"]

_MAX = 2**32 - 1
_MOST_ROWS = 200
_MOST_VALUES = 50  # of a field that are listed
_BAR_COLUMNS = 24


def why(served: Served, parameters: Parameters) -> dict[str, Any]:
    """Return what a function's slow calls, its slowest one, or the call at a place spent their time on."""
    of = parameters.choice("of", ("slow", "slowest", "call"), "slow")
    if not served.has_times:
        clock = served.trace.clock
        raise RequestError(404, f"the trace's clock, {clock}, counts: it does not say how long a call took")
    if of == "call":
        call = located_call(served, parameters)
        words = [str(call), *instance_of(served, [call.buffer])]
        answer = answer_of(
            lambda: why_slow(served.trace, call.function, nth=call.number, buffers=[call.buffer])
        )
    else:
        name = function_name(served, parameters)
        if not isinstance(name, str):
            return name
        # Of no lane: the first instance that has calls of the function, as the command takes it.
        part = part_of(served, parameters) if "thread" in parameters else Selection()
        is_one = of == "slowest"
        words = [name, *(["--slowest"] if is_one else []), *words_of(served, part)]
        answer = answer_of(
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
        "notes": [*filter(None, [processor_wait_text(answer)]), *notes_of(served, _unfinished(answer))],
        "command": command_of(served, "why", words, "-i"),
    }


def values(served: Served, parameters: Parameters) -> dict[str, Any]:
    """Return the calls of a function grouped by their arguments, results and exceptions."""
    refuse_kernel(served, "arguments and results")
    name = function_name(served, parameters)
    if not isinstance(name, str):
        return name
    part = part_of(served, parameters)
    found = answer_of(lambda: grouped_calls(served.trace, name, select=part))
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
        "notes": notes_of(served, lacks_values(served), counts),
        "command": command_of(served, "values", [name, *words_of(served, part)]),
    }


def repeat(served: Served, parameters: Parameters) -> dict[str, Any]:
    """Return what was done more than once, exceptions that were swallowed, and discarded results."""
    refuse_kernel(served, "arguments, results and exceptions")
    least = parameters.integer("least", 2, _MAX, DEFAULT_LEAST)
    imports, part = parameters.switch("imports"), part_of(served, parameters)
    found = answer_of(lambda: repeated_calls(served.trace, least=least, select=part, imports=imports))
    made = repeat_json(found)
    for row, one in zip(made["below"][:_MOST_ROWS], found.below, strict=False):
        row["number"], row["below_number"] = number_of(served, one.function), number_of(served, one.below)
        row["evidence"] = place_json(served, one.place, one.below)
    for row, entry in zip(made["cacheable"][:_MOST_ROWS], found.cacheable, strict=False):
        row["number"] = number_of(served, entry.function)
    for row, unused in zip(made["discarded"][:_MOST_ROWS], found.discarded, strict=False):
        row["number"] = number_of(served, unused.function)
        row["evidence"] = place_json(served, unused.place, unused.function)
    counts = {key: len(made[key]) for key in ("below", "cacheable", "swallowed", "discarded")}
    words = [*([f"--least={least}"] if least != DEFAULT_LEAST else []), *(["--imports"] if imports else [])]
    return {
        **made,
        **{key: made[key][:_MOST_ROWS] for key in counts},
        "counts": counts,
        "least": least,
        "has_arguments": found.has_arguments,
        "has_results": found.has_results,
        "notes": notes_of(served, lacks_values(served), found.counts),
        "command": command_of(served, "repeat", [*words, *words_of(served, part)]),
    }


def exceptions(served: Served, parameters: Parameters) -> dict[str, Any]:
    """Return the kinds of exceptions; and one of them, with the calls that it ended."""
    refuse_kernel(served, "exceptions")
    number = parameters.integer("number", 0, 2**53, 0)
    imports, part = parameters.switch("imports"), part_of(served, parameters)
    found = answer_of(lambda: followed_exceptions(served.trace, number=number, select=part, imports=imports))
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
        "notes": notes_of(served, None, found.counts),
        "command": command_of(served, "exceptions", [*words, *words_of(served, part)]),
    }


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
