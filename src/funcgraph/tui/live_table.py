"""The live table: what functions of running processes do each second."""

from __future__ import annotations

from collections.abc import Sequence

from funcgraph.steering.rates import KEYS, Rate
from funcgraph.tui.cells import Columns

__all__ = ["LiveTable"]


class LiveTable:
    """A table.

    Args:
        rates: of the functions.
        key: one of the KEYS of the rates.
        is_reversed: whether the least come first.
        time: the heading of the time.
        word: what a name must have, in any case; "": all.
    """

    def __init__(self, rates: Sequence[Rate], key: str, is_reversed: bool, time: str, word: str) -> None:
        matches = [rate for rate in rates if word.casefold() in rate.name.casefold()]
        self._rows = sorted(matches, key=KEYS[key][1], reverse=is_reversed)
        headings = ("calls/s", time, "avg us")
        self._columns = Columns(headings, [self._figures(row) for row in self._rows])

    @staticmethod
    def _figures(rate: Rate) -> list[str]:
        return [f"{rate.calls_per_s:,.1f}", f"{rate.ms_per_s:,.3f}", f"{rate.average_us:,.3f}"]

    def __len__(self) -> int:
        return len(self._rows)

    def heading(self, cells: int) -> str:
        return self._columns.heading("function", cells)

    def line(self, number: int, cells: int) -> str:
        return self._columns.line(self._rows[number].name, self._figures(self._rows[number]), cells)

    def text(self, number: int) -> str:
        return self._rows[number].name

    def function(self, _number: int) -> int | None:
        return None
