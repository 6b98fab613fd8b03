"""Refusals of event filters: the kernel's messages, error numbers and caret positions."""

from __future__ import annotations

import errno

from funcgraph.definitions.errors import CommandError

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


class FilterError(CommandError):
    """An event filter was refused, and nothing was changed.

    Its component is "event filter parse error" or "". Like the kernel's, its caret is often at the character
    after the wrong word.
    """


def refused(message: str, command: str, caret: int, *, number: int = 0, hint: str = "") -> FilterError:
    """Return the error for a message; `number` if it is not the one that the message always has."""
    component = "" if message == TOO_LONG else COMPONENT
    number = number or _ERRNO.get(message, errno.EINVAL)
    return FilterError(message, component, command, caret, number=number, hint=hint)
