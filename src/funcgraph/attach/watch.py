"""Work on a process that may never answer, in a thread that can be left behind.

A read of a process's memory ends when the page is there. The process may have mapped a file of a file system
that it serves itself, and not answer. Only SIGKILL ends such a read (_system.read_memory). So the thread that
made it is left alone: it ends with the attacher, which can end at any time, or when the page comes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from funcgraph.attach.access import REQUEST_S
from funcgraph.attach.deadline import Deadline
from funcgraph.attach.errors import AttachError
from funcgraph.attach.process import Process

__all__ = ["watched"]

#: What has not ended so long after it should not have begun does not end.
_STUCK_S = REQUEST_S + 1
_LOOK_S = 0.5  # another thread may bring the deadline forward


class _Work(threading.Thread):
    def __init__(self, work: Callable[[], str]) -> None:
        super().__init__(name="funcgraph-attach", daemon=True)
        self._work = work
        self.answer = ""
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.answer = self._work()
        except BaseException as error:
            self.error = error

    def wait(self, process: Process) -> None:
        while self.is_alive() and (left := process.until + _STUCK_S - time.monotonic()) > 0:
            self.join(min(left, _LOOK_S))


def watched(process: Process, deadline: Deadline, work: Callable[[], str]) -> str:
    """Return what `work` returns, and raise what it raises. An interrupt ends it early.

    Raises:
        AttachError: it did not end.
    """
    worker = _Work(work)
    worker.start()
    try:
        worker.wait(process)
    except BaseException:
        deadline.cancel()
        worker.wait(process)
        raise
    if worker.is_alive():
        raise AttachError(
            process.pid, "a read of its memory does not end: it maps a file of a file system that hangs"
        )
    if worker.error is not None:
        raise worker.error
    return worker.answer
