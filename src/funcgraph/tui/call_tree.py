"""The merged call tree, whose branches open and close."""

from __future__ import annotations

from collections import defaultdict

from funcgraph.tui.cells import Columns
from funcgraph.tui.filters import Filters
from funcgraph.tui.queries import Queries

__all__ = ["CallTree"]

_ROOT = -1
_HEADINGS = ("calls", "total", "own", "%")
_MOST_OPEN = 2000  # lines of a tree that open by one key


class CallTree:
    """A tree. At first its branches are open along the path with the most time.

    Args:
        queries: asks about the trace.
        filters: what of it is shown.
        before: the same tree when the trace had less: its branches are open.

    Raises:
        FilterError, RequestError, TraceError, OSError: as of the queries.
    """

    def __init__(self, queries: Queries, filters: Filters, before: CallTree | None = None) -> None:
        self._queries = queries
        filters.matching(queries.served)  # a bad pattern
        focus = {"focus": filters.pattern} if filters.pattern else {}
        answer = queries.ask("tree", **filters.parameters(), **focus)
        self._nodes: list[list[int]] = answer["nodes"]
        self.is_cut: bool = answer["cut"]
        self._children: defaultdict[int, list[int]] = defaultdict(list)
        for place, node in enumerate(self._nodes):
            self._children[node[0]].append(place)
        for places in self._children.values():
            places.sort(key=lambda place: (-self._nodes[place][3], place))
        self._all_ns = sum(self._nodes[place][3] for place in self._children[_ROOT]) or 1
        self._columns = Columns(_HEADINGS, [self._figures(place) for place in range(len(self._nodes))])
        self._open: set[int] = set()
        self._lines: list[tuple[int, int]] = []  # of what is seen: place, depth
        place = _ROOT
        while self._children.get(place) and before is None:
            place = self._children[place][0]
            self._open.add(place)
        if before is not None:
            paths = before.paths()
            open_paths = {paths[place] for place in before._open}
            self._open = {place for place, path in enumerate(self.paths()) if path in open_paths}
        self._lay_out()

    def paths(self) -> list[tuple[str, ...]]:
        """Return the names of the functions of each path."""
        found: list[tuple[str, ...]] = []
        for parent, function, *_ in self._nodes:
            above = () if parent == _ROOT else found[parent]
            found.append((*above, self._queries.name(function)))
        return found

    def place_of(self, before: CallTree, number: int) -> int:
        """Return the line of the path that a line of another tree has; 0: it is not to be seen."""
        path = before.paths()[before._lines[number][0]]
        paths = self.paths()
        return next((line for line, (place, _) in enumerate(self._lines) if paths[place] == path), 0)

    def _figures(self, place: int) -> list[str]:
        _, _, calls, total, own, _ = self._nodes[place]
        amount = self._queries.amount
        return [f"{calls:,}", amount(total), amount(own), f"{100 * total / self._all_ns:.1f}"]

    def _lay_out(self) -> None:
        """Make the lines again; without recursion, as a tree may be as deep as the traced program."""
        self._lines = []
        waiting = [(place, 0) for place in reversed(self._children[_ROOT])]
        while waiting:
            place, depth = waiting.pop()
            self._lines.append((place, depth))
            if place in self._open:
                waiting += [(below, depth + 1) for below in reversed(self._children.get(place, []))]

    def open(self, number: int) -> int:
        """Open the branch of a line; return the line to go to: the first below it if it is open already."""
        place, _ = self._lines[number]
        if not self._children.get(place):
            return number
        if place in self._open:
            return number + 1
        self._open.add(place)
        self._lay_out()
        return number

    def close(self, number: int) -> int:
        """Close the branch of a line; return the line to go to: its caller's if it is closed already."""
        place, depth = self._lines[number]
        if place in self._open and self._children.get(place):
            self._open.discard(place)
            self._lay_out()
            return number
        while number and self._lines[number][1] >= depth:
            number -= 1
        return number

    def open_all(self, number: int) -> None:
        """Open what is below a line, up to a number of lines."""
        waiting = [self._lines[number][0]]
        for _ in range(_MOST_OPEN):
            if not waiting:
                break
            place = waiting.pop(0)
            self._open.add(place)
            waiting += self._children.get(place, [])
        self._lay_out()

    def close_all(self) -> None:
        """Leave the outermost functions alone."""
        self._open.clear()
        self._lay_out()

    def find(self, number: int, step: int, word: str) -> int | None:
        """Return the next or previous line of a function whose name has a word, in any case. It may be in a
        closed branch, which is opened then. None: there is none."""
        matches = {
            node[1] for node in self._nodes if word.casefold() in self._queries.name(node[1]).casefold()
        }
        order = self._in_order()
        at = order.index(self._lines[number][0])
        for far in range(1, len(order) + 1):
            place = order[(at + step * far) % len(order)]
            if self._nodes[place][1] in matches:
                return self._shown(place)
        return None

    def _in_order(self) -> list[int]:
        order, waiting = [], list(reversed(self._children[_ROOT]))
        while waiting:
            place = waiting.pop()
            order.append(place)
            waiting += reversed(self._children.get(place, []))
        return order

    def _shown(self, place: int) -> int:
        """Open what is around a path; return its line."""
        above = self._nodes[place][0]
        while above != _ROOT:
            self._open.add(above)
            above = self._nodes[above][0]
        self._lay_out()
        return next(number for number, (there, _) in enumerate(self._lines) if there == place)

    def __len__(self) -> int:
        return len(self._lines)

    def heading(self, cells: int) -> str:
        return self._columns.heading("call tree", cells)

    def line(self, number: int, cells: int) -> str:
        place, depth = self._lines[number]
        sign = " " if not self._children.get(place) else "-" if place in self._open else "+"
        name = self._queries.name(self._nodes[place][1])
        return self._columns.line(name, self._figures(place), cells, sign=f"{sign} ", depth=depth)

    def text(self, number: int) -> str:
        return self._queries.name(self._nodes[self._lines[number][0]][1])

    def function(self, number: int) -> int | None:
        return self._queries.known(self._nodes[self._lines[number][0]][1])
