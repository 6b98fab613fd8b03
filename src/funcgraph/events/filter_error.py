"""Refusals of event filters: the kernel's messages, error numbers and caret positions."""

from __future__ import annotations

import errno
import os

__all__ = ["COMPONENT", "TOO_LONG", "FilterError", "refused"]

#: Whose error it is, as the kernel's error_log begins an entry.
COMPONENT = "event filter parse error"

#: The kernel has no message for it, and logs nothing.
TOO_LONG = "Filter too long"

# Error numbers that the kernel gives for some messages; all others are EINVAL.
_ERRNO = {
    "Too many terms in predicate expression": errno.EPERM,
    "Too few '('": errno.EPERM,
    "Too many '('": errno.ENOENT,
    "Missing matching quote": errno.ESRCH,
}


class FilterError(ValueError):
    """An event filter was refused, and nothing was changed.

    Attributes:
        errno: the error number of the kernel for this refusal.
        component: "event filter parse error", as error_log begins an entry. "": the kernel logs nothing.
        command: the filter, as the error log shows it.
        caret: where the error log puts its caret, in characters from the start of `command`. Like the
            kernel's, it is often the character after the wrong word.
        message: the kernel's message.
        hint: what would be right, or "".
    """

    def __init__(
        self,
        message: str,
        command: str,
        caret: int,
        number: int,
        hint: str = "",
        component: str = COMPONENT,
    ) -> None:
        super().__init__(message, command, caret, number, hint, component)
        self.errno = number
        self.component = component
        self.command = command
        self.caret = caret
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        """Return the message, the filter, and a caret below it."""
        shown = "".join(" " if character.isspace() else character for character in self.command)
        lines = [f"{self.message} ({os.strerror(self.errno)})", f"  {shown}", f"  {' ' * self.caret}^"]
        return "\n".join([*lines, self.hint] if self.hint else lines)


def refused(message: str, command: str, caret: int, *, number: int = 0, hint: str = "") -> FilterError:
    """Return the error for a message; `number` if it is not the one that the message always has."""
    component = "" if message == TOO_LONG else COMPONENT
    return FilterError(message, command, caret, number or _ERRNO.get(message, errno.EINVAL), hint, component)
