"""Open files of a tracefs: texts, which are read at offsets and written as commands, and pipes."""

from __future__ import annotations

import os
from _thread import RLock
from errno import EAGAIN, EBADF, EINVAL

from funcgraph import _engine
from funcgraph.instance.control_files.tree_files import TreeFiles
from funcgraph.instance.pipe import Pipe
from funcgraph.tracefs.writes import Write, write_of

__all__ = ["PipeFile", "PipeWait", "TextFile"]


class _OpenFile:
    """What all open files have: how they were opened, and the instance that they hold.

    Args:
        files: the instance's.
        name: the file's name there.
        flags: of os.open().
    """

    def __init__(self, files: TreeFiles, name: str, flags: int) -> None:
        self._files = files
        self._name = name
        mode = flags & os.O_ACCMODE
        self._reads = mode in (os.O_RDONLY, os.O_RDWR)
        self._writes = mode in (os.O_WRONLY, os.O_RDWR)
        self._lock = RLock()
        self._is_open = True
        files.hold(self)

    def _check(self, is_allowed: bool) -> None:
        if not self._is_open or not is_allowed:
            raise OSError(EBADF, f"{self._name!r} is not open for that", self._name)

    def close(self) -> None:
        """Let go of the instance. May be called twice."""
        self._is_open = False
        self._files.release(self)

    def __del__(self) -> None:
        if getattr(self, "_is_open", False):
            self.close()


class TextFile(_OpenFile):
    """A file whose text is made when it is read from the start, as those of the kernel's seq_file.

    Raises:
        OSError: EBUSY: O_TRUNC of a list of events, of which one is in use.
    """

    def __init__(self, files: TreeFiles, name: str, flags: int) -> None:
        self._text: bytes | None = None
        super().__init__(files, name, flags)
        try:
            self._write: Write = write_of(files, name, flags if self._writes else 0)
        except BaseException:
            super().close()
            raise

    @property
    def ready(self) -> bool:
        """Whether there is something to read: always."""
        return True

    def wait(self) -> None:
        """Begin to wait: it is ready."""

    def read(self, offset: int, size: int) -> bytes:
        """Return at most `size` bytes from `offset`; b"": the end."""
        with self._lock:
            self._check(self._reads)
            if offset == 0 or self._text is None:
                text = _engine.untraced(self._files.read, self._name)
                self._text = text.encode("utf-8", "backslashreplace")
            return self._text[offset : offset + size]

    def write(self, offset: int, data: bytes) -> int:
        """Carry out one write(), wherever it is in the file; return how many bytes were taken."""
        with self._lock:
            self._check(self._writes)
            return self._write.write(data)

    def close(self) -> None:
        """Carry out what waited for the end, as far as it can be, and let go of the instance."""
        with self._lock:
            if not self._is_open:
                return
            self._is_open = False
            try:
                self._write.end()
            except OSError:
                pass  # close() has nobody to tell, as in the kernel
            finally:
                super().close()


class PipeWait:
    """A reader of this process that waits for a pipe: a Wait.

    Args:
        pipe: the pipe.
        wakes: its instance's count before the reader looked.
    """

    def __init__(self, pipe: Pipe, wakes: int) -> None:
        self._pipe = pipe
        self.place = (pipe.handle, wakes)

    def over(self, timeout_s: float) -> bool:
        """Wait at most so many seconds; return whether to look again."""
        return self._pipe.wait(self.place[1], timeout_s)

    def is_quiet(self) -> bool:
        """Return whether there is no news."""
        return not self.over(0)

    def close(self) -> None:
        """Wait no longer: nothing is held."""


class PipeFile(_OpenFile):
    """A file whose readers take what they read: trace_pipe, trace_pipe_raw.

    Args:
        pipe: what it takes from.
    """

    def __init__(self, files: TreeFiles, name: str, flags: int, pipe: Pipe) -> None:
        self._pipe = pipe
        self._taken = b""
        self._at = 0
        self._has_read = False
        super().__init__(files, name, flags)

    @property
    def _is_at_end(self) -> bool:
        """Whether nothing comes any more: the instance is closed, or tracing was turned off meanwhile."""
        return not self._pipe.is_open or (self._has_read and self._files["tracing_on"] == "0\n")

    @property
    def ready(self) -> bool:
        """Whether read() has something now, or the end."""
        return self._at < len(self._taken) or self._pipe.ready or self._is_at_end

    def wait(self) -> PipeWait | None:
        """Begin to wait until there is something, or the end; None: there is."""
        wakes = self._pipe.wakes  # before the look
        return None if self.ready else PipeWait(self._pipe, wakes)

    def read(self, offset: int, size: int) -> bytes:
        """Return at most `size` bytes that come next; b"": the end."""
        with self._lock:
            self._check(self._reads)
            if self._at == len(self._taken):
                self._fill()
            data = self._taken[self._at : self._at + size]
            self._at += len(data)
            return data

    def _fill(self) -> None:
        """Take all that there is now.

        Raises:
            BlockingIOError: there is nothing, and it is not the end.
        """
        is_at_end = self._is_at_end  # before the last look for records
        self._taken, self._at = self._pipe.read(), 0
        self._has_read = self._has_read or bool(self._taken)
        if not self._taken and not is_at_end:
            raise BlockingIOError(EAGAIN, "there are no records now", self._name)

    def write(self, offset: int, data: bytes) -> int:
        """Refuse the text."""
        self._check(self._writes)
        raise OSError(EINVAL, f"invalid write to {self._name}: it is read-only", self._name)

    def close(self) -> None:
        """Let go of the instance; what was not read yet is lost. May be called twice."""
        self._pipe.close()
        super().close()
