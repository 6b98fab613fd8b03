"""Rows of calls: what formats that list calls show of each, made of slices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import compress, pairwise, repeat
from typing import NamedTuple, TypeAlias

from funcgraph.export.slices import CLOSE, LOST, NO_EVENT, OPEN, RAISE, RETURN, SUSPEND, SUSPENDED, Slices
from funcgraph.export.source import Source
from funcgraph.export.values import Plain, arguments_of, escaped
from funcgraph.tracedata.description import Task
from funcgraph.tracedata.events import Columns


class Row(NamedTuple):
    """The end of a call, or of a stretch of one. `slices.h` explains the numbers.

    Attributes:
        arguments: the values that were recorded at its entry, not decoded.
        outcome: its result or exception, not decoded.
    """

    time_ns: int
    begin_ns: int
    call_ns: int
    ran_ns: int
    self_ns: int
    function: int
    parent: int
    caller: int
    caller_line: int
    thread: int
    depth: int
    resumes: int
    what: int
    flags: int
    arguments: bytes
    outcome: bytes


#: A `Row` without names.
PlainRow: TypeAlias = tuple[
    int, int, int, int, int, int, int, int, int, int, int, int, int, int, bytes, bytes
]  # fmt: skip


def _selector(*whats: int) -> bytes:
    return bytes(what in whats for what in range(256))


#: Each call once, at its end.
CALLS = _selector(RETURN, RAISE, CLOSE, LOST, OPEN, SUSPENDED)
#: Each stretch of each call.
STRETCHES = _selector(RETURN, RAISE, SUSPEND, CLOSE, LOST, OPEN)


def rows_of(batch: Columns | None, slices: Slices, which: bytes) -> Iterator[PlainRow]:
    """Return an iterator over the ends of a batch: CALLS or STRETCHES.

    `Row._make` makes a Row of each; where millions are written, that takes too long.
    """
    columns = (
        slices.time_ns, slices.begin_ns, slices.call_ns, slices.ran_ns, slices.self_ns, slices.function,
        slices.parent, slices.caller, slices.caller_line, slices.thread, slices.depth, slices.resumes,
        slices.what, slices.flags,
    )  # fmt: skip
    wanted = slices.what.tobytes().translate(which)
    rows = zip(
        *(column.tolist() for column in columns),
        arguments_in(slices),
        outcomes_in(batch, slices),
        strict=False,
    )
    return compress(rows, wanted)


def payloads_of(
    batch: Columns | None, slices: Slices, wanted: bytes
) -> Iterator[tuple[int, int, bytes, bytes]]:
    """Yield function, what, arguments and outcome of the ends that are wanted: a byte for each slice."""
    columns = slices.function.tolist(), slices.what.tolist(), arguments_in(slices), outcomes_in(batch, slices)
    return compress(zip(*columns, strict=False), wanted)


def arguments_in(slices: Slices) -> Iterable[bytes]:
    """Return the values that were recorded at the entry of each call that ends; may go on without end."""
    if not len(slices.data):
        return repeat(b"")
    data = slices.data.tobytes()
    return (data[begin:end] for begin, end in pairwise(slices.data_offsets.tolist()))


def outcomes_in(batch: Columns | None, slices: Slices) -> Iterable[bytes]:
    """Return the values that each slice's event has: of an end, its result or exception; likewise."""
    if batch is None or not len(batch.data):
        return repeat(b"")
    data, offsets = batch.data.tobytes(), batch.data_offsets.tolist()
    return (
        b"" if event == NO_EVENT else data[offsets[event] : offsets[event + 1]]
        for event in slices.event.tolist()
    )


def arguments_at(source: Source, function: int, payload: bytes) -> Mapping[str, Plain]:
    """Return the arguments of a call of the function at an index, by name."""
    functions = source.functions
    return arguments_of(functions[function] if function < len(functions) else None, payload)


def instance_of(source: Source, task: Task) -> str:
    """Return the name of the instance that recorded a task; "" for the top one."""
    return source.trace.buffers[task.buffer].name


class Names(dict[int, str]):
    """The names of a trace's functions, by index, each as a format writes it; of any other index `<unknown>`.

    Args:
        source: has the functions.
        form: from a name without lone surrogates to that of the format.
    """

    def __init__(self, source: Source, form: Callable[[str], str] = str) -> None:
        super().__init__((index, form(escaped(f.name))) for index, f in enumerate(source.functions))
        self._unknown = form("<unknown>")

    def __missing__(self, index: int) -> str:
        return self._unknown
