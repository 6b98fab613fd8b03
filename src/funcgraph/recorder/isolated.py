"""How a recorder tells isolated Pythons (-I, -E), which heed no environment, of its session.

The command inherits a sealed memfd with the variable of environ.py. A memfd and not the command line, because
a program may start its Pythons itself, and its script may have -I in its first line.
"""

from __future__ import annotations

import errno
import fcntl
import os
import resource

from funcgraph import _environ
from funcgraph.session.environ import DESCRIPTOR, VARIABLE

__all__ = ["inheritable", "session_memory"]

_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE


def session_memory(value: str) -> int:
    """Return a memfd that has the variable; it is closed by exec.

    Args:
        value: the directories of the sessions, as the variable has them.

    Raises:
        OSError: the command could not inherit it.
    """
    _check_number()
    fd = os.memfd_create("funcgraph-session", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.write(fd, os.fsencode(f"{VARIABLE}={value}"))
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _SEALS)
    except BaseException:
        os.close(fd)
        raise
    return fd


def inheritable(fd: int) -> None:
    """Give the memfd the number under which this process's next program finds it."""
    os.dup2(fd, DESCRIPTOR, inheritable=True)


def _check_number() -> None:
    """Raise OSError if the number is in use, by what the command is to inherit, or beyond the limit."""
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] <= DESCRIPTOR:
        raise OSError(errno.EMFILE, f"--isolated needs descriptor {DESCRIPTOR}: raise the limit (ulimit -n)")
    try:
        is_taken = os.get_inheritable(DESCRIPTOR)
    except OSError:
        return
    if is_taken and _environ.read_sealed(DESCRIPTOR) is None:
        raise OSError(errno.EBUSY, f"--isolated needs descriptor {DESCRIPTOR}, which is open")
