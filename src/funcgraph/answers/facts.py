"""What all answers say besides their figures: names, what a trace lacks, commands that show the evidence."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from funcgraph.names import printable
from funcgraph.tracedata.description import Function, Task
from funcgraph.tracedata.imports import import_function
from funcgraph.tracedata.links import NO_LINKS, Links
from funcgraph.tracedata.opened import Trace
from funcgraph.tracedata.selected_time import exact_time

_NS = 1_000_000_000
_PRINTED_NS = 1000  # a report prints microseconds

#: What differs first of two calls, in words.
DIFFERENCES = {"call": "another call", "arguments": "other arguments", "result": "another result"}


def same_calls(count: int, of: str = "") -> str:
    """Return that so many calls are the same, of a function if one is given, in words.

    Example:
        >>> same_calls(2, "shop.order")
        'the first 2 calls of shop.order are the same'
    """
    of = f" of {of}" if of else ""
    if count < 2:
        return f"{('no', 'the first')[count]} call{of} is the same"
    return f"the first {count:,} calls{of} are the same"


class Counts(NamedTuple):
    """How many calls an answer is made of.

    Attributes:
        calls: all that were read.
        open: those whose end is not in the trace.
        suspended: of these, those that are suspended at the end.
    """

    calls: int
    open: int
    suspended: int


class Place(NamedTuple):
    """A stretch of time in a thread, where the evidence lies.

    Attributes:
        begin_ns, end_ns: on the trace's clock.
        task: the thread; None: it is not known.
        clock: the name of that clock.
    """

    begin_ns: int
    end_ns: int
    task: Task | None
    clock: str

    def command(self, path: object, *more: str) -> str:
        """Return the command that shows it alone: `funcgraph report --task TID --from T --to T FILE`.

        Args:
            path: the trace.
            more: further words.
        """
        begin, end = (exact_time(self.clock, time) for time in (self.begin_ns, self.end_ns))
        words = ["funcgraph", "report", *more, *(["--task", str(self.task.tid)] if self.task else [])]
        words += ["--from", begin, "--to", end]
        return shlex.join([*words, *([str(path)] if str(path) != "trace.fg" else [])])

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        task = self.task
        return {"begin_ns": self.begin_ns, "end_ns": self.end_ns, "tid": task.tid if task else None}


def seconds(time_ns: int) -> str:
    """Return a time as a report prints it."""
    return f"{time_ns // _NS}.{time_ns % _NS // _PRINTED_NS:06}"


class Names:
    """Names of a Reader's functions by their numbers: those of the trace, `<unknown>`, folded imports."""

    def __init__(self, functions: Sequence[Function], imports: Sequence[str] = ()) -> None:
        self._functions = functions
        self._imports = imports

    def function(self, number: int) -> Function | None:
        """Return a function; None: the trace does not name it."""
        if number < len(self._functions):
            return self._functions[number]
        place = number - len(self._functions) - 1
        return import_function(self._imports[place]) if 0 <= place < len(self._imports) else None


def name_of(function: Function | None) -> str:
    """Return a function's name, as in `funcgraph summary`."""
    return function.name if function else "<unknown>"


def place_of(function: Function | None, links: Links = NO_LINKS) -> str:
    """Return where a function is defined, as ` (FILE:LINE)`; "" if that is not known."""
    if function is None or not function.file:
        return ""
    return f" ({links.function(f'{printable(function.file)}:{function.line}', function)})"


def place_at(trace: Trace, begin_ns: int, end_ns: int, number: int) -> Place:
    """Return a place by the number of its task, which a damaged trace may not describe."""
    task = trace.tasks[number] if number < len(trace.tasks) else None
    return Place(begin_ns, end_ns, task, trace.clock)


# ---- what is missing


def limits(trace: Trace, counts: Counts | None = None, *, is_of_one_instance: bool = False) -> Iterator[str]:
    """Yield lines about what an answer cannot know.

    Args:
        trace: the trace.
        counts: how many calls the answer is made of.
        is_of_one_instance: whether it is of what one instance recorded.
    """
    if counts and counts.open:
        suspended = f", {counts.suspended:,} of them suspended" if counts.suspended else ""
        yield f"{_calls(counts.open)} did not end in the trace{suspended}"
    if trace.lost:
        yield f"{trace.lost:,} records were lost: what they would have shown is missing here"
    if trace.overrun:
        yield f"{trace.overrun:,} calls were not traced: their task's shadow stack was full"
    if not is_of_one_instance and sum(buffer.has_calls for buffer in trace.buffers) > 1:
        yield "several instances recorded calls: one call may be here more than once; -B NAME chooses one"


def _calls(count: int) -> str:
    return f"{count:,} call{'' if count == 1 else 's'}"
