"""The thread that holds the GIL, seen from outside: whether it would give the GIL up, and where it is."""

from __future__ import annotations

from collections.abc import Sequence

from funcgraph import _inject
from funcgraph.attach.errors import AttachError
from funcgraph.attach.runtime import Gil, gil_of, thread_of
from funcgraph.attach.target import Target

__all__ = ["GilWatch"]


class GilWatch:
    """The GIL of a process, looked at again and again.

    A thread that asks for the GIL gets it as soon as the holder is between two bytecodes: soon if the holder
    executes bytecode, or has given it up just now. It would wait for ever if the holder never comes back from
    C code. As long as no thread asks, a thread that computes keeps the GIL: that the holder does not change
    says nothing.

    Args:
        target: the process.
        loop: start and end of each part of the interpreter's loop.
    """

    def __init__(self, target: Target, loop: Sequence[tuple[int, int]]) -> None:
        self._target = target
        self._loop = loop
        self._last: Gil | None = None

    def gives_way(self) -> bool:
        """Return whether a new thread would get the GIL. The holder may be stopped for a moment."""
        gil, last = gil_of(self._target), self._last
        self._last = gil
        if not gil.is_held or (last is not None and last.switches != gil.switches):
            return True
        return self._is_in_loop(self._pc(self._thread(gil)))

    def holder(self) -> str:
        """Return which thread holds the GIL, and where that is; "": none does."""
        gil = gil_of(self._target)
        thread = self._thread(gil) if gil.is_held else 0
        if not thread:
            return ""
        where = self._place(self._pc(thread))
        return f"thread {thread} ({self._target.process.thread_name(thread)}) holds the GIL{where}"

    def _thread(self, gil: Gil) -> int:
        try:
            return self._target.process.outer_thread(thread_of(self._target, gil.holder))
        except AttachError:  # it has ended meanwhile
            return 0

    def _pc(self, thread: int) -> int:
        """Return where a thread is; 0: that is not known."""
        try:
            return _inject.pc(self._target.process.handle, thread) if thread else 0
        except OSError:
            return 0

    def _is_in_loop(self, pc: int) -> bool:
        return any(low <= pc < high for low, high in self._loop)

    def _place(self, pc: int) -> str:
        if self._is_in_loop(pc):
            return ", in Python code"
        for image in self._target.images:
            if any(segment.low <= pc < segment.high for segment in image.segments):
                function = image.symbol_at(pc)
                return f", in C code ({function + ' of ' if function else ''}{image.name})"
        return ", in C code" if pc else ""
