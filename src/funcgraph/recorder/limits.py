"""What bounds a recording: the size of its files, its length, the memory that it keeps."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from funcgraph.recorder.progress import bytes_text
from funcgraph.session.memory_file import open_memory_file

__all__ = ["LimitWatch", "Limits", "Segments"]

SEGMENTS = 8


class Limits(NamedTuple):
    """The bounds of a recording, 0: none. Sizes are in bytes, the time is in seconds."""

    max_size: int = 0
    max_time: int = 0
    rotate: int = 0
    ring: int = 0
    keep: int = 1

    @classmethod
    def of(cls, settings: dict[str, Any]) -> Limits:
        """Return those of a recording's settings."""
        limits = {name: settings[name] for name in cls._fields}
        if not settings["rotate"] and not settings["ring"]:
            limits["keep"] = 1  # the one file replaces an older one
        return cls(**limits)


class LimitWatch:
    """Says when a recording has reached one of its bounds.

    Args:
        limits: its bounds.
        clock: the time, in seconds.
    """

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._end = clock() + limits.max_time

    def reached(self, written: int) -> str | None:
        """Return which bound is reached by a recording that has written so many bytes; None: none is."""
        if self._limits.max_size and written >= self._limits.max_size:
            return f"{bytes_text(self._limits.max_size)} are recorded (--max-size)"
        if self._limits.max_time and self._clock() >= self._end:
            return f"{self._limits.max_time} s have passed (--max-time)"
        return None


class Segments:
    """The spools of `record --ring`: files in memory, of which the oldest is dropped for a new one.

    Args:
        size: what all of them may have, in bytes.

    Raises:
        OSError: there is no memory for a file.
    """

    def __init__(self, size: int) -> None:
        self.segment_bytes = size // SEGMENTS
        self._fds = deque([open_memory_file()])

    @property
    def newest(self) -> int:
        """The descriptor of the spool that is being written."""
        return self._fds[-1]

    @property
    def older(self) -> tuple[int, ...]:
        """The descriptors of the complete spools, the oldest first."""
        return tuple(self._fds)[:-1]

    def begin(self, rotate: Callable[[int], None]) -> None:
        """Have `rotate` begin another spool, then drop the oldest one if there are too many.

        Raises:
            OSError: as open_memory_file() and `rotate`; nothing has changed.
        """
        fd = open_memory_file()
        try:
            rotate(fd)
        except BaseException:
            os.close(fd)
            raise
        self._fds.append(fd)
        if len(self._fds) > SEGMENTS:
            os.close(self._fds.popleft())

    def close(self) -> None:
        """Drop all spools."""
        while self._fds:
            os.close(self._fds.pop())
