"""What the programs of hostile users have in common: becoming that user, mounts, signals to all others."""

from __future__ import annotations

import ctypes
import importlib
import os
import pkgutil
import signal
from contextlib import suppress
from pathlib import Path

__all__ = [
    "MS_BIND",
    "MS_PRIVATE",
    "MS_REC",
    "as_user",
    "become",
    "checked",
    "end_with_parent",
    "load_all",
    "mount",
    "own_mounts",
    "own_user_namespace",
    "signal_others",
]

MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
_NEW_USER, _NEW_MOUNTS = 0x10000000, 0x00020000
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_libc = ctypes.CDLL(None, use_errno=True)


def as_user(user: int) -> tuple[str, ...]:
    """Return the words before a command by which root runs it as this user, who may have no name."""
    return ("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups")


def become(user: int) -> None:
    """Become this user and no other. The memory may be looked at as that of any program of this user."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    checked(_libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0))


def checked(status: int) -> None:
    """Raise the OSError of a call of libc that did not return 0."""
    if status != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def end_with_parent() -> None:
    """Get SIGKILL when the thread that started this process ends. Becoming another user undoes it."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def own_mounts() -> None:
    """Get a mount namespace of one's own."""
    checked(_libc.unshare(_NEW_MOUNTS))


def own_user_namespace(user: int) -> None:
    """Be root in a user namespace of one's own, and mount what one likes in a mount namespace of one's own.

    Args:
        user: who one is.
    """
    checked(_libc.unshare(_NEW_USER | _NEW_MOUNTS))
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {user} 1")


def mount(source: Path | str, place: Path | str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """mount(2)."""
    words = [os.fsencode(word) for word in (source, place, kind)]
    checked(_libc.mount(*words, ctypes.c_ulong(flags), data.encode() or None))


def load_all() -> None:
    """Import what a request or an attacher may import: the user may be unable to read Python's folder."""
    for name in ("_environ", "_system"):
        importlib.import_module(f"funcgraph.{name}")
    for package in ("attach", "control", "events", "instance", "session", "tracefs"):
        folder = importlib.import_module(f"funcgraph.{package}")
        for module in pkgutil.iter_modules(folder.__path__):
            with suppress(ImportError):  # of this machine or Python there is none
                importlib.import_module(f"funcgraph.{package}.{module.name}")


def signal_others(number: int) -> None:
    """Send a signal to all processes that the user may signal, but this one."""
    for name in filter(str.isdecimal, os.listdir("/proc")):
        if int(name) != os.getpid():
            with suppress(PermissionError, ProcessLookupError):
                os.kill(int(name), number)
