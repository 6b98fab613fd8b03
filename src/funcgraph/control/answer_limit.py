"""How much, and for how long, is taken of an answer that comes in parts: whoever sends them may never end."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable

__all__ = ["MOST_BYTES", "AnswerLimit"]

#: The most that one file or one trace of a process may have.
MOST_BYTES = 1 << 30
_MIB = 1 << 20


class AnswerLimit:
    """Waiting for the parts of one answer. Each MiB that comes gives as much time as there was for the first.

    Args:
        what: the answer, for messages.
        timeout_s: how long to wait for the first MiB; None: for ever.
        most_bytes: the most that all parts have.
        clock: the time in seconds.
    """

    def __init__(
        self,
        what: str,
        timeout_s: float | None = 10.0,
        *,
        most_bytes: int = MOST_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._what = what
        self._timeout_s = timeout_s
        self._most_bytes = most_bytes
        self._clock = clock
        self._began_s = clock()
        self._bytes = 0

    def take(self, count: int) -> None:
        """Count a part of so many bytes.

        Raises:
            OSError: EFBIG: that is more than the answer may have.
            TimeoutError: the parts come too slowly to end one day.
        """
        self._bytes += count
        if self._bytes > self._most_bytes:
            raise OSError(
                errno.EFBIG, f"{self._what} does not end: it has more than {self._most_bytes} bytes"
            )
        if self._timeout_s is None:
            return
        waited_s = self._clock() - self._began_s
        if waited_s > self._timeout_s * (1 + self._bytes / _MIB):
            text = f"{self._what} does not end: {self._bytes} bytes came in {waited_s:.0f} s"
            raise TimeoutError(errno.ETIMEDOUT, text)
