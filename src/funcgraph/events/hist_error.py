"""The exception for a histogram trigger that cannot be made, and the text whose places it names."""

from __future__ import annotations

import errno
from typing import NamedTuple

from funcgraph.definitions.errors import CommandError, Entry

__all__ = ["HistError", "Part", "Source"]


class HistError(CommandError):
    """A histogram trigger was refused, and nothing was changed; component: "hist:SYSTEM:EVENT" or ""."""


class Part(NamedTuple):
    """A piece of the command, and where it begins there."""

    text: str
    at: int

    def cut(self, separator: str) -> list[Part]:
        """Return the pieces between the separators."""
        pieces, at = [], self.at
        for text in self.text.split(separator):
            pieces.append(Part(text, at))
            at += len(text) + len(separator)
        return pieces

    def partition(self, separator: str) -> tuple[Part, str, Part]:
        """Return what is before the first separator, the separator or "", and what is after it."""
        before, found, after = self.text.partition(separator)
        return Part(before, self.at), found, Part(after, self.at + len(before) + len(found))

    def from_(self, index: int) -> Part:
        """Return the piece from a place in it on."""
        return Part(self.text[index:], self.at + index)

    def strip(self) -> Part:
        """Return it without blanks around it."""
        return Part(self.text.strip(), self.at + len(self.text) - len(self.text.lstrip()))


class Source:
    """A command that is parsed, and who says what is wrong with it.

    Args:
        command: the whole text.
        system: of the event.
        event: its name.
    """

    def __init__(self, command: str, system: str, event: str) -> None:
        self.command = command
        self.event = system, event
        self.component = f"hist:{system}:{event}"

    def error(self, *entries: tuple[str, Part], number: int = errno.EINVAL) -> HistError:
        """Return the error with these entries: messages and the pieces that they are about."""
        made = [Entry(message, part.at) for message, part in entries]
        first = made[0]
        return HistError(
            first.message, self.component, self.command, first.caret, number=number, more=tuple(made[1:])
        )

    def unlogged(self, message: str, part: Part) -> HistError:
        """Return an error for which the kernel gives only EINVAL. The message is ours."""
        return HistError(message, "", self.command, part.at)
