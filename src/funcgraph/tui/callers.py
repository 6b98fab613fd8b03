"""Who called a function, and whom it called: the butterfly, as lines."""

from __future__ import annotations

from funcgraph.page.path_tree import NO_PARENT
from funcgraph.tui.cells import Columns
from funcgraph.tui.filters import Filters
from funcgraph.tui.queries import Queries

__all__ = ["Callers"]


class Callers:
    """The callers of a function, itself, and its callees.

    Args:
        queries: asks about the trace.
        filters: what of it counts.
        number: of the function.

    Raises:
        RequestError, TraceError, OSError: as of the queries.
    """

    def __init__(self, queries: Queries, filters: Filters, number: int) -> None:
        self._queries = queries
        answer = queries.ask("butterfly", function=number, **filters.parameters())
        figures = (answer["calls"], answer["total_ns"], answer["own_ns"])
        rows: list[tuple[str, str, int | None, tuple[int | None, ...]]] = [
            ("  ", self._caller(caller), caller, (calls, ns, None))
            for caller, calls, ns in reversed(answer["callers"])
        ]
        #: The line of the function itself.
        self.middle = len(rows)
        rows.append(("> ", queries.name(number), number, figures))
        rows += [
            ("    ", queries.name(callee), callee, (calls, ns, None))
            for callee, calls, ns in answer["callees"]
        ]
        self._rows = rows
        self._columns = Columns(("calls", "total", "own"), [self._figures(row[3]) for row in rows])

    def _caller(self, number: int) -> str:
        return "(no caller in the trace)" if number == NO_PARENT else self._queries.name(number)

    def _figures(self, figures: tuple[int | None, ...]) -> list[str]:
        calls, total, own = figures
        return [f"{calls:,}", self._queries.amount(total), "" if own is None else self._queries.amount(own)]

    def __len__(self) -> int:
        return len(self._rows)

    def heading(self, cells: int) -> str:
        return self._columns.heading("callers, > function, callees", cells)

    def line(self, number: int, cells: int) -> str:
        sign, name, _, figures = self._rows[number]
        return self._columns.line(name, self._figures(figures), cells, sign=sign)

    def text(self, number: int) -> str:
        return self._rows[number][1]

    def function(self, number: int) -> int | None:
        return self._queries.known(self._rows[number][2])
