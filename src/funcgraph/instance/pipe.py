"""The kernel's trace_pipe: an instance's lines as they come."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType

from funcgraph.instance.state import State

__all__ = ["Pipe", "TracePipe"]

_LOOK_S = 0.2  # between two looks whether another thread has closed the pipe


class Pipe:
    """What takes records out of an instance: open until close(), or until nobody refers to it.

    Args:
        state: the instance's.
        lane: the lane whose records it takes; None: all.

    Raises:
        ValueError: the instance is closed.
    """

    def __init__(self, state: State, lane: int | None = None) -> None:
        self._state = state
        self._is_open = True
        with state.lock:
            if state.engine.closed:
                raise ValueError("the instance is closed")
            state.pipes[id(self)] = lane

    @property
    def is_open(self) -> bool:
        """Whether it may have something later, if it has nothing now."""
        return self._is_open and not self._state.engine.closed

    @property
    def ready(self) -> bool:
        """Whether read() would find records now."""
        return self.is_open and (self._state.engine.has_unread or bool(self._state.pieces))

    @property
    def handle(self) -> int:
        """The engine's number for the instance; 0: it is closed."""
        return self._state.engine.handle

    @property
    def wakes(self) -> int:
        """How often the instance has woken its readers: to be taken before a look that wait() follows."""
        try:
            return self._state.engine.wakes
        except ValueError:
            return 0  # closed, which `is_open` says too

    def wait(self, wakes: int, timeout_s: float) -> bool:
        """Wait, without the interpreter lock, until a reader should look again.

        Args:
            wakes: as it was before the last look.
            timeout_s: for how many seconds at most.

        Returns:
            False: there is nothing new.
        """
        try:
            return self._state.engine.wait(wakes, timeout_s)
        except ValueError:
            return True  # closed

    def read(self) -> bytes:
        """Return all that there is now, which no later read has; b"": nothing.

        Raises:
            OSError: there is no room for the files in memory that reading needs.
        """
        with self._state.lock:
            return self._take() if self.ready else b""

    def _take(self) -> bytes:
        return self._state.take_lines()

    def close(self) -> None:
        """Let go of the instance; what was read but not returned is lost. May be called twice."""
        # The lock is not taken: the last reference to a pipe can go at any place, in any thread.
        self._state.pipes.pop(id(self), None)
        self._is_open = False

    def __del__(self) -> None:
        if getattr(self, "_is_open", False):
            self.close()


class TracePipe(Pipe):
    """The lines of a trace as they come, each with its end: the kernel's `trace_pipe`.

    Instance.trace_pipe() makes it.
    """

    def __init__(self, state: State, blocking: bool) -> None:
        self._blocking = blocking
        self._lines: list[str] = []  # the next one last
        super().__init__(state)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        while not self._lines:
            if not self.is_open:
                raise StopIteration
            wakes = self.wakes
            text = super().read().decode("utf-8", "replace")
            self._lines = [f"{line}\n" for line in reversed(text.split("\n")[:-1])]
            if not text:
                if not self._blocking:
                    self.close()
                    raise StopIteration
                self.wait(wakes, _LOOK_S)
        return self._lines.pop()

    def read(self) -> bytes:
        """Return all lines that there are now, in UTF-8; b"": there are none. It does not wait.

        One call takes many lines at once, where iterating takes them one by one.

        Raises:
            OSError: there is no room for the files in memory that reading needs.
        """
        lines = "".join(reversed(self._lines)).encode("utf-8")
        self._lines = []
        return lines + super().read()

    def close(self) -> None:
        """Let go of the instance; lines that were read but not returned are lost. May be called twice."""
        super().close()
        self._lines = []

    def __enter__(self) -> TracePipe:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
