"""What formats of figures read: the merged call tree of a source's trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain

from funcgraph.export.format import ExportError
from funcgraph.export.source import Source
from funcgraph.tracedata.call_tree import NO_PARENT, CallTree
from funcgraph.tracedata.description import Function
from funcgraph.tracedata.opened import file_of
from funcgraph.tracedata.selection import Selection, select
from funcgraph.tracedata.summary import FunctionKey, FunctionSummary, function_key
from funcgraph.tracedata.trace_file import TraceFile


def tree_of(source: Source) -> CallTree:
    """Return the merged call tree of a source. That of several instances has a root for each, with its name.

    Raises:
        TraceError: the trace is damaged.
        OSError: it cannot be read.
    """
    file, numbers = _buffers(source)
    trees = [
        file.call_tree(buffers=[number], select=source.select, fold_imports=source.folds_imports)
        for number in numbers
    ]
    if len(trees) == 1:
        return trees[0]
    return _joined(trees, [file.buffers[number].name or "top instance" for number in numbers])


def single_tree_of(source: Source) -> CallTree:
    """Return the tree, for a format that has figures of functions only.

    Raises:
        ExportError: there are several instances. They may have recorded the same call, which counts once.
        TraceError, OSError: as for `tree_of`.
    """
    file, numbers = _buffers(source)
    if len(numbers) > 1:
        names = ", ".join(repr(file.buffers[number].name) for number in numbers)
        raise ExportError(f"figures of several instances do not add up: choose one with -B: {names}")
    return file.call_tree(buffers=numbers, select=source.select, fold_imports=source.folds_imports)


def escaped_name(text: str, also: str = "") -> str:
    """Return a name in which control characters, lone surrogates, backslashes and those of `also` are escaped
    as in Python: `\\n`, `\\x1b`, `\\udc80`."""
    if text.isprintable() and "\\" not in text and not any(c in text for c in also):
        return text
    return "".join(c if c.isprintable() and c != "\\" and c not in also else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    code = ord(character)
    if character in "\n\t\r":
        return repr(character)[1:-1]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _buffers(source: Source) -> tuple[TraceFile, list[int]]:
    file = file_of(source.trace)
    chosen = select(file, source.select or Selection()).buffers
    return file, file.find_buffers(()) if chosen is None else chosen


def _joined(trees: Sequence[CallTree], names: Sequence[str]) -> CallTree:
    """Return the trees of a trace's instances as one, with the functions of all."""
    starts = [sum(len(tree) for tree in trees[:n]) for n in range(len(trees))]

    def column(of: Callable[[CallTree], Sequence[int]]) -> list[int]:
        return list(chain.from_iterable(of(tree) for tree in trees))

    parents = (
        [above if above == NO_PARENT else above + start for above in tree.parent]
        for tree, start in zip(trees, starts, strict=True)
    )
    functions: dict[FunctionKey, Function | None] = {}
    numbers: dict[FunctionKey, int] = {}
    for function in chain.from_iterable(tree.functions for tree in trees):
        key = function_key(function)
        numbers.setdefault(key, len(numbers))
        functions.setdefault(key, function)
    places = (
        [
            number if above == NO_PARENT else numbers[function_key(tree.functions[function])]
            for above, function in zip(tree.parent, tree.function, strict=True)
        ]
        for number, tree in enumerate(trees)
    )
    return CallTree(
        list(chain.from_iterable(parents)),
        list(chain.from_iterable(places)),
        column(lambda tree: tree.calls),
        column(lambda tree: tree.resumes),
        column(lambda tree: tree.exceptions),
        column(lambda tree: tree.total_ns),
        column(lambda tree: tree.self_ns),
        list(functions.values()),
        names,
        _added(row for tree in trees for row in tree.summary),
    )


def _added(rows: Iterable[FunctionSummary]) -> list[FunctionSummary]:
    """Return a row for each function: the sum of what the instances have of it."""
    added: dict[FunctionKey, FunctionSummary] = {}
    for row in rows:
        key = function_key(row.function)
        if key in added:
            added[key].add(row)
        else:
            added[key] = replace(row)
    return list(added.values())
