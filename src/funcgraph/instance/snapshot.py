"""Snapshots: what an instance's buffer held at one moment, kept as a trace in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from errno import ENOENT
from types import TracebackType

from funcgraph import _engine
from funcgraph.instance.state import State

__all__ = ["Snapshot"]


class Snapshot:
    """What an instance's buffer held at one moment. Instance.snapshot() makes it.

    It lies in the process's memory until close() or until nobody refers to it.

    Attributes:
        name: the instance's name.
        tracer: its tracer at that moment.
    """

    def __init__(self, state: State) -> None:
        self.name = state.name
        self.tracer = state.engine.tracer
        self._options = dict(state.options)
        self._trace: bytes | None = state.trace_bytes()

    def trace(self) -> str:
        """Return its text, as Instance.trace() did at that moment.

        Raises:
            OSError: ENOENT: it is closed.
        """
        text = _engine.untraced(_text, self._open_trace(), self.tracer, self._options)
        return text.decode("utf-8", "replace")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a trace; NAME.dat: as a trace.dat.

        Raises:
            OSError: the file cannot be written. ENOENT: the snapshot is closed.
        """
        _engine.untraced(_save, self._open_trace(), os.fspath(path))

    def close(self) -> None:
        """Let go of it. May be called twice."""
        self._trace = None

    def _open_trace(self) -> bytes:
        if self._trace is None:
            raise FileNotFoundError(ENOENT, "the snapshot is closed", self.name)
        return self._trace

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


# What reading needs is imported when somebody reads.


def _text(trace: bytes, tracer: str, options: Mapping[str, bool]) -> bytes:
    from funcgraph.buffer import reading

    return reading.text_of_bytes(trace, tracer, options)


def _save(trace: bytes, path: str) -> None:
    from funcgraph.buffer import reading

    reading.save_bytes(trace, path)
