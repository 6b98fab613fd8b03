"""What attaching can fail with."""

from __future__ import annotations

__all__ = ["AttachError"]

_LONGEST = 400


class AttachError(Exception):
    """A process could not be attached to; it runs on as before.

    Args:
        pid: the process.
        reason: one line: what is wrong, and what would be right. The process may have chosen words of it, as
            names of threads and files: what is not printable is escaped, and the rest of a long text cut.
    """

    def __init__(self, pid: int, reason: str) -> None:
        reason = _printable(reason)
        super().__init__(f"process {pid}: {reason}")
        self.pid = pid
        self.reason = reason


def _printable(text: str) -> str:
    cut = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in cut)
