"""Notices that the processes of a mount have ended."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from funcgraph.recorder.process import ProcessWatch

__all__ = ["when_all_ended"]


def when_all_ended(pids: Iterable[int], action: Callable[[], None]) -> None:
    """Run action() in a thread of its own as soon as all the processes have ended."""
    watches = [ProcessWatch(pid) for pid in pids]

    def watch() -> None:
        for one in watches:
            one.wait()
        action()

    threading.Thread(target=watch, name="ending", daemon=True).start()
