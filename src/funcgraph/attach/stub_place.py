"""Where a stub is put, and taking it away again: never while a thread is in it, or may still be led there."""

from __future__ import annotations

import errno
import struct
import time
from collections.abc import Iterable
from typing import NamedTuple

from funcgraph import _inject
from funcgraph.attach.cave import Cave, find_cave
from funcgraph.attach.deadline import Deadline
from funcgraph.attach.errors import AttachError
from funcgraph.attach.exchange import Exchange, folder_in
from funcgraph.attach.process import RESTORE_S
from funcgraph.attach.target import Target

__all__ = ["StubPlace", "free_place"]

_PAUSE_S = 0.001
_OTHER_ATTACHER_S = 0.02


class StubPlace(NamedTuple):
    """A cave of a process."""

    target: Target
    cave: Cave

    def is_in_use(self, threads: Iterable[int] | None = None) -> bool:
        """Return whether one of these threads is in the stub; None: of all."""
        cave = self.cave
        for tid in self.target.process.threads() if threads is None else threads:
            try:
                # The stub's own address may be on a stack, as an argument: its code begins after that.
                if _inject.is_inside(self.target.process.handle, tid, cave.low + 1, cave.high, cave.spawn):
                    return True
            except OSError as error:
                if error.errno != errno.ESRCH:
                    return True
        return False

    def unqueue(self) -> None:
        """Replace the pending call by one that does nothing, if the interpreter still has it.

        The thread that was sent to queue it must have left the stub. A pending call is two words, function
        and argument, in the interpreter's state. Where it is not, or no longer, the main thread may have
        taken it just now: it must have called it before the stub goes.
        """
        pair = struct.pack("<QQ", self.cave.spawn, self.cave.low)
        nothing = struct.pack("<QQ", self.target.image.address("PyCallable_Check"), 0)
        address, size = self.target.runtime
        at = self.target.process.read(address, size).find(pair)
        if at >= 0:
            self.replace(address + at, pair, nothing)
        self.target.process.let_main_thread_pass()

    def clear(self, content: bytes) -> bool:
        """Put the filler back; return whether `content` was still there."""
        return self.replace(self.cave.low, content, bytes([self.cave.filler]) * len(content))

    def replace(self, address: int, old: bytes, new: bytes) -> bool:
        """Replace memory while the main thread is stopped. Another attacher, or a signal, may delay that."""
        until = time.monotonic() + RESTORE_S
        while True:
            try:
                return _inject.replace(self.target.process.handle, address, old, new)
            except OSError as error:
                if error.errno == errno.ESRCH or time.monotonic() > until:
                    return False
            time.sleep(_PAUSE_S)


def free_place(target: Target, size: int, exchange: Exchange, deadline: Deadline) -> StubPlace:
    """Return a place for a stub of `size` bytes when no other attacher uses it.

    What one that was killed has left there is taken away first.

    Raises:
        AttachError: there is none, or another attacher uses it until the deadline.
    """
    while True:
        place = StubPlace(target, find_cave(target, size))
        if not place.cave.left:
            return place
        folder = folder_in(place.cave.left)
        if not exchange.is_owned(folder) and not place.is_in_use():  # one that is in it may queue the call
            place.unqueue()
            if not place.is_in_use() and place.clear(place.cave.left):
                exchange.remove_left(folder)
                continue
        if deadline.is_over():
            raise AttachError(target.pid, "another attach to it has not ended")
        time.sleep(_OTHER_ATTACHER_S)
