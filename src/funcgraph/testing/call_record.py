"""Recording calls for a test: `funcgraph.testing.calls`, and the fixture of that name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from funcgraph import _engine
from funcgraph.answers.expectation import RecordedCall
from funcgraph.answers.recorded_calls import recorded_calls
from funcgraph.instance.whole_trace import whole_trace
from funcgraph.session.memory_file import memory_file
from funcgraph.testing.call_sequence import Calls
from funcgraph.testing.graph_text import graph_end
from funcgraph.testing.instances import open_instance
from funcgraph.testing.own_functions import own_functions
from funcgraph.tracedata.description import SelectionError, Task
from funcgraph.tracedata.opened import open_trace

_BUFFER_KB = 8192
_NOTE_LINES = 20


class LostCallsError(RuntimeError):
    """Calls are missing in a record: nothing can be said of them."""


@contextmanager
def calls(*functions: str, args: bool = True, buffer_kb: int = _BUFFER_KB) -> Iterator[Calls]:
    """Record the calls of functions within a block; they can be compared within it and after it.

        with funcgraph.testing.calls("shop.*") as calls:
            shop.order(3)
        calls.expect("shop.save(amount=3, ...)")

    An exception that leaves the block gets a note with the end of the function graph.

    Args:
        functions: patterns, as "module.qualname" with `*`; none: the functions of the packages in the working
            directory, and of the modules that were loaded from it.
        args: record arguments and results.
        buffer_kb: KiB for the calls, which are kept in memory. If they do not fit, each comparison raises.

    Raises:
        OSError, RuntimeError: as of `funcgraph.Instance`.
    """
    with record_calls(functions or own_functions(Path.cwd(), sys.modules), args, buffer_kb) as record:
        try:
            yield Calls(record.read)
        except Exception as error:
            _add_note(error, record.trace())
            raise


@contextmanager
def record_calls(functions: Sequence[str], args: bool, buffer_kb: int = _BUFFER_KB) -> Iterator[CallRecord]:
    """Record the calls of functions within a block; what was recorded can be read within it and after it."""
    with open_instance("calls", functions, args, buffer_kb) as instance:
        record = CallRecord(lambda: whole_trace(instance, snapshot=False))
        try:
            yield record
        finally:
            record.keep()


class CallRecord:
    """What was recorded of calls.

    Args:
        take: returns a trace of it up to now: the bytes of a .fg.
    """

    def __init__(self, take: Callable[[], bytes]) -> None:
        self.trace = take

    def keep(self) -> None:
        """Keep what there is now. The recording may end."""
        kept = self.trace()
        self.trace = lambda: kept

    def read(self, functions: Sequence[str]) -> Mapping[Task, list[RecordedCall]]:
        """Return the calls of functions that match patterns, by thread.

        Raises:
            LostCallsError: the buffer was too small.
        """
        return _engine.untraced(_read, self.trace(), functions)


def _read(data: bytes, functions: Sequence[str]) -> Mapping[Task, list[RecordedCall]]:
    with memory_file(data) as file, open_trace(file) as trace:
        if trace.lost:
            raise LostCallsError(
                f"{trace.lost} records of calls were lost: record fewer functions, or give more buffer_kb"
            )
        try:
            return recorded_calls(trace, functions)
        except SelectionError:
            return {}  # no function of the trace matches


def _add_note(error: BaseException, data: bytes) -> None:
    end = _engine.untraced(graph_end, data, _NOTE_LINES, None)
    if end.lines:
        error.add_note("\n".join([f"funcgraph: {end.title}", *end.lines]))
