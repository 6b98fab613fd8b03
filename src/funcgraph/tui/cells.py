"""Text for a line of a terminal: what names of others become, and columns of figures, which are never cut."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from funcgraph.names import printable, shortened

__all__ = ["NAME_CELLS", "Columns", "fit", "plain"]

#: So wide is a name at least, also where the figures leave less room.
NAME_CELLS = 24
_GAP = "  "
_INDENT = 2
_CHARACTERS = 4  # of a name for each cell, at most: an escaped character has up to ten


def plain(text: str, cells: int = 2000) -> str:
    """Return a text of others as one line that harms no terminal, at most so wide."""
    shown = printable(text[:cells].expandtabs())
    return shown if cell_len(shown) <= cells else _cut(shown, cells)


def fit(name: str, cells: int) -> str:
    """Return a name that is at most so wide: its middle is left out if it is wider."""
    shown = printable(shortened(name, cells * _CHARACTERS))
    width = cells
    while cell_len(shown) > cells:
        cut = shortened(shown, width)
        if cut == shown and width < cells:  # too narrow for a cut in the middle
            return _cut(shown, cells)
        shown, width = cut, width - 1
    return shown


def _cut(text: str, cells: int) -> str:
    """Return a text that is exactly so wide."""
    cut: str = set_cell_size(text, cells)
    return cut


class Columns:
    """Columns of figures on the right side, each as wide as its widest text.

    Args:
        headings: of the columns.
        rows: the texts of each row.
    """

    def __init__(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        widths = [len(heading) for heading in headings]
        for row in rows:
            widths = [max(pair) for pair in zip(widths, map(len, row), strict=True)]
        self._widths = widths
        self._headings = headings
        self.width = sum(widths) + len(_GAP) * len(widths)

    def heading(self, first: str, cells: int) -> str:
        """Return the line above: the name's heading, and those of the columns."""
        return self.line(first, self._headings, cells)

    def line(self, name: str, figures: Sequence[str], cells: int, *, sign: str = "", depth: int = 0) -> str:
        """Return a row. The name gets what the figures leave.

        Args:
            sign: stands before the name.
            depth: how far it is indented. Where that leaves no room for the name, the number stands there.
        """
        room = max(cells - self.width, NAME_CELLS)
        most = max(room - NAME_CELLS - len(sign), 0)
        indent = " " * (_INDENT * depth) if _INDENT * depth <= most else f"{depth} ".rjust(most)
        shown = indent + sign + fit(name, room - len(indent) - len(sign))
        texts = (f"{text:>{width}}" for text, width in zip(figures, self._widths, strict=True))
        return _cut(shown, room) + _GAP + _GAP.join(texts)
