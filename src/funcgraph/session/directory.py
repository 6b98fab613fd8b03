"""A session's directory: its place, its files, and whether its recorder is alive.

funcgraph-PID-RANDOM/  mode 0700, in XDG_RUNTIME_DIR, else /dev/shm, else the folder for temporary files
    lock               the recorder holds an exclusive fcntl record lock on it for as long as it lives
    config             the settings, for traced processes and `funcgraph recover` (config.py)
    PID.N.ring         the ring buffer of a traced process
    PID.N.dump         the program asks the recorder to write what it keeps; the reason (dump_request.py)
    PID.note           why a process could not be traced; empty: there was no room for its ring buffer
    page               the recorder's process id, and a table of missing processes: forked ones that could
                       neither make a ring buffer nor leave a note (session_page.h)
    spare              a link to funcgraph-PID-RANDOM.spare/ in another file system, for ring buffers and
                       notes that find no room here
"""

from __future__ import annotations

import errno
import fcntl
import itertools
import os
import shlex
import shutil
import struct
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from funcgraph.session import config, options
from funcgraph.session.progress import bytes_text
from funcgraph.session.reach import Reach
from funcgraph.version import installed_version

__all__ = ["OUR_REACH", "Session", "all_sessions", "command_text"]

PREFIX = "funcgraph-"
RING_SUFFIX = ".ring"
NOTE_SUFFIX = ".note"
DUMP_SUFFIX = ".dump"  # dump_request.py has this name too
SPARE = "spare"  # the engine has this name too (ring_layout.h)
SPARE_SUFFIX = ".spare"
PAGE = "page"
_PAGE_BYTES = 4096  # struct fg_session_page: the recorder, how many more are missing, pairs of pid and errno
_PAIR = struct.Struct("=II")
# A folder with less room is not used; one with less than the second figure is no spare one.
LEAST_ROOM = 1 << 20
SPARE_ROOM = 16 << 20
_MOST_TEXT = 1 << 16  # of a note or a request
OUR_REACH = Reach()


def folders() -> list[str]:
    """Return the folders for session directories, memory-backed ones first: rings need no disk."""
    candidates = [os.environ.get("XDG_RUNTIME_DIR", ""), "/dev/shm", tempfile.gettempdir()]
    # The environment variable joins session directories with os.pathsep.
    usable = [os.path.abspath(base) for base in candidates if base and os.pathsep not in base]
    return [base for base in dict.fromkeys(usable) if os.path.isdir(base)]


def room_in(folder: str) -> int:
    """Return how many bytes are free in the file system of a folder.

    Raises:
        OSError: the folder does not exist, or cannot be searched.
    """
    facts = os.statvfs(folder)
    return facts.f_bavail * facts.f_frsize


