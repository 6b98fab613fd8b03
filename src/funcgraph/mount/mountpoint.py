"""The folder of a mount: whether one can be made there, and taking away what a crash left."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from errno import ENOTCONN, ENOTDIR

__all__ = ["FILE_SYSTEM", "MountError", "prepare"]

#: How mounts(8) and /proc/self/mountinfo name the file system: after the "fuse." of all that FUSE mounts.
FILE_SYSTEM = "funcgraph"


class MountError(Exception):
    """Nothing can be mounted: what was wrong, where, and what would be right."""


def prepare(folder: str) -> None:
    """Check that something can be mounted at `folder`. A mount whose process is dead is taken away first.

    Raises:
        MountError: FUSE may not be used here, or one of our mounts is at the folder.
        OSError: there is no such folder.
    """
    _check_device()
    try:
        mode = os.stat(folder).st_mode
    except OSError as error:
        if error.errno != ENOTCONN or not _is_ours(folder):
            raise
        _unmount(folder)
        mode = os.stat(folder).st_mode
    if not stat.S_ISDIR(mode):
        raise NotADirectoryError(ENOTDIR, os.strerror(ENOTDIR), folder)
    if _is_ours(folder):
        raise MountError(f"{folder}: is mounted already; 'umount {folder}' ends that")


def _check_device() -> None:
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC))
    except FileNotFoundError:
        raise MountError("/dev/fuse is missing: 'modprobe fuse', or give the container that device") from None
    except OSError as error:
        raise MountError(f"/dev/fuse cannot be used: {error.strerror}") from None


def _is_ours(folder: str) -> bool:
    """Return whether the newest mount at the folder is one of funcgraph."""
    last = ""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            before, _, after = line.partition(" - ")
            if _unescaped(before.split(" ")[4]) == os.path.realpath(folder):
                last = after.split(" ")[0]
    return last == f"fuse.{FILE_SYSTEM}"


def _unescaped(name: str) -> str:
    """Return a name of mountinfo, which has spaces and the like as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), name)


def _unmount(folder: str) -> None:
    """Unmount it, however many still have something of it open."""
    words = ["umount", "--lazy"] if os.geteuid() == 0 else ["fusermount3", "-u", "-z"]
    if shutil.which(words[0]) is None:
        raise MountError(f"{folder}: a dead mount is there, and {words[0]} to unmount it is missing")
    done = subprocess.run([*words, folder], capture_output=True, text=True)
    if done.returncode != 0:
        raise MountError(f"{folder}: a dead mount cannot be unmounted: {done.stderr.strip()}")
