"""How long an attach may go on."""

from __future__ import annotations

import time

__all__ = ["Deadline"]


class Deadline:
    """A moment on the monotonic clock. Another thread may bring it forward.

    Args:
        seconds: from now.

    Attributes:
        at: the moment.
    """

    def __init__(self, seconds: float) -> None:
        self.at = time.monotonic() + seconds

    def is_over(self) -> bool:
        """Return whether the moment has passed."""
        return time.monotonic() > self.at

    def left_s(self) -> float:
        """Return how many seconds are left; 0: none."""
        return max(0.0, self.at - time.monotonic())

    def cancel(self) -> None:
        """Make this the moment."""
        self.at = min(self.at, time.monotonic())
