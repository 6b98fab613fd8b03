"""Rows of calls: what formats that list calls show of each, made of slices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain, pairwise, repeat
from typing import TypeVar

from funcgraph.export.slices import IRQ, NO_EVENT, WHOLE, Slices
from funcgraph.export.source import Source
from funcgraph.export.values import Plain, arguments_of, escaped
from funcgraph.tracedata.description import Task
from funcgraph.tracedata.events import Columns

K = TypeVar("K", bound=tuple[object, ...])
V = TypeVar("V")


def formatted(template: str, n: int, rows: Iterable[tuple[object, ...]]) -> str:
    """Return the texts of n rows, one after the other.

    One `%` for all of them writes numbers into the result itself: an f-string for each row takes twice as
    long, as it makes a text of each number first.
    """
    return template * n % tuple(chain.from_iterable(rows))


class Made(dict[K, V]):
    """Values that are made of their keys when they are first asked for.

    Args:
        make: gets the parts of a key, and returns its value.
    """

    def __init__(self, make: Callable[..., V]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: K) -> V:
        value = self[key] = self._make(*key)
        return value


_NOT_IRQ = bytes(flags for flags in range(256) if not flags & IRQ)


def have_values(batch: Columns | None, slices: Slices) -> bool:
    """Return whether any of a batch may have arguments, a result or an exception."""
    return bool(len(slices.data) or (batch is not None and len(batch.data)))


def are_resumed(slices: Slices) -> bool:
    """Return whether any of the calls was resumed."""
    return slices.resumes.tobytes().count(b"\0") < slices.resumes.nbytes


def are_plain(batch: Columns | None, slices: Slices) -> bool:
    """Return whether all ends of a batch lack what most lack: values, resumes, callers, signals."""
    return not (
        have_values(batch, slices)
        or are_resumed(slices)
        or slices.caller.tobytes().count(b"\xff") < slices.caller.nbytes
        or slices.flags.tobytes().translate(None, _NOT_IRQ)
    )


def are_whole(slices: Slices) -> bool:
    """Return whether it is known of all calls how long they ran."""
    return slices.flags.tobytes().count(WHOLE) == len(slices)


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
