"""Two calls side by side, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from funcgraph.answers.facts import DIFFERENCES, same_calls
from funcgraph.names import printable, shortened
from funcgraph.tracedata.summary import duration_text

if TYPE_CHECKING:
    from funcgraph.answers.compare_calls import CallComparison
    from funcgraph.diff.first_difference import FirstDifference

_COUNTS = 6


def compare_lines(found: CallComparison | None, paths: tuple[str, ...], width: int) -> Iterator[str]:
    """Yield the lines; None: no calls differ.

    Args:
        found: the comparison.
        paths: the trace, or both.
        width: columns of the terminal.
    """
    if found is None:
        yield "all its calls are the same in both"
        return
    for mark, call, path in (("-", found.a, paths[0]), ("+", found.b, paths[-1])):
        took = duration_text(call.end_ns - call.begin_ns)
        where = f" of {printable(path)}" if len(paths) > 1 else ""
        thread = f"{printable(call.task.name)}-{call.task.tid}"
        yield f"{mark} {printable(str(call))}{where} took {took} in {thread}"
    yield from _difference_lines(found, width)
    for row in found.counts[:_COUNTS]:
        yield f"  {row.a:>9,} : {row.b:<9,} calls of {shortened(printable(row.function), width - 34)}"
    if len(found.counts) > _COUNTS:
        yield f"  {len(found.counts) - _COUNTS} more functions are called more often by one"
    for mark, call, path in (("-", found.a, paths[0]), ("+", found.b, paths[-1])):
        begin, end = call.times()
        yield f"{mark} funcgraph report -i {path} --task {call.task.tid} --from {begin} --to {end}"


def _difference_lines(found: CallComparison, width: int) -> Iterator[str]:
    if found.difference is not None and found.difference.what != "call":
        yield from _place_lines(found, found.difference, width)
    if found.parting is None:
        yield "both make the same calls"
        return
    yield from _place_lines(found, found.parting, width)
    half = (width - 6) // 2
    yield "what follows:"
    for place in range(1, max(len(found.after_a), len(found.after_b))):
        left, right = (_following(side, place, half) for side in (found.after_a, found.after_b))
        yield f"- {left:<{half}}  + {right}".rstrip()


def _place_lines(found: CallComparison, difference: FirstDifference, width: int) -> Iterator[str]:
    then = ", then" if difference.calls else ":"
    yield f"{same_calls(difference.calls)}{then} {DIFFERENCES[difference.what]}:"
    for depth, name in enumerate(difference.path):
        yield f"  {'  ' * depth}{printable(name)}() {{"[:width]
    for mark, side, call in (("-", difference.a, found.a), ("+", difference.b, found.b)):
        if side is None:
            yield f"{mark} {'  ' * len(difference.path)}no further call"
            continue
        depth, name, time_ns = side
        text = f"{printable(name)}()" if difference.what == "call" else printable(name)
        yield f"{mark} {'  ' * depth}{text}, after {duration_text(max(time_ns - call.begin_ns, 0))}"


def _following(calls: tuple[tuple[int, str], ...], place: int, width: int) -> str:
    if place >= len(calls):
        return ""
    depth, name = calls[place]
    indent = "  " * min(depth, 6)
    return f"{indent}{shortened(printable(name), width - len(indent))}"


# ---- JSON


def compare_json(found: CallComparison) -> dict[str, Any]:
    """Return the comparison as JSON has it: times in nanoseconds."""
    return {
        "a": found.a.as_json(),
        "b": found.b.as_json(),
        "difference": _place_json(found.difference),
        "parting": _place_json(found.parting),
        "after_a": [list(one) for one in found.after_a],
        "after_b": [list(one) for one in found.after_b],
        "counts": [row._asdict() for row in found.counts],
    }


def _place_json(place: FirstDifference | None) -> dict[str, Any] | None:
    return None if place is None else {name: getattr(place, name) for name in place.__slots__}
