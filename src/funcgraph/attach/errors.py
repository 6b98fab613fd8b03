"""What attaching can fail with."""

from __future__ import annotations

__all__ = ["AttachError"]


class AttachError(Exception):
    """A process could not be attached to; it runs on as before.

    Args:
        pid: the process.
        reason: one line: what is wrong, and what would be right.
    """

    def __init__(self, pid: int, reason: str) -> None:
        super().__init__(f"process {pid}: {reason}")
        self.pid = pid
        self.reason = reason
