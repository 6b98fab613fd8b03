"""Memory-backed folders of this test run alone, so that it neither sees nor disturbs anybody's recordings.

A process of root gets a mount namespace with an empty /dev/shm. What the tests leave there, killed ones too,
goes with the namespace. Anybody else gets a folder as XDG_RUNTIME_DIR, which is looked at before /dev/shm.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import shutil
import tempfile

__all__ = ["SHARED", "enter_own_folders"]

SHARED = "/dev/shm"

#: Flags of unshare(2) and mount(2).
_CLONE_NEWNS = 0x20000
_MS_NOSUID, _MS_NODEV = 2, 4
_MS_REC, _MS_SLAVE = 0x4000, 0x80000


def enter_own_folders() -> bool:
    """Give this process and its children such folders, until it ends.

    The calling thread must be the only one: threads have mount namespaces of their own.

    Returns:
        Whether it has a /dev/shm of its own.
    """
    os.environ.pop("XDG_RUNTIME_DIR", None)
    # A command in the folder of `make pythons-sid` has a mount namespace already (tools/in_sid.sh). In a
    # second one this process's own files would have other paths in /proc/self/maps.
    if os.environ.get("FG_IN_SID") or _mount_own_shared():
        return True
    folder = tempfile.mkdtemp(prefix="fgtest-run-", dir=SHARED if os.path.isdir(SHARED) else None)
    owner = os.getpid()
    atexit.register(lambda: os.getpid() == owner and shutil.rmtree(folder, ignore_errors=True))
    os.environ["XDG_RUNTIME_DIR"] = folder
    return False


def _mount_own_shared() -> bool:
    """Return whether it could be done: it takes CAP_SYS_ADMIN, which root in a container may lack."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not os.path.isdir(SHARED) or libc.unshare(_CLONE_NEWNS) != 0:
        return False
    # Slaves, not private: what others unmount must not stay busy here.
    libc.mount(b"none", b"/", None, ctypes.c_ulong(_MS_REC | _MS_SLAVE), None)
    flags = ctypes.c_ulong(_MS_NOSUID | _MS_NODEV)
    return bool(libc.mount(b"tmpfs", SHARED.encode(), b"tmpfs", flags, b"mode=1777") == 0)
