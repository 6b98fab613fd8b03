"""The lock of the dynamic loader, read from outside: who holds it.

Python holds the GIL while it imports an extension module. If a thread of the program is in dlopen()
meanwhile, that import waits for the thread, and all of Python waits for the import. What attaches imports
some modules. So it begins when no thread holds the lock.
"""

from __future__ import annotations

import struct
import time

from funcgraph.attach.deadline import Deadline
from funcgraph.attach.errors import AttachError
from funcgraph.attach.target import Target

__all__ = ["LoaderLock"]

#: glibc's loader has its locks in `struct rtld_global`, whose layout differs from version to version. In each
#: the number of namespaces (16 at most) comes before two or more recursive mutexes, of which the first is
#: _dl_load_lock (sysdeps/generic/ldsodefs.h). A mutex has its lock (0 to 2), count, owner, users and kind
#: in this order (sysdeps/nptl/bits/struct_mutex.h, with 64-bit words).
_GLOBAL = "_rtld_global"
_MAX_NAMESPACES = 16
_MUTEX = struct.Struct("<I12xi20x")
_OWNER = 8
_MAX_LOCK = 2
_RECURSIVE = 1
_MAX_BYTES = 1 << 16
_PAUSE_S = 0.002
_READ_S = 1.0


class LoaderLock:
    """The loader's lock in a process; with another C library than glibc it is not known, and never held.

    Args:
        target: the process.
    """

    def __init__(self, target: Target) -> None:
        self._process = target.process
        self._address = _find(target)

    def holder(self) -> int:
        """Return the thread that holds the lock, by its number in the process's namespace; 0: none."""
        if not self._address:
            return 0
        return int.from_bytes(self._process.read(self._address + _OWNER, 4), "little")

    def wait(self, deadline: Deadline) -> None:
        """Wait until no thread holds the lock.

        Raises:
            AttachError: one does at the deadline; or the process has ended.
        """
        self._process.extend(deadline.left_s() + _READ_S)  # for the look after which it is over
        while holder := self.holder():
            if deadline.is_over():
                raise AttachError(self._process.pid, f"nothing was run in it: {self.place(holder)}")
            time.sleep(_PAUSE_S)

    def place(self, holder: int) -> str:
        """Return where the thread `holder` is, for messages."""
        thread = self._process.outer_thread(holder)
        return f"thread {thread} ({self._process.thread_name(thread)}) is in the dynamic loader"


def _find(target: Target) -> int:
    """Return the address of the lock; 0: it was not found."""
    for image in target.images:
        symbol = image.symbol(_GLOBAL)
        if symbol is not None:
            data = target.process.read(symbol[0], min(symbol[1], _MAX_BYTES))
            return next((symbol[0] + at for at in range(8, len(data), 8) if _is_first(data, at)), 0)
    return 0


def _is_first(data: bytes, at: int) -> bool:
    """Return whether the first of the loader's mutexes is there."""
    namespaces = int.from_bytes(data[at - 8 : at], "little")
    mutexes = (at, at + _MUTEX.size)
    return 1 <= namespaces <= _MAX_NAMESPACES and all(_is_mutex(data, place) for place in mutexes)


def _is_mutex(data: bytes, at: int) -> bool:
    if at + _MUTEX.size > len(data):
        return False
    lock: int
    kind: int
    lock, kind = _MUTEX.unpack_from(data, at)
    return lock <= _MAX_LOCK and kind == _RECURSIVE
