"""The table of functions: calls, total and own time, the longest call; sorted by any of these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgraph.tui.cells import Columns
from funcgraph.tui.filters import Filters
from funcgraph.tui.queries import Queries

__all__ = ["FunctionTable"]

_NUMBER, _CALLS, _TOTAL, _OWN, _LEAST, _MOST, _RAISED = range(7)
#: Heading -> the place of the figure in a row of the answer.
_COLUMNS = {"calls": _CALLS, "total": _TOTAL, "own": _OWN, "max": _MOST, "raised": _RAISED}
_TIMES = (_TOTAL, _OWN, _MOST)


class FunctionTable:
    """A table.

    Args:
        queries: asks about the trace.
        filters: what of it is shown.

    Attributes:
        key: the heading of the column that sorts.
        is_reversed: whether the least come first.

    Raises:
        FilterError, RequestError, TraceError, OSError: as of the queries.
    """

    KEYS = ("function", *_COLUMNS)

    def __init__(self, queries: Queries, filters: Filters) -> None:
        self._queries = queries
        matches = filters.matching(queries.served)
        answer = queries.ask("table", **filters.parameters())
        self._rows: list[list[Any]] = [
            row for row in answer["rows"] if matches is None or row[_NUMBER] in matches
        ]
        shown = [name for name, place in _COLUMNS.items() if any(row[place] for row in self._rows)]
        self._shown = {name: _COLUMNS[name] for name in shown or ["calls"]}
        self._columns = Columns(list(self._shown), [self._figures(row) for row in self._rows])
        self.is_cut: bool = answer["cut"]
        self.key, self.is_reversed = "own", False
        self.sort("own", False)

    def sort(self, key: str, is_reversed: bool) -> None:
        """Sort by a column; names from A to Z, figures from the largest, or the other way."""
        self.key, self.is_reversed = key, is_reversed
        self._rows.sort(key=self._order(key), reverse=is_reversed)

    def _order(self, key: str) -> Callable[[list[Any]], tuple[Any, ...]]:
        place = _COLUMNS.get(key)
        if place is None:
            return lambda row: (self._queries.name(row[_NUMBER]), row[_NUMBER])
        return lambda row: (-(row[place] or 0), row[_NUMBER])

    def _figures(self, row: list[Any]) -> list[str]:
        return [
            self._queries.amount(row[place]) if place in _TIMES else f"{row[place]:,}"
            for place in self._shown.values()
        ]

    def __len__(self) -> int:
        return len(self._rows)

    def heading(self, cells: int) -> str:
        return self._columns.heading("function", cells)

    def line(self, number: int, cells: int) -> str:
        row = self._rows[number]
        return self._columns.line(self._queries.name(row[_NUMBER]), self._figures(row), cells)

    def text(self, number: int) -> str:
        return self._queries.name(self._rows[number][_NUMBER])

    def function(self, number: int) -> int | None:
        return self._queries.known(self._rows[number][_NUMBER])
