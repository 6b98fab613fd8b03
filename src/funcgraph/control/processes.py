"""Which processes have a control socket, as the kernel's tables tell: no folder is entered, nobody asked.

A socket lies in a folder of its user's, in whatever container, and a process need not answer. So sockets are
taken from /proc/PID/net/unix, and who holds them from /proc/PID/fd. Whoever names another socket so is found
too: connecting tells.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress

from funcgraph.rights.proc_facts import effective_user, inner_pid, namespace, read_status

__all__ = ["running"]

_LISTENS = b"00010000"  # __SO_ACCEPTCON
#: The path by which place.c binds a socket.
_PATH = re.compile(rb".*/(\d+)-[0-9a-f]{8}\.(?:new|sock)")


def running() -> list[int]:
    """Return the ids of the processes that have a control socket and may be steered by this user, sorted.

    Processes in containers are among them if this user may look into these (root may).
    """
    pids = [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    sockets = _sockets(["self", *pids])
    return sorted(pid for pid in pids if _serves(pid, sockets))


def _serves(pid: int, sockets: dict[int, set[str]]) -> bool:
    """Return whether a process has a control socket and may be steered by this user."""
    with suppress(OSError, KeyError):  # it has ended
        if namespace(pid, "pid") in ("", namespace("self", "pid")):
            inner = pid
        else:
            inner = inner_pid(read_status(pid))
        if inner in sockets and os.geteuid() in (0, effective_user(read_status(pid))[0]):
            return _holds(pid, sockets[inner])
    return False


def _sockets(pids: Iterable[int | str]) -> dict[int, set[str]]:
    """Return the listening sockets that are named as control sockets, by the process id in their name.

    Args:
        pids: processes in whose networks to look.
    """
    found: dict[int, set[str]] = defaultdict(set)
    seen = {""}
    for pid in pids:
        if (network := namespace(pid, "net")) not in seen:
            seen.add(network)
            with suppress(OSError), open(f"/proc/{pid}/net/unix", "rb") as file:
                for fields in (line.rstrip(b"\n").split(maxsplit=7) for line in file):
                    if len(fields) == 8 and fields[3] == _LISTENS and (path := _PATH.fullmatch(fields[7])):
                        found[int(path[1])].add(f"socket:[{int(fields[6])}]")
    return found


def _holds(pid: int, sockets: set[str]) -> bool:
    """Return whether a process has one of the sockets open; True if only root can see that."""
    try:
        fds = os.listdir(f"/proc/{pid}/fd")
    except PermissionError:
        return True  # it gave up other rights: its id must do
    except OSError:
        return False
    return any(_link(f"/proc/{pid}/fd/{fd}") in sockets for fd in fds)


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
