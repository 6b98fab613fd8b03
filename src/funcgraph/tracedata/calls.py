"""Calls of a trace: the events of each call, put together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Literal, NamedTuple, TypeAlias, get_args

from funcgraph import _tracedata
from funcgraph.tracedata.description import Function, Task
from funcgraph.tracedata.events import Columns, exception_name, name_arguments
from funcgraph.tracedata.threads import Threads, arrays_of
from funcgraph.tracedata.values import Value, decode_values

CallEnd: TypeAlias = Literal["return", "raise", "close"]

#: The slices that end a call.
_ENDS = sum(1 << _tracedata.SLICE_WHATS.index(end) for end in get_args(CallEnd))


class Call(NamedTuple):
    """A call that ended. A call of a generator or coroutine is one call, however often it was suspended.

    Attributes:
        function: the function; None if the trace does not name it.
        task: the thread in which it ended.
        begin_ns: when it began, on the trace's clock.
        end_ns: when it ended.
        duration_ns: how long it ran, without the time in which it was suspended or waited for the recorder.
            None if a part of it is not in the trace.
        depth: how many traced calls it was made from.
        ended: `return`; `raise`: by an exception; `close`: it was suspended, and then closed, cancelled or
            collected.
        parent: the function of the traced call that it was made from; None if there was none, or its entry
            was not recorded.
        resumes: how often it was resumed.
        irq: whether the interpreter made it to handle a signal.
        caller: the function that made the call, if that was recorded.
        caller_line: the line at which it did (of native code: the offset after the call), or 0.
        entry_payload: its recorded arguments, not decoded.
        exit_payload: its recorded result or exception, not decoded.
    """

    function: Function | None
    task: Task
    begin_ns: int
    end_ns: int
    duration_ns: int | None
    depth: int
    ended: CallEnd
    parent: Function | None
    resumes: int
    irq: bool
    caller: Function | None
    caller_line: int
    entry_payload: bytes
    exit_payload: bytes

    @property
    def arguments(self) -> dict[str, Value]:
        """The recorded arguments, by name, as of `Event.arguments`."""
        return name_arguments(self.function, decode_values(self.entry_payload))

    @property
    def result(self) -> Value:
        """What it returned. None too if that was not recorded: `exit_payload` is empty then."""
        return next(iter(decode_values(self.exit_payload)), None) if self.ended == "return" else None

    @property
    def exception(self) -> str | None:
        """The type of the exception that ended it, by name; None if there was none, or it is unknown."""
        return exception_name(decode_values(self.exit_payload)) if self.ended == "raise" else None


def calls_of(batches: Iterable[Columns], functions: Sequence[Function], threads: Threads) -> Iterator[Call]:
    """Return an iterator over the calls that end in these batches, in the order of their ends.

    Args:
        batches, functions: of the trace.
        threads: gets its threads.
    """
    slicer = _tracedata.Slicer(True, _ENDS)

    def calls(batch: Columns) -> list[Call]:
        columns = arrays_of(batch)
        slices = slicer.add(columns, *threads.of(batch.tasks))
        return _tracedata.call_objects(Call, functions, batch.tasks, _tracedata.SLICE_WHATS, slices, columns)

    return chain.from_iterable(map(calls, batches))
