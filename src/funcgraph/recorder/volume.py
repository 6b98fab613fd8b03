"""Notices that a recording writes so much that its user should know which functions make it."""

from __future__ import annotations

import time
from collections.abc import Callable

from funcgraph.recorder.recording import Recording

__all__ = ["VolumeWatch"]

LIMIT_BYTES = 1_000_000_000
WINDOW_S = 60.0
INTERVAL_S = 0.5  # between two looks
NAMED = 5


class VolumeWatch:
    """Notices, once, that a recording has written more than LIMIT_BYTES within WINDOW_S.

    Args:
        recording: what is watched.
        clock: the time, in seconds.

    Attributes:
        warnings: the line for the user, once there is one.
    """

    def __init__(self, recording: Recording, clock: Callable[[], float] = time.monotonic) -> None:
        self._recording = recording
        self._clock = clock
        self._window_begin = self._next = clock()
        self._bytes_before = 0  # in the spool when the window began
        self.warnings: list[str] = []

    def due(self) -> bool:
        """Return whether it is time for another look."""
        return not self.warnings and self._clock() >= self._next

    def warning(self) -> str | None:
        """Look, and return the line for the user if the limit is exceeded for the first time."""
        if self.warnings:
            return None
        now, size = self._clock(), self._recording.written()
        self._next = now + INTERVAL_S
        if size - self._bytes_before > LIMIT_BYTES:
            return self._warn()
        if now - self._window_begin >= WINDOW_S:
            self._window_begin, self._bytes_before = now, size
        return None

    def _warn(self) -> str | None:
        try:
            heaviest = self._recording.heaviest(NAMED)
            if not heaviest:
                return None  # the spool has symbols, but no events yet: a later look can name functions
        except (OSError, MemoryError):
            heaviest = []
        shares = ", ".join(f"{name} {share:.0%}" for name, share in heaviest)
        self.warnings.append(
            f"this records more than {LIMIT_BYTES / 1e9:g} GB a minute"
            + (f", most of it: {shares}" if shares else "")
            + "; -n leaves functions out, -l and --thresh record less, funcgraph.FunctionProfile only counts"
        )
        return self.warnings[0]
