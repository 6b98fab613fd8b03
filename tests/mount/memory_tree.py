"""A tree in memory with one file of each kind that a tracefs has; what a mount of it does, tests see.

- set_ftrace_filter: a list of words; O_TRUNC empties it, and "bad" is EINVAL. EBUSY while the pipe is open.
- trace_marker: what is written to it comes out of trace_pipe.
- trace_pipe: a pipe, which may be open once.
- writes: the size of each write() to any file, a line each.
- written_at_close: a text that holds what was written when the file is closed.
- available_events: read only.
- instances/: mkdir and rmdir, with a set_ftrace_filter and a trace_pipe each.
"""

from __future__ import annotations

import os
import threading
import time
from errno import EACCES, EAGAIN, EBADF, EBUSY, EEXIST, EINVAL, EISDIR, ENOENT, ENOTDIR, EPERM

from funcgraph.tracefs.interface import Entry

_FILES = {
    "set_ftrace_filter": 0o640,
    "trace_marker": 0o220,
    "trace_pipe": 0o440,
    "writes": 0o440,
    "available_events": 0o440,
    "written_at_close": 0o640,
}
#: Their close() takes its time.
_SLOW = ("trace_pipe", "written_at_close")


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)


class Instance:
    """What one instance holds, the root included."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.text = b""
        self.pipe = bytearray()
        self.piping = False
        self.open = 0


class MemoryTree:
    """The tree. Any thread may use it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.instances = {"": Instance()}
        self.writes: list[int] = []

    def _found(self, path: str) -> tuple[Instance, str]:
        """Return the instance that the path is in, and the rest: "" is its folder."""
        name, rest = "", path
        if path.startswith("instances/"):
            name, _, rest = path.removeprefix("instances/").partition("/")
        if name not in self.instances or rest not in ("", "instances", *_FILES):
            raise _error(ENOTDIR if rest.partition("/")[0] in _FILES else ENOENT, path)
        return self.instances[name], rest

    def stat(self, path: str) -> Entry:
        with self.lock:
            rest = self._found(path)[1]
            return Entry(False, _FILES[rest]) if rest in _FILES else Entry(True, 0o750)

    def list(self, path: str) -> list[str]:
        with self.lock:
            if path == "instances":
                return [name for name in self.instances if name]
            rest = self._found(path)[1]
            if rest in _FILES:
                raise _error(ENOTDIR, path)
            return [*_FILES, *(["instances"] if path == "" else [])]

    def mkdir(self, path: str) -> None:
        folder, _, name = path.rpartition("/")
        with self.lock:
            if folder != "instances":
                raise _error(EPERM, path)
            if name in self.instances:
                raise _error(EEXIST, path)
            self.instances[name] = Instance()

    def rmdir(self, path: str) -> None:
        folder, _, name = path.rpartition("/")
        with self.lock:
            if folder != "instances":
                raise _error(EPERM, path)
            if self._found(path)[0].open:
                raise _error(EBUSY, path)
            del self.instances[name]

    def open(self, path: str, flags: int) -> MemoryFile:
        with self.lock:
            instance, name = self._found(path)
            if name not in _FILES:
                raise _error(EISDIR, path)
            writing, reading = flags & os.O_ACCMODE != os.O_RDONLY, flags & os.O_ACCMODE != os.O_WRONLY
            if (writing and not _FILES[name] & 0o200) or (reading and not _FILES[name] & 0o400):
                raise _error(EACCES, path)
            if name == "trace_pipe":
                if instance.piping:
                    raise _error(EBUSY, path)
                instance.piping = True
            if name == "set_ftrace_filter" and flags & os.O_TRUNC:
                instance.words.clear()
            instance.open += 1
            return MemoryFile(self, instance, name, reading, writing)


class MemoryFile:
    """An open file of the tree."""

    def __init__(self, tree: MemoryTree, instance: Instance, name: str, reading: bool, writing: bool) -> None:
        self._tree, self._instance, self._name = tree, instance, name
        self._reading, self._writing = reading, writing
        self._text: bytes | None = None
        self._late = b""
        self._closed = False

    @property
    def ready(self) -> bool:
        return self._name != "trace_pipe" or bool(self._instance.pipe)

    def wait(self) -> MemoryWait | None:
        return None if self.ready else MemoryWait(self)

    def read(self, offset: int, size: int) -> bytes:
        with self._tree.lock:
            if not self._reading:
                raise _error(EBADF, self._name)
            if self._name == "trace_pipe":
                return self._from_pipe(size)
            if offset == 0 or self._text is None:
                self._text = self._made()
            return self._text[offset : offset + size]

    def _from_pipe(self, size: int) -> bytes:
        pipe = self._instance.pipe
        if not pipe:
            raise _error(EAGAIN, self._name)
        taken = bytes(pipe[:size])
        del pipe[:size]
        return taken

    def _made(self) -> bytes:
        if self._name == "writes":
            return "".join(f"{size}\n" for size in self._tree.writes).encode()
        if self._name == "written_at_close":
            return self._instance.text
        if self._name == "available_events":
            return "".join(f"sched:event_{number}\n" for number in range(2000)).encode()
        return "".join(f"{word}\n" for word in self._instance.words).encode()

    def write(self, offset: int, data: bytes) -> int:
        with self._tree.lock:
            if not self._writing:
                raise _error(EBADF, self._name)
            self._tree.writes.append(len(data))
            if self._name == "trace_marker":
                self._instance.pipe += data
                return len(data)
            if self._name == "written_at_close":
                self._late += data
                return len(data)
            if self._instance.piping:
                raise _error(EBUSY, self._name)
            words = data.decode().split()
            if "bad" in words:
                raise _error(EINVAL, self._name)
            self._instance.words += words
            return len(data)

    def close(self) -> None:
        if self._name in _SLOW:
            time.sleep(0.005)
        with self._tree.lock:
            if self._closed:
                return
            self._closed = True
            if self._name == "written_at_close" and self._writing:
                self._instance.text = self._late
            self._instance.open -= 1
            if self._name == "trace_pipe":
                self._instance.piping = False


class MemoryWait:
    """A reader that waits for the pipe of the tree."""

    place = (0, 0)

    def __init__(self, file: MemoryFile) -> None:
        self._file = file

    def over(self, timeout_s: float) -> bool:
        end = time.monotonic() + timeout_s
        while not self._file.ready and time.monotonic() < end:
            time.sleep(0.001)
        return self._file.ready

    def is_quiet(self) -> bool:
        return not self._file.ready

    def close(self) -> None:
        pass
