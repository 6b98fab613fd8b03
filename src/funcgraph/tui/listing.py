"""What a pane shows: numbered lines below a heading."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Listing", "PlainLines", "find"]


class Listing(Protocol):
    """Lines of a pane. Each is made when it is shown."""

    def __len__(self) -> int: ...

    def heading(self, cells: int) -> str:
        """Return the line above all others, for a pane so wide; "": there is none."""
        ...

    def line(self, number: int, cells: int) -> str:
        """Return a line without anything that harms a terminal."""
        ...

    def text(self, number: int) -> str:
        """Return what a search looks at."""
        ...

    def function(self, number: int) -> int | None:
        """Return the function that a line is about; None: none."""
        ...


class PlainLines:
    """Lines that are about no function, as sentences in the place of a table.

    Args:
        lines: the lines, without anything that harms a terminal.
    """

    def __init__(self, *lines: str) -> None:
        self._lines = lines

    def __len__(self) -> int:
        return len(self._lines)

    def heading(self, _cells: int) -> str:
        return ""

    def line(self, number: int, _cells: int) -> str:
        return self._lines[number]

    def text(self, number: int) -> str:
        return self._lines[number]

    def function(self, _number: int) -> int | None:
        return None


def find(listing: Listing, number: int, step: int, word: str) -> int | None:
    """Return the next line, or with a `step` of -1 the previous one, that has a word, in any case; from the
    last line it goes on at the first. None: no line has it."""
    needle, count = word.casefold(), len(listing)
    for far in range(1, count + 1):
        there = (number + step * far) % count
        if needle in listing.text(there).casefold():
            return there
    return None
