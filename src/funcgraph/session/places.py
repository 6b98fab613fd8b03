"""Where sessions lie: memory-backed folders first, as rings need no disk; and how much room there is."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Sequence
from typing import Protocol

from funcgraph.rights.folder import Folder, OwnFolder
from funcgraph.rights.identity import ProcessIdentity
from funcgraph.rights.proc_facts import namespace, overflow_id

__all__ = ["ForeignPlaces", "OwnPlaces", "Places", "folders", "room_in", "spare_bases"]

# Those of every process, wherever it is. XDG_RUNTIME_DIR is one user's, and TMPDIR may be.
_SHARED = ("/dev/shm", "/tmp")
_FIRST_USER_NAMESPACE = "user:[4026531837]"  # PROC_USER_INIT_INO of the kernel's linux/proc_ns.h


class Places(Protocol):
    """Folders in which a session may be made. Each method raises OSError when it fails."""

    def bases(self) -> list[str]:
        """Return their paths, in the order in which they are to be taken, as processes find them."""

    def room(self, base: str) -> int:
        """Return how many bytes are free in one of them, in which a folder can be made."""

    def make(self, base: str, prefix: str) -> Folder:
        """Make a folder in one of them, which only the user of the session's processes can use."""

    def close(self) -> None:
        """Let go of what was needed for that, and is needed for the folders as long as they are used."""


class OwnPlaces:
    """Those of processes that are our own user's and see our files."""

    def bases(self) -> list[str]:
        return folders()

    def room(self, base: str) -> int:
        if not os.access(base, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, "no permission to write", base)
        return room_in(base)

    def make(self, base: str, prefix: str) -> Folder:
        return OwnFolder.create(base, prefix)

    def close(self) -> None:
        pass


class ForeignPlaces:
    """Those of a process of another user, or with other files: what is done there is done by a helper.

    Args:
        identity: of the process.

    Raises:
        OSError: the helper cannot be what the process is; or the process is no longer what it was.
    """

    def __init__(self, identity: ProcessIdentity) -> None:
        from funcgraph.rights.helper import Helper  # which loads much, and few recordings need

        self._helper = Helper.start(identity)

    def bases(self) -> list[str]:
        return list(_SHARED)

    def room(self, base: str) -> int:
        return _free(self._helper.statvfs(base))

    def make(self, base: str, prefix: str) -> Folder:
        return self._helper.make_folder([base], prefix)

    def close(self) -> None:
        self._helper.close()


def folders() -> list[str]:
    """Return our own folders for sessions: those in which nobody else can exchange what is ours."""
    candidates = [os.environ.get("XDG_RUNTIME_DIR", ""), "/dev/shm", tempfile.gettempdir()]
    # The environment variable joins session directories with os.pathsep.
    usable = [os.path.abspath(base) for base in candidates if base and os.pathsep not in base]
    return [base for base in dict.fromkeys(usable) if _keeps_ours(base)]


def spare_bases(bases: Sequence[str], output: str | None) -> list[str]:
    """Return the folders for a second folder of a session, which may have no memory behind them."""
    beside = os.path.dirname(output) if output else ""
    return [*bases, *([beside] if beside and _keeps_ours(beside) else [])]


def room_in(folder: str) -> int:
    """Return how many bytes are free in the file system of a folder.

    Raises:
        OSError: the folder does not exist, or cannot be searched.
    """
    return _free(os.statvfs(folder))


def _free(facts: os.statvfs_result) -> int:
    return facts.f_bavail * facts.f_frsize


def _keeps_ours(base: str) -> bool:
    """Return whether a folder exists in which only root and we can rename what is ours.

    XDG_RUNTIME_DIR is the caller's own where root's environment is kept (sudo -E): its user would replace the
    session's folder, by which root's programs find it.
    """
    try:
        facts = os.stat(base)
    except OSError:
        return False
    is_shared = facts.st_mode & 0o022 and not facts.st_mode & stat.S_ISVTX
    return stat.S_ISDIR(facts.st_mode) and not is_shared and _is_trusted(facts.st_uid)


def _is_trusted(uid: int) -> bool:
    if uid in (0, os.geteuid()):
        return True
    # A container's user namespace has no number for the host's root, which owns what is shared with the host.
    return namespace("self", "user") != _FIRST_USER_NAMESPACE and uid == overflow_id("uid")
