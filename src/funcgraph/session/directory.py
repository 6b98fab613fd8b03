"""A session's directory: its place, its files, and whether its recorder is alive.

funcgraph-PID-RANDOM/  mode 0700, in XDG_RUNTIME_DIR, else /dev/shm, else the folder for temporary files
    lock               the recorder holds an exclusive fcntl record lock on it for as long as it lives
    config             the settings, for traced processes and `funcgraph recover` (config.py)
    PID.N.ring         the ring buffer of a traced process
    PID.note           why a process could not be traced
"""

from __future__ import annotations

import errno
import fcntl
import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

from funcgraph.session import config, options
from funcgraph.version import installed_version

__all__ = ["Session", "all_sessions", "command_text"]

PREFIX = "funcgraph-"
RING_SUFFIX = ".ring"
NOTE_SUFFIX = ".note"


def folders() -> list[str]:
    """Return the folders for session directories, memory-backed ones first: rings need no disk."""
    candidates = [os.environ.get("XDG_RUNTIME_DIR", ""), "/dev/shm", tempfile.gettempdir()]
    # The environment variable joins session directories with os.pathsep.
    usable = [os.path.abspath(base) for base in candidates if base and os.pathsep not in base]
    return [base for base in dict.fromkeys(usable) if os.path.isdir(base)]


class Session:
    """One session's directory.

    Args:
        path: an existing directory; `create` makes a new one.
    """

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self._lock_fd: int | None = None

    @classmethod
    def create(cls) -> Session:
        """Make a directory and take its lock.

        Raises:
            OSError: none of the folders can be written.
        """
        refusal: OSError = FileNotFoundError(errno.ENOENT, "no folder for session files can be written")
        for base in folders():
            try:
                session = cls(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=base))
            except OSError as error:
                refusal = error
                continue
            if not session.lock():
                raise BlockingIOError(errno.EAGAIN, "locked by another process", session.path)
            return session
        raise refusal

    def lock(self) -> bool:
        """Take the recorder's lock; return False if another process holds it."""
        fd = os.open(f"{self.path}/lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            os.close(fd)
            return False
        self._lock_fd = fd
        return True

    def recorder_alive(self) -> bool:
        """Return whether another process holds the lock.

        Not for a session that this process has locked: closing another descriptor of the file would release
        the lock.
        """
        if not self.lock():
            return True
        self.unlock()
        return False

    def unlock(self) -> None:
        """Release the lock, if this process holds it."""
        if self._lock_fd is not None:
            os.close(self._lock_fd)
            self._lock_fd = None

    def write_config(
        self, settings: dict[str, Any], *, output: str, part: str, command: Sequence[str]
    ) -> None:
        """Write the config file. From now on, processes that find the session join it.

        Args:
            settings: the recording's settings (options.py).
            output, part: absolute paths of the trace and of its spool, for `funcgraph recover`.
            command: the command that is recorded, for a person.
        """
        facts = {
            "version": [installed_version()],
            "pid": [str(os.getpid())],
            "output": [output],
            "part": [part],
            "command": list(command),
        }
        text = config.dump(facts | options.to_config(settings))
        temporary = f"{self.path}/config.new"
        with open(temporary, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        os.rename(temporary, f"{self.path}/config")

    def read_config(self) -> dict[str, list[str]]:
        """Return the config file's values.

        Raises:
            OSError: the file does not exist, or cannot be read.
            ValueError: the file is damaged.
        """
        name = "config" if os.path.exists(f"{self.path}/config") else "config.closed"
        with open(f"{self.path}/{name}", encoding="utf-8", errors="surrogateescape") as file:
            return config.parse(file.read())

    def close_to_newcomers(self) -> None:
        """Rename the config file, so that no further process joins. `read_config` still finds it."""
        try:
            os.rename(f"{self.path}/config", f"{self.path}/config.closed")
        except FileNotFoundError:
            pass

    def ring_names(self) -> list[str]:
        """Return the names of the ring-buffer files."""
        return [name for name in self._names() if name.endswith(RING_SUFFIX)]

    def notes(self) -> list[str]:
        """Return a line for each note that a traced process has left."""
        found = []
        for name in self._names():
            pid = name.removesuffix(NOTE_SUFFIX)
            if pid != name:
                with open(f"{self.path}/{name}", encoding="utf-8", errors="replace") as file:
                    found.append(f"process {pid}: {file.read()}")
        return found

    def _names(self) -> list[str]:
        try:
            return sorted(os.listdir(self.path))
        except FileNotFoundError:
            return []  # removed by another process: a logout empties XDG_RUNTIME_DIR. Mapped rings stay

    def remove(self) -> None:
        """Delete the directory with its files."""
        self.unlock()
        shutil.rmtree(self.path, ignore_errors=True)


def command_text(values: dict[str, list[str]]) -> str:
    """Return the command in a session's config as one line, as a person would type it."""
    return shlex.join(values.get("command", [])).replace("\n", "\\n")


def all_sessions() -> Iterator[Session]:
    """Yield this user's sessions on this machine, alive or dead, in the order of their names."""
    for base in folders():
        try:
            with os.scandir(base) as entries:
                names = sorted(entry.name for entry in entries if entry.name.startswith(PREFIX))
        except OSError:
            continue
        for name in names:
            path = f"{base}/{name}"
            try:
                ours = os.stat(path, follow_symlinks=False).st_uid == os.getuid()
            except FileNotFoundError:
                continue  # it was removed just now
            if ours and os.path.exists(f"{path}/lock"):
                yield Session(path)
