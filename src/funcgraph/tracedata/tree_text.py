"""A merged call tree as text for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from funcgraph.names import printable, shortened
from funcgraph.tracedata.call_tree import NO_PARENT, CallTree
from funcgraph.tracedata.description import Function
from funcgraph.tracedata.links import NO_LINKS, Links
from funcgraph.tracedata.summary import duration_text

#: Deeper than this, lines begin with their depth as a number: guides would fill the terminal.
_GUIDED = 32
_LEAST_NAME, _LEAST_GUIDE = 24, 4  # columns


@dataclass(frozen=True, slots=True)
class TreeLimits:
    """Which paths of a tree are shown.

    Attributes:
        percent: a path is left out if it took less than this share of the whole.
        depth: how many levels are shown; None: all.
    """

    percent: float
    depth: int | None


_NO_PLACE = -1  # in place of the function that is 100 percent: the whole tree is

#: Percent that are shown if nothing is asked for.
DEFAULT_PERCENT = 0.5


@dataclass(frozen=True, slots=True)
class _Row:
    total: str
    percent: str
    self: str
    native: str
    calls: str
    resumes: str
    name: str
    guide: str = ""
    level: int = 0
    function: Function | None = None


_HEADER = _Row("TOTAL", "%", "SELF", "NATIVE", "CALLS", "RESUMES", "FUNCTION")


def tree_text(
    tree: CallTree,
    limits: TreeLimits,
    *,
    each_is_whole: bool = False,
    width: int | None = None,
    links: Links = NO_LINKS,
) -> Iterator[bytes]:
    """Return a tree as lines of UTF-8: for each path its total time, self time, calls and name.

    A tree with native functions has a column of the time that was in these, unless it is one of callers.

    The callees of a path are sorted by their time. A trace without times (of the function tracer) is sorted
    by calls, and its percents are of those.

    Args:
        tree: what to show.
        limits: what to leave out; a line says how much that is.
        each_is_whole: a function at the top is 100 percent, as in a tree of callers; else the whole tree is.
        width: so long may a line be: names are cut in the middle, and guides of deep levels at their
            beginning; None: any.
        links: makes links of the functions' names.
    """
    printer = _Printer(tree, limits, each_is_whole)
    rows = list(printer.rows())
    native = ("native",) if any(printer.native_ns) else ()
    resumes = ("resumes",) if any(tree.resumes) else ()
    fields = ("total", "percent", "self", *native, "calls", *resumes)
    widths = [max(len(getattr(row, field)) for row in (_HEADER, *rows)) for field in fields]
    for row in (_HEADER, *rows):
        cells = (f"{getattr(row, field):>{size}}" for field, size in zip(fields, widths, strict=True))
        figures = f"{'  '.join(cells)}  "
        guide, name = (row.guide, row.name) if width is None else _fitting(row, width - len(figures))
        name = guide + links.function(name, row.function)
        yield f"{figures}{name}\n".encode("utf-8", "backslashreplace")


def _fitting(row: _Row, room: int) -> tuple[str, str]:
    """Return the guide and the name of a row in so many columns.

    Levels whose guides leave no room for names have their number in place of the guide's beginning.
    """
    guide = row.guide
    if len(guide) + _LEAST_NAME > room:
        guide = f"[{row.level}] {guide[-_LEAST_GUIDE:]}"
    return guide, shortened(row.name, room - len(guide))


class _Printer:
    def __init__(self, tree: CallTree, limits: TreeLimits, each_is_whole: bool) -> None:
        self.tree, self.limits, self.each_is_whole = tree, limits, each_is_whole
        self.children = tree.children()
        self.has_times = any(tree.total_ns)
        self.native_ns = [] if each_is_whole else tree.native_ns()
        self.weight = tree.total_ns if self.has_times else _calls_within(tree)
        if not self.has_times:
            for places in self.children:
                places.sort(key=lambda place: (-self.weight[place], place))
        tops = [place for root in tree.roots() for place in self.children[root]]
        self.whole = self._sum(tops)

    def rows(self) -> Iterator[_Row]:
        """Yield the lines, without recursion: a path can be longer than Python's stack."""
        shows_roots = any(self.tree.groups)
        stack: list[tuple[int, int, str, str, int]] = []  # place, level, guides, top
        for root in sorted(self.tree.roots(), key=lambda root: -self._sum(self.children[root])):
            if shows_roots:
                yield self._root_row(root)
            stack += reversed(list(self._below(root, 0, "", _NO_PLACE)))
            while stack:
                place, level, guide, below, top = stack.pop()
                if place < 0:
                    yield self._rest_row(self.children[~place], level, guide, top)
                    continue
                yield self._row(place, level, guide, top)
                stack += reversed(list(self._below(place, level + 1, below, top)))

    def _below(
        self, place: int, level: int, guide: str, top: int
    ) -> Iterator[tuple[int, int, str, str, int]]:
        """Yield what is shown under a place; ~place stands for callees that are left out."""
        callees = self.children[place]
        shown = self._shown(callees, level, top)
        is_cut = len(shown) < len(callees)
        for n, callee in enumerate(shown):
            is_last = n + 1 == len(shown) and not is_cut
            own, below = _guides(guide, level, is_last)
            at = callee if level == 0 and self.each_is_whole else top
            yield callee, level, own, below, at
        if is_cut:
            yield ~place, level, _guides(guide, level, True)[0], "", top

    def _shown(self, callees: Sequence[int], level: int, top: int) -> list[int]:
        if self.limits.depth is not None and level >= self.limits.depth:
            return []
        if level == 0 and self.each_is_whole:
            return list(callees)
        share = self.limits.percent / 100
        least = share * self._whole(top)
        # In recursion all time is the outermost call's: a function that calls itself shows by its calls.
        calls = share * self.tree.calls[top] if self.each_is_whole else math.inf
        return [
            callee for callee in callees if self.weight[callee] >= least or self.tree.calls[callee] >= calls
        ]

    def _whole(self, top: int) -> int:
        return self.whole if top == _NO_PLACE else self.weight[top]

    def _sum(self, places: Sequence[int]) -> int:
        return sum(self.weight[place] for place in places)

    def _percent(self, weight: int, top: int) -> str:
        whole = self._whole(top)
        return f"{100 * weight / whole:.1f}%" if whole else ""

    def _time(self, ns: int) -> str:
        return duration_text(ns) if self.has_times else ""

    def _native(self, places: Sequence[int]) -> str:
        return self._time(sum(self.native_ns[place] for place in places)) if self.native_ns else ""

    def _root_row(self, root: int) -> _Row:
        total = self._sum(self.children[root])
        name = f"{printable(self.tree.name(root))}:"
        return _Row(
            self._time(total), self._percent(total, _NO_PLACE), "", self._native([root]), "", "", name
        )

    def _row(self, place: int, level: int, guide: str, top: int) -> _Row:
        tree = self.tree
        return _Row(
            self._time(tree.total_ns[place]),
            self._percent(self.weight[place], top),
            self._time(tree.self_ns[place]),
            self._native([place]),
            f"{tree.calls[place]:,}",
            f"{tree.resumes[place]:,}",
            printable(tree.name(place)),
            guide,
            level,
            tree.functions[tree.function[place]],
        )

    def _rest_row(self, callees: Sequence[int], level: int, guide: str, top: int) -> _Row:
        shown = set(self._shown(callees, level, top))
        rest = [callee for callee in callees if callee not in shown]
        weight = self._sum(rest)
        return _Row(
            self._time(weight),
            self._percent(weight, top),
            "",
            self._native(rest),
            f"{sum(self.tree.calls[callee] for callee in rest):,}",
            f"{sum(self.tree.resumes[callee] for callee in rest):,}",
            f"({len(rest):,} more)",
            guide,
            level,
        )


def _guides(guide: str, level: int, is_last: bool) -> tuple[str, str]:
    """Return the guides of a line and of its callees' lines, for a guide that its siblings share."""
    if level == 0:
        return "", ""
    if level > _GUIDED:
        return f"[{level}] ", ""
    return (guide + "└ ", guide + "  ") if is_last else (guide + "├ ", guide + "│ ")


def _calls_within(tree: CallTree) -> list[int]:
    """Return how many calls each path and all paths below it had."""
    calls = list(tree.calls)
    for place in range(len(calls) - 1, -1, -1):
        if tree.parent[place] != NO_PARENT:
            calls[tree.parent[place]] += calls[place]
    return calls
