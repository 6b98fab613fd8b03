"""The kernel's trace_pipe: an instance's lines as they come."""

from __future__ import annotations

from collections.abc import Iterator
from time import sleep
from types import TracebackType
from typing import Any

from funcgraph import _engine
from funcgraph.instance.state import State

__all__ = ["TracePipe"]

POLL_S = 0.02  # between two looks for records


class TracePipe:
    """The lines of a trace as they come, each with its end: the kernel's `trace_pipe`.

    Instance.trace_pipe() makes it.
    """

    def __init__(self, state: State, blocking: bool) -> None:
        self._state = state
        self._blocking = blocking
        self._lines: list[str] = []  # the next one last
        self._is_open = True
        with state.lock:
            if state.engine.closed:
                raise ValueError("the instance is closed")
            state.pipes.add(id(self))

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        while not self._lines:
            if not self._is_open or self._state.engine.closed:
                raise StopIteration
            if not self._fill():
                if not self._blocking:
                    self.close()
                    raise StopIteration
                sleep(POLL_S)
        return self._lines.pop()

    def _fill(self) -> bool:
        """Read what the buffer holds now; return False if it holds nothing."""
        state = self._state
        with state.lock:
            if state.engine.closed or not state.engine.has_unread:
                return False
            text = state.read(consume=True)
        self._lines = _engine.untraced(_reading).without_header(text)
        self._lines.reverse()
        return True

    def close(self) -> None:
        """Let go of the instance; lines that were read but not returned are lost. May be called twice."""
        # The lock is not taken: the last reference to a pipe can go at any place, in any thread.
        self._state.pipes.discard(id(self))
        self._is_open = False
        self._lines = []

    def __enter__(self) -> TracePipe:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_is_open", False):
            self.close()


def _reading() -> Any:
    from funcgraph.instance import reading

    return reading
