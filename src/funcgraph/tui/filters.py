"""Which part of a trace is shown: a pattern of functions, a part of the time, a thread."""

from __future__ import annotations

from dataclasses import dataclass

from funcgraph.tracedata.description import SelectionError
from funcgraph.tracedata.selection import time_range
from funcgraph.view.request_error import RequestError
from funcgraph.view.search import matching_functions
from funcgraph.view.served import Served

__all__ = ["FilterError", "Filters", "parse_part"]


class FilterError(Exception):
    """What was typed is no filter. The text says what would be right."""


@dataclass(frozen=True)
class Filters:
    """What all panes show.

    Attributes:
        pattern: of functions, "" for all: a part of a name, or a glob.
        part: the first time and the one after the last, relative to the trace's begin; None: all.
        lane: the number of a thread's lane; None: all.
    """

    pattern: str = ""
    part: tuple[int, int] | None = None
    lane: int | None = None

    def parameters(self) -> dict[str, object]:
        """Return them as parameters of a question about a tree, but for the pattern."""
        found: dict[str, object] = {}
        if self.part is not None:
            found["begin"], found["end"] = self.part
        if self.lane is not None:
            found["lanes"] = self.lane
        return found

    def matching(self, served: Served) -> set[int] | None:
        """Return the functions that the pattern has; None: there is no pattern. Raises FilterError."""
        if not self.pattern:
            return None
        try:
            return set(matching_functions(served.functions, self.pattern))
        except RequestError as error:
            raise FilterError(error.message) from None


def parse_part(served: Served, text: str) -> tuple[int, int] | None:
    """Return the part of the time that two times mean, given as those of `funcgraph report --from`, such as
    `+0.5 +1.25`; one alone: from there on; none: all.

    Raises:
        FilterError: they are no times.
    """
    words = text.split()
    if not words:
        return None
    if len(words) > 2:
        raise FilterError(f"a time range has one or two times, got {len(words)}")
    try:
        times = [time_range(served.trace, word) for word in words]
    except SelectionError as error:
        raise FilterError(str(error).replace("--from ", "time ")) from None
    begin = max(times[0][0] - served.begin_ns, 0)
    end = times[1][1] + 1 - served.begin_ns if len(times) == 2 else served.duration_ns + 1
    if end <= begin:
        raise FilterError(f"the range {text.strip()} is empty")
    return begin, end
