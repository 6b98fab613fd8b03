"""Where calls differ from an expectation, as lines: `- ` is what was expected, `+ ` what is there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from funcgraph.answers.expectation import Difference, RecordedCall
from funcgraph.answers.facts import DIFFERENCES
from funcgraph.names import printable
from funcgraph.tracedata.links import NO_LINKS, Links

if TYPE_CHECKING:
    from funcgraph.answers.trace_check import ThreadDifference

_EXPECTED = 4  # lines of which one would have been right


def title_of(difference: Difference) -> str:
    """Return in two words what is different."""
    return DIFFERENCES[difference.what]


def difference_lines(difference: Difference, file: str = "", links: Links = NO_LINKS) -> Iterator[str]:
    """Yield the calls around and before a difference, then what was expected, and what is there.

    Args:
        difference: what is printed.
        file: where the expectation stands, for links to its lines.
        links: makes them.
    """
    level = "  " * len(difference.path)
    for depth, call in enumerate(difference.path):
        yield f"  {'  ' * depth}{_shown(call)}"
    for call in difference.before:
        yield f"  {level}{_shown(call)}"
    for one in difference.expected[:_EXPECTED]:
        place = links.place(f"line {one.line}", file, one.line)
        yield f"- {level}{printable(one.text)}   ({place})"
    if len(difference.expected) > _EXPECTED:
        yield f"- {level}or one of {len(difference.expected) - _EXPECTED} more lines"
    if not difference.expected:
        yield f"- {level}no further call"
    yield f"+ {level}{_shown(difference.got) if difference.got else 'no further call'}"


def difference_json(found: ThreadDifference) -> dict[str, Any]:
    """Return a difference for JSON."""
    difference = found.difference
    return {
        "what": difference.what,
        "tid": found.task.tid,
        "thread": found.task.name,
        "path": [call.function for call in difference.path],
        "before": [str(call) for call in difference.before],
        "expected": [{"line": one.line, "text": one.text} for one in difference.expected],
        "got": None if difference.got is None else str(difference.got),
        "time_ns": difference.time_ns,
    }


def _shown(call: RecordedCall) -> str:
    return printable(str(call))
