"""Notices that the processes of a mount have ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from funcgraph.mount.process import ProcessTree

__all__ = ["when_all_ended"]

_PAUSE_S = 0.2


def when_all_ended(trees: Sequence[ProcessTree], action: Callable[[], None]) -> None:
    """Run action() in a thread of its own as soon as all the processes have ended."""

    def watch() -> None:
        while not all(tree.has_ended() for tree in trees):
            time.sleep(_PAUSE_S)
        action()

    threading.Thread(target=watch, name="ending", daemon=True).start()
