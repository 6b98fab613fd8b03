"""What a program did more than once, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from funcgraph.answers.exceptions import ExceptionGroup
from funcgraph.answers.facts import name_of
from funcgraph.answers.repeat import Cacheable, Discarded, Repeats, Repetition
from funcgraph.names import printable, shortened
from funcgraph.tracedata.summary import duration_text

WIDTH = 80
_INDENT = " " * 13


def repeat_lines(path: object, found: Repeats, *, least: int, count: int = 4) -> Iterator[str]:
    """Yield the lines: so many of each sort."""
    yield f"The same call below one call, {least} times or more: {_number(found.below, found.has_arguments)}"
    for one in found.below[:count]:
        yield from _below_lines(path, one)
    yield from _more(found.below, count)
    yield ""
    is_cache_known = found.has_arguments and found.has_results
    yield f"The same arguments, and always the same result: {_number(found.cacheable, is_cache_known)}"
    for entry in found.cacheable[:count]:
        yield from _cacheable_lines(entry)
    yield from _more(found.cacheable, count)
    yield ""
    yield f"The same exception, raised and handled {least} times or more: {_number(found.swallowed)}"
    for group in found.swallowed[:count]:
        yield from _swallowed_lines(group)
    yield from _more(found.swallowed, count)
    yield ""
    yield (
        f"Results that all callers discard, {least} times or more: "
        f"{_number(found.discarded, found.has_results)}"
    )
    for unused in found.discarded[:count]:
        yield from _discarded_lines(path, unused)
    yield from _more(found.discarded, count)
    if _has_partial(found, count):
        yield ""
        yield "~ objects are compared by type and address, containers by type and length,"
        yield "  long texts by beginning and length: if they differ inside, it is not seen"


def _number(found: list[Any], is_known: bool = True) -> str:
    if not is_known:
        return "not known"
    return f"{len(found):,}" if found else "none"


def _more(found: list[Any], count: int) -> Iterator[str]:
    if len(found) > count:
        yield f"  and {len(found) - count:,} more (-n {len(found)})"


def _has_partial(found: Repeats, count: int) -> bool:
    below, cacheable = found.below[:count], found.cacheable[:count]
    return any(one.is_partial for one in below) or any(one.is_partial for one in cacheable)


def _line(begin: str, text: str) -> str:
    return begin + shortened(text, WIDTH - len(begin))


def _below_lines(path: object, one: Repetition) -> Iterator[str]:
    mark = "~" if one.is_partial else " "
    name = printable(name_of(one.function))
    what = f"{name}: {one.text}" if one.is_sql else f"{name}({one.text or ''})"
    yield _line(f"{duration_text(one.repeated_ns):>11} {mark}", what)
    times = (
        f"{one.most:,} times"
        if one.runs == 1
        else f"up to {one.most:,} times, {one.calls:,} in {one.runs:,} calls"
    )
    yield _line(_INDENT, f"{times}, below {printable(name_of(one.below))}")
    yield f"{_INDENT}{one.place.command(path)}"


def _cacheable_lines(one: Cacheable) -> Iterator[str]:
    mark = "~" if one.is_partial else " "
    text = f"{printable(name_of(one.function))}({one.best or ''})"
    yield _line(f"{duration_text(one.saved_ns):>11} {mark}", text)
    others = f"; {one.differing:,} arguments had different results" if one.differing else ""
    hits = f"{one.hits:,} of {one.calls:,} calls would be found in a cache{others}"
    yield _line(_INDENT, hits)


def _swallowed_lines(group: ExceptionGroup) -> Iterator[str]:
    raised = group.first
    kind = printable(raised.type) or "an exception"
    yield _line(f"{group.count:>11,}  ", f"{kind} in {printable(name_of(raised.origin))}")
    yield _line(_INDENT, f"handled in {printable(name_of(raised.handler))}; exceptions --nth {raised.number}")


def _discarded_lines(path: object, one: Discarded) -> Iterator[str]:
    yield _line(f"{duration_text(one.total_ns):>11}  ", printable(name_of(one.function)))
    others = one.calls - one.results
    of_none = f"; {others:,} more {'calls' if others > 1 else 'call'} returned None" if others else ""
    yield _line(_INDENT, f"{one.results:,} results{of_none}")
    yield f"{_INDENT}{one.place.command(path)}"


# ---- JSON


def repeat_json(found: Repeats) -> dict[str, Any]:
    """Return the object that `funcgraph repeat --json` prints."""
    return {
        "below": [
            {
                "below": name_of(one.below),
                "function": name_of(one.function),
                "sql": one.text if one.is_sql else None,
                "arguments": None if one.is_sql else one.text,
                "partial": one.is_partial,
                "runs": one.runs,
                "calls": one.calls,
                "total_ns": one.total_ns,
                "repeated_ns": one.repeated_ns,
                "most": one.most,
                "place": one.place.as_json(),
            }
            for one in found.below
        ],
        "cacheable": [
            {
                "function": name_of(one.function),
                "calls": one.calls,
                "hits": one.hits,
                "saved_ns": one.saved_ns,
                "repeated": one.repeated,
                "differing": one.differing,
                "best": one.best,
                "best_calls": one.best_calls,
                "partial": one.is_partial,
            }
            for one in found.cacheable
        ],
        "swallowed": [
            {
                "type": group.first.type,
                "raised_in": name_of(group.first.origin),
                "handler": name_of(group.first.handler),
                "count": group.count,
                "first": group.first.number,
            }
            for group in found.swallowed
        ],
        "discarded": [
            {
                "function": name_of(one.function),
                "calls": one.calls,
                "results": one.results,
                "total_ns": one.total_ns,
                "place": one.place.as_json(),
            }
            for one in found.discarded
        ],
        "forgotten": found.forgotten,
        "open_calls": found.counts.open,
    }
