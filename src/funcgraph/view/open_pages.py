"""How many pages are open, and when the last one was closed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["OpenPages"]


class OpenPages:
    """Counts open pages: each holds a stream of events open.

    Args:
        none_left: called once the last page was closed and none was opened for a while; None: nothing is.
        grace_s: how long: a page that is loaded again closes first.
    """

    def __init__(self, none_left: Callable[[], None] | None = None, grace_s: float = 2.0) -> None:
        self._none_left = none_left
        self._grace_s = grace_s
        self._open = 0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def are_open(self) -> bool:
        """Whether there is one."""
        return self._open > 0

    @contextmanager
    def opened(self) -> Iterator[None]:
        """A page is open, as long as the block runs."""
        self._open += 1
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        try:
            yield
        finally:
            self._open -= 1
            if not self._open and self._none_left is not None:
                self._timer = asyncio.get_running_loop().call_later(self._grace_s, self._none_left)
