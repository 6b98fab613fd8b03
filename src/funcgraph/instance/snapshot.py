"""Snapshots: what an instance's buffer held at one moment, kept in a file."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any
from weakref import finalize

from funcgraph import _engine
from funcgraph.instance.state import State

__all__ = ["Snapshot"]


class Snapshot:
    """What an instance's buffer held at one moment. Instance.snapshot() makes it.

    A file in memory, or where temporary files lie, keeps it until close() or until nobody refers to it.

    Attributes:
        name: the instance's name.
        tracer: its tracer at that moment.
    """

    def __init__(self, state: State) -> None:
        reading = _engine.untraced(_reading)
        self.name = state.name
        self.tracer = state.engine.tracer
        self._options = dict(state.options)
        self._folder: str = _engine.untraced(reading.make_folder)
        self._removal = finalize(self, _engine.untraced, reading.remove_folder, self._folder)
        try:
            state.write_trace(f"{self._folder}/trace.dat")
        except BaseException:
            self.close()
            raise

    def trace(self) -> str:
        """Return its text, as Instance.trace() did at that moment.

        Raises:
            OSError: ENOENT: it is closed.
        """
        reading = _engine.untraced(_reading)
        text: str = _engine.untraced(reading.text_of, f"{self._folder}/trace.dat", self.tracer, self._options)
        return text

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a trace.dat file.

        Raises:
            OSError: the file cannot be written. ENOENT: the snapshot is closed.
        """
        reading = _engine.untraced(_reading)
        _engine.untraced(reading.copy_file, f"{self._folder}/trace.dat", os.fspath(path))

    def close(self) -> None:
        """Remove it. May be called twice."""
        self._removal()

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _reading() -> Any:
    from funcgraph.instance import reading

    return reading
