"""The files that the processes of a session make in its directory: rings, notes, requests.

The directory may be another user's, who may put anything there: so each file is looked at through a Folder,
which opens regular files alone, and how many there are and what they have is bounded.
"""

from __future__ import annotations

import errno
import os
import re
from contextlib import suppress
from typing import Any

from funcgraph import _tracedata
from funcgraph.names import printable
from funcgraph.recorder.progress import bytes_text
from funcgraph.rights.folder import Folder, OwnFolder

__all__ = ["SPARE", "SessionFiles", "most_ring_bytes"]

RING_SUFFIX = ".ring"
NOTE_SUFFIX = ".note"
DUMP_SUFFIX = ".dump"  # dump_request.py has this name too
SPARE = "spare"  # the engine has this name too (ring_layout.h)
#: While a process writes a file, it has another suffix. Plans are the recorder's, and go with the others.
_MADE = re.compile(r"(\d+(\.\d+)?\.(ring|note|dump)|[0-9a-f]+-\d+\.plan)(\.new)?")
_MOST_TEXT = 1 << 12  # bytes of a note or a request
_MOST_NOTES = 1000
_MOST_REQUESTS = 100  # in one scan; the next one takes others
_MOST_RINGS = 4096  # of another user, at once
# What is at a ring's name is none: no regular file (EINVAL), a link, a mount, a file of yet another user.
_NO_RING = (errno.EINVAL, errno.ELOOP, errno.EXDEV, errno.ENXIO, errno.EISDIR, errno.EPERM, errno.EACCES)
# This process has no descriptor for it now; or it was removed just now.
_NOT_NOW = (errno.EMFILE, errno.ENFILE, errno.ENOENT)


def most_ring_bytes(settings: dict[str, Any]) -> int:
    """Return the size of the largest ring-buffer file that a recording with these settings asks for."""
    kib = max(instance["buffer_kb"] for instance in settings["instances"])
    return _tracedata.ring_file_bytes(1024 * kib)


class SessionFiles:
    """The files of one session.

    Args:
        folder: its directory.
        most_ring_bytes: the size of the largest ring that was asked for. None: the directory is our own
            user's, and nobody else writes into it.

    Attributes:
        spare: a second directory, in another file system, for what finds no room in the first one.
        messages: lines for a person: there are too many files, or they cannot be looked at any longer.
    """

    def __init__(self, folder: Folder, most_ring_bytes: int | None) -> None:
        self.spare: OwnFolder | None = None
        self.messages: list[str] = []
        self._folder = folder
        self._most_ring_bytes = most_ring_bytes
        self._is_lost = False

    def ring_names(self) -> list[str]:
        """Return the names of the ring-buffer files; those in the spare directory begin with `spare/`."""
        names = self._made(RING_SUFFIX)
        return names if self._is_own else self._cut(names, _MOST_RINGS, "ring buffers")

    def open_ring(self, name: str) -> int:
        """Open a ring-buffer file; return a descriptor, for reading and writing.

        Args:
            name: as ring_names() returns it.

        Raises:
            ValueError: it is no ring: no regular file of the session's user, or larger than was asked for.
            OSError: it cannot be opened now.
        """
        folder, name = self._place_of(name)
        try:
            fd = folder.open(name, os.O_RDWR)
        except OSError as error:
            if error.errno in _NO_RING:
                raise ValueError(f"not a ring-buffer file: {error.strerror}") from None
            if not self._is_own and error.errno not in _NOT_NOW:
                raise ValueError(error.strerror or str(error)) from None
            raise
        size = os.fstat(fd).st_size
        if self._most_ring_bytes is not None and size > self._most_ring_bytes:
            os.close(fd)
            raise ValueError(f"{bytes_text(size)} are more than a ring buffer of this recording has")
        return fd

    def unlink_ring(self, name: str) -> None:
        """Delete a ring-buffer file.

        Raises:
            OSError: as unlink().
        """
        folder, name = self._place_of(name)
        folder.unlink(name)

    def _place_of(self, name: str) -> tuple[Folder, str]:
        place, slash, base = name.rpartition("/")
        if slash and (place != SPARE or self.spare is None):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        return (self.spare if slash and self.spare is not None else self._folder), base

    def take_requests(self) -> list[str]:
        """Return the reason of each request to write what the recorder keeps, and delete the requests."""
        reasons = []
        for name in self._listing(DUMP_SUFFIX)[:_MOST_REQUESTS]:
            text = self._text(self._folder, name)
            try:
                self._folder.unlink(name)
            except OSError:
                continue  # it is no file, and would be found again and again
            reasons.append(" ".join(text.split()) or "ftrace_dump()")
        return reasons

    def notes(self) -> list[str]:
        """Return a line for each note that a traced process has left."""
        found = []
        for name in self._cut(self._made(NOTE_SUFFIX), _MOST_NOTES, "notes"):
            text = self._text(*self._place_of(name)) or "could not be traced: no room for its ring buffer"
            found.append(f"process {os.path.basename(name).removesuffix(NOTE_SUFFIX)}: {text}")
        return found

    def _text(self, folder: Folder, name: str) -> str:
        """Return the text of a file that a process wrote; "": it is a pipe, a link or the like."""
        try:
            text = folder.read(name, _MOST_TEXT).decode("utf-8", "replace")
        except OSError:
            return ""
        return "\n".join(map(printable, text.split("\n"))) if self._is_own else printable(text)

    @property
    def _is_own(self) -> bool:
        return self._most_ring_bytes is None

    def _cut(self, names: list[str], most: int, what: str) -> list[str]:
        message = f"{self._folder.path}: more than {most:,} {what}: the others are not looked at"
        if len(names) > most and message not in self.messages:
            self.messages.append(message)
        return names[:most]

    def _made(self, suffix: str) -> list[str]:
        """Return the names of the files of one kind that processes have made, in both directories."""
        names = self._listing(suffix)
        if self.spare is not None:
            names += [f"{SPARE}/{name}" for name in _names(self.spare) if _is_made(name, suffix)]
        return names

    def _listing(self, suffix: str) -> list[str]:
        """Return the names of the files of one kind in the first directory.

        Another user's directory may be out of reach for good. The rings that are open go on then.
        """
        if self._is_lost:
            return []
        try:
            names = _names(self._folder)
        except OSError as error:
            if self._is_own:
                raise
            self._is_lost = True
            self.messages.append(f"{self._folder.path}: not looked at any longer: {error.strerror or error}")
            return []
        return [name for name in names if _is_made(name, suffix)]

    def remove(self, further: list[str]) -> None:
        """Delete the files, the spare directory, and the directory itself unless it has others.

        Args:
            further: other files of the directory, in the order in which they are deleted after these.
        """
        if self.spare is not None:
            with suppress(OSError):
                self.spare.remove(_made_names(self.spare))
        with suppress(OSError):
            self._folder.remove([*_made_names(self._folder), *further])


def _is_made(name: str, suffix: str) -> bool:
    return name.endswith(suffix) and _MADE.fullmatch(name) is not None


def _made_names(folder: Folder) -> list[str]:
    try:
        return [name for name in folder.names() if _MADE.fullmatch(name)]
    except OSError:
        return []


def _names(folder: Folder) -> list[str]:
    try:
        return folder.names()
    except FileNotFoundError:
        return []  # removed by another process: a logout empties XDG_RUNTIME_DIR. Open rings stay
