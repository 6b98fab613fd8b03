"""Trees made of a merged call tree: who calls a function, and what it calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from funcgraph.tracedata.call_tree import NO_PARENT, CallTree, in_order, tree_of_columns
from funcgraph.tracedata.description import Function

#: What a tree of callers ends with where a call had no traced caller.
NO_CALLER = Function("", "(no traced caller)", "", 0, 0, ())
#: Callers further up than this are left out: a path can be as long as the stack was deep.
CALLER_LEVELS = 64


class _Builder:
    """A tree that grows by paths, with one root."""

    def __init__(self) -> None:
        self.columns: tuple[list[int], ...] = ([NO_PARENT], [0], [0], [0], [0], [0], [0])
        self.places: dict[tuple[int, int], int] = {}

    def child(self, parent: int, function: int) -> int:
        """Return the place of a path, made if need be."""
        place = self.places.setdefault((parent, function), len(self.columns[0]))
        if place == len(self.columns[0]):
            for column, item in zip(self.columns, (parent, function, 0, 0, 0, 0, 0), strict=True):
                column.append(item)
        return place

    def add(self, place: int, figures: Sequence[int]) -> None:
        """Add calls, resumes, exceptions, total_ns and self_ns to a path."""
        for column, figure in zip(self.columns[2:], figures, strict=True):
            column[place] += figure

    def tree(self, source: CallTree, functions: Sequence[Function | None]) -> CallTree:
        """Return the tree, with the names of another one."""
        return tree_of_columns(in_order(self.columns), functions, ("",), source.summary)


def callers_of(tree: CallTree, matches: Callable[[str], bool], levels: int = CALLER_LEVELS) -> CallTree:
    """Return the paths to functions backwards: under each function its callers, under these theirs.

    Args:
        tree: the tree to look in.
        matches: whether a function of this name is meant.
        levels: how many callers of callers to show at most.

    Returns:
        A tree with one root. Each path has the figures of the function that it begins with, of the calls that
        came this way: the first level has summary's figures.
    """
    names = _matching_functions(tree, matches)
    outermost = tree.outermost()
    nobody = len(tree.functions)
    builder = _Builder()
    for place, function in enumerate(tree.function):
        parent = tree.parent[place]
        if parent == NO_PARENT or function not in names:
            continue
        figures = _figures(tree, place, bool(outermost[place]))
        at = builder.child(0, function)
        builder.add(at, figures)
        if tree.parent[parent] == NO_PARENT:
            builder.add(builder.child(at, nobody), figures)
        for _ in range(levels):
            if tree.parent[parent] == NO_PARENT:
                break
            at = builder.child(at, tree.function[parent])
            builder.add(at, figures)
            parent = tree.parent[parent]
    return builder.tree(tree, [*tree.functions, NO_CALLER])


def callees_of(tree: CallTree, matches: Callable[[str], bool]) -> CallTree:
    """Return what functions call, added up over all places from which they are called.

    Args:
        tree, matches: as for `callers_of`.

    Returns:
        A tree with one root. Recursive calls of a function are among its callees.
    """
    names = _matching_functions(tree, matches)
    outermost = tree.outermost()
    builder = _Builder()
    copies: list[list[int]] = [[] for _ in range(len(tree))]  # places in the new tree
    for place, function in enumerate(tree.function):
        parent = tree.parent[place]
        if parent == NO_PARENT:
            continue
        there = [builder.child(copy, function) for copy in copies[parent]]
        if function in names and outermost[place]:
            there.append(builder.child(0, function))
        for copy in there:
            builder.add(copy, _figures(tree, place, True))
        copies[place] = there
    return builder.tree(tree, tree.functions)


def _matching_functions(tree: CallTree, matches: Callable[[str], bool]) -> set[int]:
    return {number for number in range(len(tree.functions)) if matches(tree.name_of(number))}


def _figures(tree: CallTree, place: int, with_total: bool) -> tuple[int, ...]:
    return (
        tree.calls[place],
        tree.resumes[place],
        tree.exceptions[place],
        tree.total_ns[place] if with_total else 0,
        tree.self_ns[place],
    )
