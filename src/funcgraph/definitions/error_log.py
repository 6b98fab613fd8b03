"""The file error_log: the last errors in commands (Documentation/trace/ftrace.rst, "error_log")."""

from __future__ import annotations

from collections import deque
from time import monotonic_ns

from funcgraph.definitions.errors import CommandError, pointed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["ErrorLog"]

_ENTRIES = 8


class ErrorLog:
    """The last 8 errors, oldest first, in the kernel's form.

        log.add("trace_fprobe", "Invalid argument number", "f app.load $arg0", 11)
        print(log.text(), end="")

    prints

        [    1.369074] trace_fprobe: error: Invalid argument number
          Command: f app.load $arg0
                              ^

    Args:
        clock_ns: the clock of the time column, in nanoseconds since the machine booted.
    """

    def __init__(self, clock_ns: Callable[[], int] = monotonic_ns) -> None:
        self._clock_ns = clock_ns
        self._entries: deque[str] = deque(maxlen=_ENTRIES)

    def add(
        self, component: str, message: str, command: str, caret: int, *, is_warning: bool = False
    ) -> None:
        """Log an error now; the oldest of more than 8 goes.

        Args:
            component: who refused the command: "trace_fprobe", "hist:sched:sched_switch".
            message: what is wrong.
            command: the text that was refused.
            caret: the place in it, counted in characters from 0.
            is_warning: the command was carried out. The kernel has no such entries.
        """
        kind = "warning" if is_warning else "error"
        seconds, rest_ns = divmod(self._clock_ns(), 10**9)
        self._entries.append(
            f"[{seconds:5}.{rest_ns // 1000:06}] {component}: {kind}: {message}\n{pointed(command, caret)}\n"
        )

    def add_error(self, error: CommandError) -> None:
        """Log an exception, unless it is one of those that the kernel does not log."""
        for entry in error.entries:
            self.add(error.component, entry.message, error.command, entry.caret)

    def text(self) -> str:
        """Return what the file holds: three lines for each error."""
        return "".join(self)

    def clear(self) -> None:
        """Forget all errors, as any write to the file does."""
        self._entries.clear()

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._entries))

    def __len__(self) -> int:
        return len(self._entries)
