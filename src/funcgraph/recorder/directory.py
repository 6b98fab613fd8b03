"""A session's directory: its files, and whether its recorder is alive.

funcgraph-PID-RANDOM/  mode 0700, of the user of the traced processes, in a memory-backed folder (places.py)
    lock               the recorder holds an exclusive fcntl record lock on it for as long as it lives
    config             the settings, for traced processes and `funcgraph recover` (config.py)
    PID.N.ring         the ring buffer of a traced process
    PID.N.dump         the program asks the recorder to write what it keeps; the reason (dump_request.py)
    PID.note           why a process could not be traced; empty: there was no room for its ring buffer
    page               the recorder's process id, and a table of missing processes: forked ones that could
                       neither make a ring buffer nor leave a note (session_page.h)
    BUILDID-N.plan     the plan of a native object, for processes that ran before the recording
    spare              a link to funcgraph-PID-RANDOM.spare/ in another file system, for ring buffers and
                       notes that find no room here

The directory of a session may be another user's, who may put anything there. So its files are reached through
a Folder alone, it holds nothing that the recorder has decided and needs again, and what it has is bounded.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from funcgraph.recorder.files import SPARE, SessionFiles
from funcgraph.recorder.page import PAGE, SessionPage
from funcgraph.recorder.progress import bytes_text
from funcgraph.rights.folder import Folder, OwnFolder
from funcgraph.session import config, options
from funcgraph.session.places import OwnPlaces, Places, folders, room_in, spare_bases
from funcgraph.version import installed_version

__all__ = ["Session", "all_sessions", "command_text"]

PREFIX = "funcgraph-"
SPARE_SUFFIX = ".spare"
LOCK = "lock"
CONFIG, CLOSED_CONFIG = "config", "config.closed"
_NAME = re.compile(rf"{PREFIX}\d+-\w+")
# A folder with less room is not used; one with less than the second figure is no spare one.
LEAST_ROOM = 1 << 20
SPARE_ROOM = 16 << 20
_MOST_CONFIG = 1 << 24  # bytes


class Session:
    """One session's directory.

    Args:
        folder: the directory.
        most_ring_bytes: as of SessionFiles.

    Attributes:
        files: what its processes make there.
        messages: a line for a person if the session's files do not lie where they usually do.
    """

    def __init__(self, folder: Folder, most_ring_bytes: int | None = None) -> None:
        self.files = SessionFiles(folder, most_ring_bytes)
        self.is_own = most_ring_bytes is None
        self.messages: list[str] = []
        self._folder = folder
        self._places: Places | None = None  # where this process has made it
        self._page: SessionPage | None = None
        self._lock_fd: int | None = None
        self._written: dict[str, list[str]] | None = None  # what this process has put into the config

    @property
    def path(self) -> str:
        """The directory's path, as the processes see it that are to find it."""
        return self._folder.path

    @property
    def name(self) -> str:
        """The directory's name, which no other session has."""
        return os.path.basename(self.path)

    @classmethod
    def create(
        cls,
        ring_bytes: int = 0,
        output: str | None = None,
        places: Places | None = None,
        most_ring_bytes: int | None = None,
    ) -> Session:
        """Make a directory in the first folder that has room, and take its lock.

        Args:
            ring_bytes: how many bytes the session's ring buffers may need. If no folder has so many, the one
                with the most room is taken.
            output: the path of the trace. Ring buffers may lie in its folder if no other has room.
            places: those of the processes that are to find it, if they are not like us. The session closes
                them.
            most_ring_bytes: as of SessionFiles, for such processes.

        Raises:
            OSError: no folder can be used; the message names each of them with the reason.
        """
        where = OwnPlaces() if places is None else places
        rooms, refusals = _rooms(where)
        # Those with enough room stay in their order; then come the others, the one with the most room first.
        ordered = sorted(rooms, key=lambda base: -min(rooms[base], ring_bytes))
        for base in ordered:
            try:
                session = cls._create_in(base, rooms[base], where, most_ring_bytes)
            except OSError as error:
                refusals[base] = error.strerror or str(error)
                continue
            session.messages += _passed_over(base, rooms, ring_bytes)
            if session.is_own:
                session._add_spare(spare_bases(ordered, output))
            return session
        where.close()
        tried = "; ".join(f"{base}: {reason}" for base, reason in refusals.items())
        raise OSError(errno.ENOSPC, f"no folder for the session's files can be used ({tried})")

    @classmethod
    def _create_in(cls, base: str, room: int, places: Places, most_ring_bytes: int | None) -> Session:
        if room < LEAST_ROOM:
            raise OSError(errno.ENOSPC, f"{bytes_text(room)} free")
        folder = places.make(base, f"{PREFIX}{os.getpid()}-")
        session = cls(folder, most_ring_bytes)
        try:
            session._page = SessionPage.create(folder)
            if not session.lock():
                raise BlockingIOError(errno.EAGAIN, "locked by another process")
        except OSError:
            session._remove_files()
            session._let_go()
            raise
        session._places = places
        return session

    @classmethod
    def at(cls, path: str) -> Session:
        """Open the directory of a session of our own user.

        Raises:
            OSError: there is none. PermissionError: it is another user's, or others may use it: a recorder of
                that user's is to read it, as its contents say where that writes.
        """
        session = cls(OwnFolder.at(path))
        try:
            session._find_spare()
        except BaseException:
            session.close()
            raise
        return session

    def _add_spare(self, bases: Sequence[str]) -> None:
        """Link to a directory in another file system. Without one that has room there is no spare."""
        assert isinstance(self._folder, OwnFolder)
        own = os.fstat(self._folder.fileno()).st_dev
        for base in bases:
            try:
                if os.stat(base).st_dev == own or room_in(base) < SPARE_ROOM:
                    continue
                spare = OwnFolder.make(base, f"{self.name}{SPARE_SUFFIX}")
                os.symlink(spare.path, SPARE, dir_fd=self._folder.fileno())
            except OSError:
                continue
            self.files.spare = spare
            return

    def _find_spare(self) -> None:
        """Open the spare directory that the recorder has made: the config names it, and it is our own user's.

        Processes that have changed their user cannot write into a session of ours.
        """
        with suppress(OSError, ValueError):
            for path in self.read_config().get(SPARE, []):
                if os.path.basename(path) == f"{self.name}{SPARE_SUFFIX}":
                    self.files.spare = OwnFolder.at(path)

    def lock(self) -> bool:
        """Take the recorder's lock; return False if another process holds it."""
        fd = self._folder.open(LOCK, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            os.close(fd)
            return False
        self._lock_fd = fd
        self._set_recorder(os.getpid())
        return True

    def has_lock_file(self) -> bool:
        """Return whether this is the directory of a session at all."""
        return self._folder.has(LOCK)

    def takes_processes(self) -> bool:
        """Return whether processes that find the session join it."""
        return self._folder.has(CONFIG)

    def recorder_alive(self) -> bool:
        """Return whether another process holds the lock.

        Not for a session that this process has locked: closing another descriptor of the file would release
        the lock.
        """
        try:
            if not self.lock():
                return True
        except OSError:
            return False  # whoever may write there has put something else in its place
        self.unlock()
        return False

    def unlock(self) -> None:
        """Release the lock, if this process holds it."""
        if self._lock_fd is not None:
            self._set_recorder(0)
            os.close(self._lock_fd)
            self._lock_fd = None

    def _set_recorder(self, pid: int) -> None:
        if page := self._opened_page():
            page.set_recorder(pid)

    def _opened_page(self) -> SessionPage | None:
        if self._page is None:
            self._page = SessionPage.open(self._folder)
        return self._page

    def write_config(
        self, settings: dict[str, Any], *, output: str, part: str, command: Sequence[str]
    ) -> None:
        """Write the config file. From now on, processes that find the session join it.

        Another user reads no more in it than its processes need, and the recorder reads nothing there again.

        Args:
            settings: the recording's settings (options.py).
            output, part: absolute paths of the trace and of its spool, for `funcgraph recover`.
            command: the command that is recorded, for a person.

        Raises:
            OSError: no space left, no permission.
        """
        facts = {"version": [installed_version()], "pid": [str(os.getpid())]}
        own = {"output": [output], "part": [part], "command": list(command)}
        if self.files.spare is not None:
            own[SPARE] = [self.files.spare.path]
        values = facts | (own if self.is_own else {}) | options.to_config(settings)
        self._folder.write(CONFIG, config.dump(values).encode("utf-8", "surrogateescape"))
        self._written = facts | own | options.to_config(settings)

    def add_plan(self, name: str, data: bytes) -> None:
        """Put the plan of a native object where the processes find it, unless it is there.

        Args:
            name: of its file, as native/cache.py has it.

        Raises:
            OSError: no space left.
        """
        if not self._folder.has(name):
            self._folder.write(name, data)

    def read_config(self) -> dict[str, list[str]]:
        """Return the config file's values.

        Raises:
            OSError: the file does not exist, or cannot be read.
            ValueError: the file is damaged.
        """
        if self._written is not None:
            return self._written
        name = CONFIG if self._folder.has(CONFIG) else CLOSED_CONFIG
        return config.parse(self._folder.read(name, _MOST_CONFIG).decode("utf-8", "surrogateescape"))

    def close_to_newcomers(self) -> None:
        """Rename the config file, so that no further process joins. `read_config` still finds it."""
        # Not there: a logout empties XDG_RUNTIME_DIR, and another user may remove what is its own.
        with suppress(FileNotFoundError) if self.is_own else suppress(OSError):
            self._folder.rename(CONFIG, CLOSED_CONFIG)

    def missing(self) -> tuple[list[tuple[int, int]], int]:
        """Return the missing processes, and how many more there are.

        Returns:
            Each process's id with the errno of making its ring buffer, 0 if it is not known; and the number
            of those that found no room in the table.
        """
        page = self._opened_page()
        return page.missing() if page else ([], 0)

    def close(self) -> None:
        """Let go of the directory, which stays. The lock is released."""
        self.unlock()
        self._let_go()

    def remove(self) -> None:
        """Delete the directory with the files that sessions have, and the spare one. Others stay.

        The lock is deleted last: a directory without one is no session, and nobody would find what is left of
        it if this process is killed meanwhile.
        """
        self.unlock()
        self._remove_files()
        self._let_go()

    def _remove_files(self) -> None:
        self.files.remove([SPARE, PAGE, CLOSED_CONFIG, CONFIG, LOCK])

    def _let_go(self) -> None:
        if self._page is not None:
            self._page.close()
            self._page = None
        if self.files.spare is not None:
            self.files.spare.close()
        self._folder.close()
        if self._places is not None:
            self._places.close()


def _rooms(places: Places) -> tuple[dict[str, int], dict[str, str]]:
    """Return the bytes that are free in each folder, and for those that cannot be written the reason."""
    rooms, refusals = {}, {}
    for base in places.bases():
        try:
            rooms[base] = places.room(base)
        except OSError as error:
            refusals[base] = error.strerror or str(error)
    return rooms, refusals


def _passed_over(base: str, rooms: dict[str, int], ring_bytes: int) -> list[str]:
    """Return a line if `base` was taken because the folders before it have too little room."""
    before = list(rooms)[: list(rooms).index(base)]
    small = [f"{other} has {bytes_text(rooms[other])} free" for other in before if rooms[other] < ring_bytes]
    return [f"{', '.join(small)}: the ring buffers lie in {base}"] if small else []


def command_text(values: dict[str, list[str]]) -> str:
    """Return the command in a session's config as one line, as a person would type it."""
    return shlex.join(values.get("command", [])).replace("\n", "\\n")


def all_sessions() -> Iterator[Session]:
    """Yield this user's sessions on this machine, alive or dead, in the order of their names.

    Whoever keeps none of them closes it.
    """
    for base in folders():
        try:
            names = sorted(name for name in os.listdir(base) if _NAME.fullmatch(name))
        except OSError:
            continue
        for name in names:
            try:
                session = Session.at(f"{base}/{name}")
            except OSError:
                continue  # it was removed just now, or is another user's
            if session.has_lock_file():
                yield session
            else:
                session.close()
