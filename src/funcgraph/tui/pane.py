"""The pane: a listing on the screen, with a cursor. Text goes to the screen as segments: nothing in it is
read as markup."""

from __future__ import annotations

from rich.cells import set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from funcgraph.tui.listing import Listing, PlainLines

__all__ = ["Bar", "Pane"]

_HEADING = Style(bold=True, underline=True)
_CURSOR = Style(reverse=True)
_HIT = Style(bold=True, color="yellow")
_PLAIN = Style()
_BAR = Style(reverse=True)
_SIDE_STEP = 8  # cells


class Bar(Widget):
    """One line, whose parts are reversed or not."""

    DEFAULT_CSS = "Bar { height: 1; }"

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._parts: list[tuple[str, bool]] = []

    def show(self, parts: list[tuple[str, bool]]) -> None:
        """Show texts without anything that harms a terminal; True: reversed."""
        if parts != self._parts:
            self._parts = parts
            self.refresh()

    @property
    def shown(self) -> str:
        return "".join(text for text, _ in self._parts)

    def render_line(self, y: int) -> Strip:
        segments = [Segment(text, _BAR if is_on else _PLAIN) for text, is_on in self._parts if y == 0]
        return Strip(segments).adjust_cell_length(self.size.width)


class Pane(Widget):
    """A listing, of which a part is on the screen.

    Attributes:
        listing: what is shown.
        cursor: the number of the chosen line.
        word: what is searched for: lines that have it look different.
    """

    DEFAULT_CSS = "Pane { height: 1fr; }"

    class Left(Message):
        """The cursor would leave the listing.

        Args:
            step: 1: at the end; -1: at the begin.
        """

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    class Moved(Message):
        """The cursor is on another line."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.listing: Listing = PlainLines("")
        self.cursor = 0
        self.word = ""
        self._top = 0
        self._side = 0

    def show(self, listing: Listing, cursor: int = 0, *, at_top: bool = True) -> None:
        """Show another listing.

        Args:
            cursor: the line to choose.
            at_top: whether it begins with its first line; else the place on the screen stays as it is.
        """
        self.listing = listing
        if at_top:
            self._top = 0
        self.go(cursor)

    @property
    def rows(self) -> int:
        """How many lines of the listing the pane has room for."""
        height: int = self.size.height
        return max(height - bool(self.listing.heading(self.size.width)), 1)

    def go(self, number: int) -> None:
        """Choose a line, and have it on the screen."""
        last = max(len(self.listing) - 1, 0)
        self.cursor = min(max(number, 0), last)
        least = max(self.cursor - self.rows + 1, 0)
        self._top = min(max(self._top, least), self.cursor, max(len(self.listing) - self.rows, 0))
        self.refresh()
        self.post_message(self.Moved())

    def move(self, lines: int) -> None:
        """Move the cursor; says so if it would leave the listing."""
        there = self.cursor + lines
        if not 0 <= there < len(self.listing) and self.cursor in (0, len(self.listing) - 1):
            self.post_message(self.Left(1 if lines > 0 else -1))
        self.go(there)

    def move_pages(self, pages: float) -> None:
        """Move the cursor and what is shown by pages, or by half ones."""
        lines = int(self.rows * pages)
        self._top += lines
        self.move(lines)

    def move_side(self, steps: int) -> None:
        """Show what is further to the right, or the left."""
        self._side = max(self._side + _SIDE_STEP * steps, 0)
        self.refresh()

    def side_begin(self) -> None:
        """Show the begin of the lines again."""
        self._side = 0
        self.refresh()

    @property
    def is_aside(self) -> bool:
        """Whether the begin of the lines is not shown."""
        return self._side > 0

    def on_resize(self) -> None:
        """Keep the cursor on the screen."""
        self.go(self.cursor)

    def on_mouse_scroll_down(self, _event: events.MouseScrollDown) -> None:
        self.move(3)

    def on_mouse_scroll_up(self, _event: events.MouseScrollUp) -> None:
        self.move(-3)

    def on_click(self, event: events.Click) -> None:
        """Choose the line."""
        heading = bool(self.listing.heading(self.size.width))
        if 0 <= event.y - heading < len(self.listing) - self._top:
            self.go(self._top + event.y - heading)

    def render_line(self, y: int) -> Strip:
        cells = self.size.width
        heading = self.listing.heading(cells)
        if heading and y == 0:
            return self._strip(heading, _HEADING, cells)
        number = self._top + y - bool(heading)
        if number >= len(self.listing):
            return Strip([Segment(" " * cells)], cells)
        is_hit = self.word and self.word.casefold() in self.listing.text(number).casefold()
        style = _CURSOR if number == self.cursor else _HIT if is_hit else _PLAIN
        return self._strip(self.listing.line(number, cells), style, cells)

    def _strip(self, text: str, style: Style, cells: int) -> Strip:
        shown = set_cell_size(text, self._side + cells)
        return Strip([Segment(shown, style)], self._side + cells).crop(self._side, self._side + cells)
