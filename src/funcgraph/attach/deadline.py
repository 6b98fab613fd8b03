"""How long an attach may go on."""

from __future__ import annotations

import time

__all__ = ["Deadline"]


class Deadline:
    """A moment on the monotonic clock. Another thread may bring it forward.

    Args:
        seconds: from now.
        within: of all attaches of a command: this one is over when that one is.
    """

    def __init__(self, seconds: float, within: Deadline | None = None) -> None:
        self._at = time.monotonic() + seconds
        self._within = within

    @property
    def at(self) -> float:
        """The moment."""
        return self._at if self._within is None else min(self._at, self._within.at)

    def is_over(self) -> bool:
        """Return whether the moment has passed."""
        return time.monotonic() > self.at

    def left_s(self) -> float:
        """Return how many seconds are left; 0: none."""
        return max(0.0, self.at - time.monotonic())

    def cancel(self) -> None:
        """Make this the moment."""
        self._at = min(self._at, time.monotonic())
