"""Exceptions as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from funcgraph.answers.exceptions import ExceptionGroup, Exceptions, Frame, Raised
from funcgraph.answers.facts import name_of, place_of, seconds
from funcgraph.names import printable, shortened
from funcgraph.tracedata.description import Function
from funcgraph.tracedata.links import NO_LINKS, Links

WIDTH = 80
_FATES = {
    "handled": "handled in {}",
    "replaced": "replaced in {}",
    "left": "left the outermost call",
    "open": "not known: {} did not end",
}
#: How generators and iterators say that they are at their end, and how tasks are cancelled.
_CONTROL_FLOW = frozenset(("StopIteration", "StopAsyncIteration", "GeneratorExit", "CancelledError"))


def exceptions_lines(path: object, found: Exceptions, *, count: int = 12) -> Iterator[str]:
    """Yield the lines about all exceptions of a trace: so many groups of them."""
    yield exceptions_head(found)
    if not found.groups:
        return
    yield ""
    yield f"{'COUNT':>7}  {'FIRST':>6}  EXCEPTION, RAISED IN, AND WHAT BECAME OF IT"
    ordered = ordered_groups(found)
    for group in ordered[:count]:
        yield from _group_lines(group)
    if len(ordered) > count:
        yield f"  and {len(ordered) - count:,} more kinds (-n {len(ordered)})"
    first = ordered[0].first
    yield ""
    yield f"--nth {first.number} follows the first one; its calls:"
    yield f"  {first.place.command(path)}"


def ordered_groups(found: Exceptions) -> list[ExceptionGroup]:
    """Return the groups with those at the end that are no errors: ends of generators, cancelled tasks."""
    return sorted(found.groups, key=lambda group: group.first.type in _CONTROL_FLOW)


def exceptions_head(found: Exceptions) -> str:
    """Return how many exceptions there are, and what became of them."""
    if not found.count:
        return "no call of the trace was ended by an exception"
    fates: Counter[str] = Counter()
    for group in found.groups:
        fates[group.first.fate] += group.count
    texts = {
        "handled": "handled",
        "replaced": "replaced by another",
        "left": "left the outermost call",
        "open": "open",
    }
    parts = [f"{fates[fate]:,} {text}" for fate, text in texts.items() if fates[fate]]
    if found.left_out:
        parts.append(f"{found.left_out:,} of further kinds")
    return f"{found.count:,} exception{'' if found.count == 1 else 's'}: {', '.join(parts)}"


def _group_lines(group: ExceptionGroup) -> Iterator[str]:
    raised = group.first
    first = f"{group.count:>7,}  {raised.number:>6}  "
    text = f"{_type(raised.type)} in {printable(name_of(raised.origin))}"
    yield first + shortened(text, WIDTH - len(first))
    yield f"{'':>17}{shortened(fate_text(raised) + _through(raised), WIDTH - 17)}"


def _type(name: str) -> str:
    return printable(name) or "an exception"


def fate_text(raised: Raised) -> str:
    """Return what became of an exception."""
    return _FATES[raised.fate].format(printable(name_of(raised.handler)))


def _through(raised: Raised) -> str:
    between = len(raised.frames) - 1
    return f", through {between} call{'' if between == 1 else 's'}" if between else ""


# ---- one exception


def one_lines(path: object, found: Exceptions, links: Links = NO_LINKS) -> Iterator[str]:
    """Yield the lines about the exception that was chosen."""
    raised = found.one
    assert raised is not None  # the caller looked
    task = raised.place.task
    thread = f" in {printable(task.name)} ({task.tid})" if task else ""
    kind = _type(raised.type)
    yield f"exception {raised.number:,} of {found.count:,}: {kind}{thread}, at {seconds(raised.raised_ns)}"
    yield ""
    for number, frame in enumerate(raised.frames):
        what = "raised in" if not number else "through"
        yield f"  {what:<12}{_frame(frame, raised.frames[number - 1] if number else None, links)}"
    yield f"  {_outcome(raised, links)}"
    if raised.cause or raised.after:
        yield ""
        yield from _chain(raised)
    yield ""
    if found.count > 1:
        beside = [number for number in (raised.number - 1, raised.number + 1) if 1 <= number <= found.count]
        names = {raised.number - 1: "previous", raised.number + 1: "next"}
        yield ", ".join(f"{names[number]}: --nth {number}" for number in beside)
    yield raised.place.command(path)


def _frame(frame: Frame, callee: Frame | None, links: Links) -> str:
    line = f", {_line(frame.function, callee.caller_line, links)}" if callee and callee.caller_line else ""
    return f"{printable(name_of(frame.function))}{place_of(frame.function, links)}{line}"


def _line(function: Function | None, line: int, links: Links) -> str:
    return links.place(f"line {line}", function.file, line) if function and function.file else f"line {line}"


def _outcome(raised: Raised, links: Links) -> str:
    number, handler = raised.frames[-1].caller_line, raised.handler
    line = f", below its {_line(handler, number, links)}" if number and handler else ""
    where = f"{printable(name_of(handler))}{place_of(handler, links)}{line}"
    if raised.fate == "handled":
        return f"{'handled in':<12}{where}"
    if raised.fate == "replaced":
        return f"{'replaced in':<12}{where}: that call raised another exception"
    if raised.fate == "open":
        return f"{'received by':<12}{where}: the end of that call is not in the trace"
    return f"{'left':<12}no call around it is in the trace: nothing handled it, or what is not traced did"


def _chain(raised: Raised) -> Iterator[str]:
    if raised.cause:
        yield f"  caused by {raised.cause}"
    if raised.after:
        before = raised.after
        text = f"{_type(before.type)} of {printable(name_of(before.origin))}"
        yield f"  after exception {before.number:,}: {text}, which the same call had"
        yield "  received. Its __context__, if that was still being handled"


# ---- JSON


def exceptions_json(found: Exceptions) -> dict[str, Any]:
    """Return the object that `funcgraph exceptions --json` prints."""
    made: dict[str, Any] = {
        "exceptions": found.count,
        "left_out": found.left_out,
        "open_calls": found.counts.open,
        "groups": [
            {"count": group.count, "last_number": group.last_number, "first": _raised_json(group.first)}
            for group in found.groups
        ],
    }
    if found.one is not None:
        made["one"] = _raised_json(found.one)
    return made


def _raised_json(raised: Raised) -> dict[str, Any]:
    before = raised.after
    return {
        "number": raised.number,
        "type": raised.type,
        "fate": raised.fate,
        "raised_in": name_of(raised.origin),
        "handler": name_of(raised.handler) if raised.fate != "left" else None,
        "frames": [
            {"function": name_of(frame.function), "caller_line": frame.caller_line} for frame in raised.frames
        ],
        "cause": raised.cause or None,
        "after": {"number": before.number, "type": before.type, "raised_in": name_of(before.origin)}
        if before
        else None,
        "raised_ns": raised.raised_ns,
        **raised.place.as_json(),
    }
