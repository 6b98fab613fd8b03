"""The worker's side: a recording in this process, whose file a collector reads while it grows.

A collector calls these functions over whatever the cluster has for that: functions with plain arguments and
results, of which nothing stays in the worker but the recording.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Mapping
from contextlib import closing
from typing import Any, NamedTuple

from funcgraph.merge.stamps import stamp
from funcgraph.rights.folder import OwnFolder
from funcgraph.session.block import RecordBlock, record

__all__ = ["FOLDER_PREFIX", "PIECE_BYTES", "Piece", "read", "stamp", "start", "stop"]

#: What the names of folders of recordings begin with.
FOLDER_PREFIX = "funcgraph-"

#: What one answer brings at most.
PIECE_BYTES = 4 << 20


class Piece(NamedTuple):
    """The next bytes of a worker's trace.

    Attributes:
        file: names the recording, uniquely.
        data: at most PIECE_BYTES; fewer: that is all so far.
        is_complete: the recording has ended, and `data` reaches the trace's end.
    """

    file: str
    data: bytes
    is_complete: bool


class _Recording:
    """One recording of this process."""

    def __init__(self, settings: Mapping[str, Any], folder: str | None) -> None:
        self._folder = OwnFolder.create(folder or tempfile.gettempdir(), FOLDER_PREFIX)
        path = self._folder.path
        self.file = f"{os.uname().nodename}-{os.getpid()}-{os.path.basename(path)}.fg"
        self._block: RecordBlock | None = record(os.path.join(path, self.file), **settings)
        self._block.__enter__()
        try:
            self._fd = self._folder.open(f"{self.file}.part", os.O_RDONLY)
        except BaseException:
            self.end()
            raise

    @property
    def is_running(self) -> bool:
        return self._block is not None

    def end(self) -> None:
        """End it. The file stays readable: the trace is complete in place."""
        block, self._block = self._block, None
        if block is not None:
            block.__exit__(None, None, None)

    def read(self, offset: int) -> Piece:
        was_running = self.is_running
        data = os.pread(self._fd, PIECE_BYTES, offset)
        return Piece(self.file, data, not was_running and len(data) < PIECE_BYTES)

    def remove(self) -> None:
        """Remove what it left on the worker's disk."""
        os.close(self._fd)
        with closing(self._folder) as folder:
            folder.remove([self.file, f"{self.file}.part"])


# name -> the recordings of this process, the oldest first. Several workers may share a process.
_recordings: dict[str, list[_Recording]] = {}
_lock = threading.Lock()


def start(name: str, settings: Mapping[str, Any], folder: str | None = None) -> str:
    """Begin a recording, unless one of this name runs.

    Args:
        name: of the recording, the same in all workers.
        settings: keywords of funcgraph.record().
        folder: where its file is while it runs; None: that for temporary files.

    Returns:
        What names it uniquely: Piece.file.

    Raises:
        As funcgraph.record() and its block.
    """
    with _lock:
        ours = _recordings.setdefault(name, [])
        if not ours or not ours[-1].is_running:
            ours.append(_Recording(settings, folder))
        return ours[-1].file


def stop(name: str) -> None:
    """End the recording of this name; nothing if none runs."""
    with _lock:
        for recording in _recordings.get(name, ()):
            recording.end()


def files(name: str) -> list[str]:
    """Return what names the recordings that collectors have not taken away, the oldest first."""
    with _lock:
        return [recording.file for recording in _recordings.get(name, ())]


def read(name: str, file: str, offset: int) -> Piece:
    """Return the bytes of a trace from an offset on.

    Raises:
        LookupError: this process has no such recording.
    """
    with _lock:
        return _find(name, file).read(offset)


def forget(name: str, file: str) -> None:
    """Remove a recording that has ended, which a collector has. Raises: as read()."""
    with _lock:
        recording = _find(name, file)
        if recording.is_running:
            raise LookupError(f"the recording {file} has not ended")
        _recordings[name].remove(recording)
        recording.remove()


def _find(name: str, file: str) -> _Recording:
    for recording in _recordings.get(name, ()):
        if recording.file == file:
            return recording
    raise LookupError(f"no recording {file} in this process")