class Session:
    """One session's directory.

    Args:
        path: an existing directory; `create` makes a new one.

    Attributes:
        places: a line for a person if the session's files do not lie where they usually do.
    """

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self.places: list[str] = []
        self._lock_fd: int | None = None
        self._reach = OUR_REACH

    @property
    def name(self) -> str:
        """The directory's name, which no other session has."""
        return os.path.basename(os.path.realpath(self.path))

    @property
    def seen_path(self) -> str:
        """The directory's path, as the processes see it that are to find it."""
        return self._reach.seen(self.path)

    def hand_over(self) -> None:
        """Let the processes in that are to find it, if they are another user's.

        After this the directory is that user's: nothing in it is to be written.

        Raises:
            OSError: no permission.
        """
        if self._reach.owner is not None:
            for name in _listing(self.path):
                os.chown(f"{self.path}/{name}", *self._reach.owner, follow_symlinks=False)
            os.chown(self.path, *self._reach.owner)

    @classmethod
    def create(cls, wanted: int = 0, output: str | None = None, reach: Reach = OUR_REACH) -> Session:
        """Make a directory in the first folder that has room, and take its lock.

        Args:
            wanted: how many bytes the session's ring buffers may need. If no folder has so many, the one
                with the most room is taken.
            output: the path of the trace. Ring buffers may lie in its folder if no other has room.
            reach: of the processes that are to find it.

        Raises:
            OSError: no folder can be used; the message names each of them with the reason.
        """
        rooms, refusals = _rooms(reach.folders(folders()))
        # Those with enough room stay in their order; then come the others, the one with the most room first.
        ordered = sorted(rooms, key=lambda base: -min(rooms[base], wanted))
        for base in ordered:
            try:
                session = cls._create_in(base)
            except OSError as error:
                refusals[base] = error.strerror or str(error)
                continue
            session.places = _passed_over(base, rooms, wanted)
            if reach == OUR_REACH:
                session._add_spare(ordered, output)
            session._reach = reach
            return session
        tried = "; ".join(f"{base}: {reason}" for base, reason in refusals.items())
        raise OSError(errno.ENOSPC, f"no folder for the session's files can be used ({tried})")

    @classmethod
    def _create_in(cls, base: str) -> Session:
        room = room_in(base)
        if room < LEAST_ROOM:
            raise OSError(errno.ENOSPC, f"{bytes_text(room)} free")
        session = cls(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=base))
        try:
            with open(f"{session.path}/{PAGE}", "wb") as file:
                file.write(bytes(_PAGE_BYTES))  # it has its memory before any process maps it
            if not session.lock():
                raise BlockingIOError(errno.EAGAIN, "locked by another process")
        except OSError:
            session.remove()
            raise
        return session

    def _add_spare(self, bases: Sequence[str], output: str | None) -> None:
        """Link to a directory in another file system. Without one that has room there is no spare."""
        own = os.stat(self.path).st_dev
        candidates = [*bases, *([os.path.dirname(output)] if output else [])]
        for base in candidates:
            path = f"{base}/{os.path.basename(self.path)}{SPARE_SUFFIX}"
            try:
                if os.stat(base).st_dev == own or room_in(base) < SPARE_ROOM:
                    continue
                os.mkdir(path, 0o700)
                os.symlink(path, f"{self.path}/{SPARE}")
            except OSError:
                continue
            return

    def lock(self) -> bool:
        """Take the recorder's lock; return False if another process holds it."""
        fd = os.open(f"{self.path}/lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            os.close(fd)
            return False
        self._lock_fd = fd
        self._set_recorder(os.getpid())
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
            self._set_recorder(0)
            os.close(self._lock_fd)
            self._lock_fd = None

    def _set_recorder(self, pid: int) -> None:
        """Tell processes that cannot open the lock any longer who holds it."""
        try:
            # The directory may be another user's (hand_over), who may put a link there.
            fd = os.open(f"{self.path}/{PAGE}", os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            return  # the directory was removed under us, or another version made it
        try:
            os.pwrite(fd, struct.pack("=I", pid), 0)
        except OSError:
            pass
        finally:
            os.close(fd)

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
        """Return the names of the ring-buffer files; those in the spare directory begin with `spare/`."""
        return [name for name in self._names() if name.endswith(RING_SUFFIX)]

    def take_requests(self) -> list[str]:
        """Return the reason of each request to write what the recorder keeps, and delete the requests."""
        reasons = []
        for name in _listing(self.path):
            if name.endswith(DUMP_SUFFIX):
                text = _read(f"{self.path}/{name}")
                reasons.append(" ".join(text.split()) or "ftrace_dump()")
                os.unlink(f"{self.path}/{name}")
        return reasons

    def notes(self) -> list[str]:
        """Return a line for each note that a traced process has left."""
        found = []
        for name in self._names():
            if not name.endswith(NOTE_SUFFIX):
                continue
            text = _read(f"{self.path}/{name}") or "could not be traced: no room for its ring buffer"
            found.append(f"process {os.path.basename(name).removesuffix(NOTE_SUFFIX)}: {text}")
        return found

    def missing(self) -> tuple[list[tuple[int, int]], int]:
        """Return the missing processes, and how many more there are.

        Returns:
            Each process's id with the errno of making its ring buffer, 0 if it is not known; and the number
            of those that found no room in the table.
        """
        try:
            with open(f"{self.path}/{PAGE}", "rb") as file:
                page = file.read(_PAGE_BYTES)
        except FileNotFoundError:
            page = b""  # the directory was removed under us, or another version made it
        (_, more), *table = _PAIR.iter_unpack(page.ljust(_PAGE_BYTES, b"\0"))
        return list(itertools.takewhile(lambda pair: pair[0], table)), more

    def _names(self) -> list[str]:
        names = _listing(self.path)
        if SPARE in names:
            names += [f"{SPARE}/{name}" for name in _listing(f"{self.path}/{SPARE}")]
        return names

    def remove(self) -> None:
        """Delete the directory with its files, and the spare one.

        The lock is deleted last: a directory without one is no session, and nobody would find what is left of
        it if this process is killed meanwhile.
        """
        self.unlock()
        spare = os.path.realpath(f"{self.path}/{SPARE}")
        if spare.endswith(SPARE_SUFFIX):
            shutil.rmtree(spare, ignore_errors=True)
        for name in sorted(_listing(self.path), key=lambda name: (name == "lock", name.startswith("config"))):
            with suppress(OSError):
                os.unlink(f"{self.path}/{name}")
        shutil.rmtree(self.path, ignore_errors=True)


def _read(path: str) -> str:
    """Return a file's text. A link, or a pipe, that another user put there (hand_over) is not followed."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    with open(fd, encoding="utf-8", errors="replace") as file:
        return file.read(_MOST_TEXT)


def _listing(path: str) -> list[str]:
    try:
        return sorted(os.listdir(path))
    except FileNotFoundError:
        return []  # removed by another process: a logout empties XDG_RUNTIME_DIR. Open rings stay


def _rooms(bases: Sequence[str]) -> tuple[dict[str, int], dict[str, str]]:
    """Return the bytes that are free in each folder, and for those that cannot be written the reason."""
    rooms, refusals = {}, {}
    for base in bases:
        try:
            if os.access(base, os.W_OK | os.X_OK):
                rooms[base] = room_in(base)
            else:
                refusals[base] = "no permission to write"
        except OSError as error:
            refusals[base] = error.strerror or str(error)
    return rooms, refusals


def _passed_over(base: str, rooms: dict[str, int], wanted: int) -> list[str]:
    """Return a line if `base` was taken because the folders before it have too little room."""
    before = list(rooms)[: list(rooms).index(base)]
    small = [f"{other} has {bytes_text(rooms[other])} free" for other in before if rooms[other] < wanted]
    return [f"{', '.join(small)}: the ring buffers lie in {base}"] if small else []


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
