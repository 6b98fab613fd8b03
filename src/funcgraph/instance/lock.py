"""The lock of an instance: one change or read at a time."""

from __future__ import annotations

from _thread import RLock
from errno import EBUSY
from types import TracebackType

__all__ = ["InstanceLock"]

LOCK_TIMEOUT_S = 10.0


class InstanceLock:
    """A recursive lock for a `with` block, which gives up after LOCK_TIMEOUT_S.

    A callback of the program changes the instance while another thread changes it too: that change waits
    for callbacks that run, and the callback would wait for the lock. So nobody waits forever.

    Raises:
        OSError: entering the block: EBUSY, another thread holds the lock.
    """

    __slots__ = ("_rlock",)

    def __init__(self) -> None:
        self._rlock = RLock()

    def __enter__(self) -> None:
        if not self._rlock.acquire(timeout=LOCK_TIMEOUT_S):
            raise OSError(EBUSY, "the instance is busy: another thread changes or reads it")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._rlock.release()
