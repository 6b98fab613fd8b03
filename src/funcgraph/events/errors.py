"""The exception for a definition that cannot be made."""

from __future__ import annotations

from funcgraph.events.messages import Message

__all__ = ["ProbeError", "pointed"]


def pointed(command: str, offset: int) -> str:
    """Return the two lines of error_log that show a command and the place in it, with a caret."""
    line = command.replace("\n", " ")
    return f"  Command: {line}\n{' ' * (offset + 11)}^"


class ProbeError(OSError, ValueError):
    """A dynamic event cannot be made or deleted.

    It is both what writing to the kernel's file would raise, an OSError, and what a function raises for a bad
    argument, a ValueError.

        >>> parse_definition("f app.load $arg0")
        Traceback (most recent call last):
        funcgraph.events.errors.ProbeError: trace_fprobe: Invalid argument number
          Command: f app.load $arg0
                              ^

    Attributes:
        errno: the number of the error, as in the kernel.
        component: who refuses, as error_log names it: "trace_fprobe", "trace_kprobe", "event_probe",
            "synthetic_events", "dynevent". "": the kernel logs nothing for this error.
        command: the text that was refused.
        offset: the place in it, counted in characters from 0.
        message: what is wrong, in the kernel's words.
        hint: what would be right; "": nothing to add.
    """

    def __init__(
        self,
        message: Message,
        component: str,
        command: str,
        offset: int = 0,
        *,
        errno: int | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(message.errno if errno is None else errno, message.text)
        self.message = message.text
        self.component = component
        self.command = command
        self.offset = offset
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        # OSError would call the class with its own two arguments.
        message = Message(self.errno or 0, self.message)
        return (type(self), (message, self.component, self.command, self.offset), {"hint": self.hint})

    def __str__(self) -> str:
        hint = f"\n{self.hint}" if self.hint else ""
        if not self.component:
            return f"{self.message}: {self.command}{hint}"
        return f"{self.component}: {self.message}\n{pointed(self.command, self.offset)}{hint}"
