"""The exception for a histogram trigger that cannot be made, and the text whose places it names."""

from __future__ import annotations

import errno
import os
from typing import NamedTuple

__all__ = ["Entry", "HistError", "Part", "Source"]


class Entry(NamedTuple):
    """One entry of error_log.

    Attributes:
        message: what is wrong, in the kernel's words.
        caret: the place in the command, counted in characters from 0.
    """

    message: str
    caret: int


class HistError(ValueError):
    """A histogram trigger was refused, and nothing was changed.

    Attributes:
        errno: the number of the error, as in the kernel.
        component: who refuses, as error_log names it: "hist:SYSTEM:EVENT". "": the kernel logs nothing for
            this error.
        command: the text that was refused.
        caret: the place in it, counted in characters from 0.
        message: what is wrong, in the kernel's words; in ours if the kernel says nothing.
        more: further entries that the same error makes in error_log, after this one.
    """

    def __init__(
        self,
        message: str,
        component: str,
        command: str,
        caret: int = 0,
        *,
        number: int = errno.EINVAL,
        more: tuple[Entry, ...] = (),
    ) -> None:
        super().__init__(message, component, command, caret)
        self.errno = number
        self.component = component
        self.command = command
        self.caret = caret
        self.message = message
        self.more = more

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), self.args, {"errno": self.errno, "more": self.more})

    def __str__(self) -> str:
        """Return the message, the command, and a caret below it."""
        shown = "".join(" " if character.isspace() else character for character in self.command)
        caret = " " * self.caret + "^"
        return f"{self.message} ({os.strerror(self.errno)})\n  {shown}\n  {caret}"

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What error_log gets, in order; nothing where the kernel logs nothing."""
        return (Entry(self.message, self.caret), *self.more) if self.component else ()


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
