"""How much, and for how long, is taken of answers: whoever sends them may never end."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable

__all__ = ["MOST_BYTES", "TIMEOUT_S", "AnswerLimit", "CommandLimit", "Round", "Share"]

#: How long an answer is waited for.
TIMEOUT_S = 10.0

#: The most that one file or one trace of a process may have.
MOST_BYTES = 1 << 30
_MIB = 1 << 20
#: What each answer counts at least: a verb asks up to a hundred times, each time for the interpreter lock.
_LEAST_BYTES = 10 << 10


class AnswerLimit:
    """Waiting for the parts of one answer. Each MiB that comes gives as much time as there was for the first.

    Args:
        what: the answer, for messages.
        timeout_s: how long to wait for the first MiB; None: for ever.
        most_bytes: the most that all parts have.
        share: of the process whose answer it is, if others are asked at the same time.
        clock: the time in seconds.
    """

    def __init__(
        self,
        what: str,
        timeout_s: float | None = TIMEOUT_S,
        *,
        most_bytes: int = MOST_BYTES,
        share: Share | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._what = what
        self._share = share
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
        is_too_much = self._share is not None and not self._share.hold(count)
        if self._bytes > self._most_bytes or is_too_much:
            most = self._bytes - 1 if is_too_much else self._most_bytes
            raise OSError(errno.EFBIG, f"{self._what} does not end: it has more than {most} bytes")
        if self._timeout_s is None:
            return
        waited_s = self._clock() - self._began_s
        if waited_s > self._timeout_s * (1 + self._bytes / _MIB):
            text = f"{self._what} does not end: {self._bytes} bytes came in {waited_s:.0f} s"
            raise TimeoutError(errno.ETIMEDOUT, text)


class CommandLimit:
    """The time and the memory that all processes of one command have together for their answers.

    The command asks them in rounds: all at the same time, so that a round ends within the limit of one
    answer. What a round waited for processes that did not answer is taken from the later rounds, down to half
    of the limit: processes that take turns in being silent do not add up.

    Args:
        timeout_s: how long to wait for the first answers of a round.
        most_bytes: the most that the answers of a round have which are kept in memory.
        clock: the time in seconds.
    """

    def __init__(
        self,
        timeout_s: float = TIMEOUT_S,
        *,
        most_bytes: int = MOST_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._timeout_s = timeout_s
        self._lost_s = 0.0
        self._most_bytes = most_bytes
        self._clock = clock

    def round(self, count: int) -> Round:
        """Begin a round of so many processes."""
        timeout_s = max(self._timeout_s - self._lost_s, self._timeout_s / 2)
        return Round(timeout_s, self._most_bytes, count, self._clock)

    def lose(self, seconds: float) -> None:
        """Take what was waited in vain from the later rounds."""
        self._lost_s += seconds


class Round:
    """One round of requests to many processes. Made by CommandLimit.round()."""

    def __init__(self, timeout_s: float, most_bytes: int, count: int, clock: Callable[[], float]) -> None:
        self.timeout_s = timeout_s
        self._most_bytes = most_bytes
        self._fair_bytes = most_bytes // max(count, 1)
        self._clock = clock
        self._began_s = clock()
        self._held_bytes = 0
        self._lock = threading.Lock()

    def share(self) -> Share:
        """Return what one process has of the round."""
        return Share(self)

    def waited_s(self) -> float:
        """Return how long the round goes on already."""
        return self._clock() - self._began_s

    def hold(self, count: int, its_bytes: int) -> bool:
        """Count bytes that are kept; return False if all have too many, and this process more than its part.

        Args:
            count: further bytes; negative: they are kept no longer.
            its_bytes: what is kept of this process, with them.
        """
        with self._lock:
            self._held_bytes += count
            return self._held_bytes <= self._most_bytes or its_bytes <= self._fair_bytes


class Share:
    """What one process has of a round. Each answer gives more time, as each MiB does: it will come to an end.

    Args:
        round: the round.

    Attributes:
        answers: how many have come.
        timeout_s: how long to wait for the first one.
        waited_s: returns how long the round goes on already.
    """

    def __init__(self, round: Round) -> None:
        self._round = round
        self.answers = 0
        self.timeout_s = round.timeout_s
        self.waited_s = round.waited_s
        self._bytes = 0
        self._held_bytes = 0

    def left_s(self) -> float:
        """Return for how many seconds more the process is waited for; 0 or less: no longer."""
        return self.timeout_s * (1 + self._bytes / _MIB) - self.waited_s()

    def answered(self, count: int) -> None:
        """Count an answer of so many bytes."""
        self.answers += 1
        self._bytes += max(count, _LEAST_BYTES)

    def hold(self, count: int) -> bool:
        """Count bytes that are kept; return whether there is room for them."""
        self._held_bytes += count
        return self._round.hold(count, self._held_bytes)

    def release(self) -> None:
        """Nothing of the process is kept any longer."""
        self._round.hold(-self._held_bytes, 0)
        self._held_bytes = 0
