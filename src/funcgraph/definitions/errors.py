"""What the exceptions for refused commands have in common; the one for definitions.

The commands are definitions of events, filters and triggers. A refused one changes nothing.
"""

from __future__ import annotations

import os
from errno import EINVAL
from typing import NamedTuple

from funcgraph.definitions.messages import Message

__all__ = ["CommandError", "Entry", "ProbeError", "pointed"]


def pointed(command: str, caret: int) -> str:
    """Return the two lines of error_log that show a command and the place in it, with a caret."""
    line = command.replace("\n", " ")
    return f"  Command: {line}\n{' ' * (caret + 11)}^"


class Entry(NamedTuple):
    """One entry of error_log.

    Attributes:
        message: what is wrong, in the kernel's words.
        caret: the place in the command, counted in characters from 0.
    """

    message: str
    caret: int


class CommandError(ValueError):
    """A command was refused, and nothing was changed.

    Attributes:
        errno: the number of the error, as in the kernel.
        component: who refuses, as error_log names it: "trace_fprobe", "hist:SYSTEM:EVENT". "": the kernel
            logs nothing for this error.
        command: the text that was refused, as error_log shows it.
        caret: the place in it, counted in characters from 0.
        message: what is wrong, in the kernel's words; in ours if the kernel says nothing.
        hint: what would be right; "": nothing to add.
        more: further entries that the same error makes in error_log, after this one.
    """

    errno: int | None
    component: str
    command: str
    caret: int
    message: str
    hint: str
    more: tuple[Entry, ...]

    def __init__(
        self,
        message: str,
        component: str,
        command: str,
        caret: int = 0,
        *,
        number: int = EINVAL,
        hint: str = "",
        more: tuple[Entry, ...] = (),
    ) -> None:
        super().__init__(message, component, command, caret)
        self.errno = number
        self._describe(message, component, command, caret, hint, more)

    def _describe(
        self, message: str, component: str, command: str, caret: int, hint: str, more: tuple[Entry, ...]
    ) -> None:
        self.message = message
        self.component = component
        self.command = command
        self.caret = caret
        self.hint = hint
        self.more = more

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), self.args, {"errno": self.errno, "hint": self.hint, "more": self.more})

    def __str__(self) -> str:
        """Return the message, the command, a caret below it, and the hint."""
        shown = "".join(" " if character.isspace() else character for character in self.command)
        reason = os.strerror(self.errno or 0)
        lines = [f"{self.message} ({reason})", f"  {shown}", f"  {' ' * self.caret}^"]
        return "\n".join([*lines, self.hint] if self.hint else lines)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What error_log gets, in order; nothing where the kernel logs nothing."""
        return (Entry(self.message, self.caret), *self.more) if self.component else ()


class ProbeError(OSError, CommandError):
    """A dynamic event cannot be made or deleted.

    It is both what writing to the kernel's file would raise, an OSError, and what a function raises for a bad
    argument, a ValueError.

        >>> parse_definition("f app.load $arg0")
        Traceback (most recent call last):
        funcgraph.definitions.errors.ProbeError: trace_fprobe: Invalid argument number
          Command: f app.load $arg0
                              ^

    Its component is "trace_fprobe", "trace_kprobe", "event_probe", "synthetic_events", "dynevent" or "".
    """

    def __init__(
        self,
        message: Message,
        component: str,
        command: str,
        caret: int = 0,
        *,
        errno: int | None = None,
        hint: str = "",
    ) -> None:
        OSError.__init__(self, message.errno if errno is None else errno, message.text)
        self._describe(message.text, component, command, caret, hint, ())

    def __reduce__(self) -> tuple[object, ...]:
        # OSError would call the class with its own two arguments.
        message = Message(self.errno or 0, self.message)
        return (type(self), (message, self.component, self.command, self.caret), {"hint": self.hint})

    def __str__(self) -> str:
        hint = f"\n{self.hint}" if self.hint else ""
        if not self.component:
            return f"{self.message}: {self.command}{hint}"
        return f"{self.component}: {self.message}\n{pointed(self.command, self.caret)}{hint}"
