"""The recorder's side of a session's page (session_page.h): what processes tell that can open no file."""

from __future__ import annotations

import itertools
import os
import struct
from contextlib import suppress

from funcgraph.rights.folder import Folder

__all__ = ["PAGE", "SessionPage"]

PAGE = "page"  # the engine has this name too
_PAGE_BYTES = 4096  # struct fg_session_page: the recorder, how many more are missing, pairs of pid and errno
_PAIR = struct.Struct("=II")


class SessionPage:
    """The page, by a descriptor that is kept: whatever its owner puts at its name later is not looked at.

    Args:
        fd: of the file, for reading and writing. It is the page's now.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd

    @classmethod
    def create(cls, folder: Folder) -> SessionPage:
        """Make the page in a session's folder.

        Raises:
            OSError: no space left, no permission.
        """
        page = cls(folder.open(PAGE, os.O_RDWR | os.O_CREAT | os.O_EXCL))
        try:
            os.pwrite(page._fd, bytes(_PAGE_BYTES), 0)  # it has its memory before any process maps it
        except OSError:
            page.close()
            raise
        return page

    @classmethod
    def open(cls, folder: Folder) -> SessionPage | None:
        """Return the page of a session; None: the folder was removed under us, or another version made it."""
        try:
            return cls(folder.open(PAGE, os.O_RDWR))
        except OSError:
            return None

    def set_recorder(self, pid: int) -> None:
        """Tell processes that cannot open the lock any longer who holds it; 0: nobody does."""
        with suppress(OSError):
            os.pwrite(self._fd, struct.pack("=I", pid), 0)

    def missing(self) -> tuple[list[tuple[int, int]], int]:
        """Return the missing processes, as Session.missing() does."""
        page = os.pread(self._fd, _PAGE_BYTES, 0)
        (_, more), *table = _PAIR.iter_unpack(page.ljust(_PAGE_BYTES, b"\0"))
        return list(itertools.takewhile(lambda pair: pair[0], table)), more

    def close(self) -> None:
        """Close the descriptor. The processes that have mapped the page keep it."""
        os.close(self._fd)
