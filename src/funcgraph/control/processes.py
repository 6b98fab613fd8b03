"""Finding the control sockets of processes: also of those in containers, through /proc/PID/root."""

from __future__ import annotations

import errno
import os
import socket
import stat
import struct
from collections.abc import Iterator
from contextlib import suppress

from funcgraph.control.place import PREFIX, SUFFIX, folders
from funcgraph.rights.proc_facts import effective_user, inner_pid, read_status, sees_our_files, start_time

__all__ = ["Process", "connect_to", "remove_stale", "running", "sockets"]

_TIMEVAL = struct.Struct("@ll")
_CREDENTIALS = struct.Struct("=3i")  # struct ucred: pid, uid, gid


class Process:
    """What /proc says of a process.

    Args:
        pid: the process's id, here.

    Attributes:
        uid: its effective user id.
        inner_pid: its id in its own namespace of process ids.
        start: when it started: no later process of that id has the same.

    Raises:
        ProcessLookupError: there is none, or it is a zombie.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        try:
            status = read_status(pid)
            self.uid, _ = effective_user(status)
            self.inner_pid = inner_pid(status)
            self.start = start_time(pid) or ""
        except (OSError, KeyError, IndexError, ValueError):
            self.start = ""
        if not self.start:
            raise ProcessLookupError(errno.ESRCH, f"no process {pid}")

    def has_ended(self) -> bool:
        """Return whether it has. A zombie has."""
        return start_time(self.pid) != self.start


def _environ(pid: int) -> dict[str, str]:
    """Return the environment with which a process began; {}: it may not be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            words = os.fsdecode(file.read()).split("\0")
    except OSError:
        return {}
    return {name: value for name, _, value in (word.partition("=") for word in words)}


def _bases(pid: int, uid: int, root: str) -> list[str]:
    """Return the folders, seen from below `root`, in which a process may have made its socket."""
    paths = [*folders(_environ(pid)), *folders(os.environ), f"/run/user/{uid}"]
    return [root + path for path in dict.fromkeys(paths)]


def _control_folders(base: str, uid: int | None) -> Iterator[int]:
    """Yield a descriptor of each folder of sockets in `base` that is the user's or root's; None: anyone's.

    Nothing is followed out of the folder: its name may be a link that somebody else has made.
    """
    try:
        names = [name for name in os.listdir(base) if name.startswith(PREFIX)]
    except OSError:
        return
    for name in names:
        try:
            fd = os.open(f"{base}/{name}", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            facts = os.fstat(fd)
            if (uid is None or facts.st_uid in (uid, 0)) and not stat.S_IMODE(facts.st_mode) & 0o077:
                yield fd
        finally:
            os.close(fd)


def _connected(folder_fd: int, name: str, timeout_s: float | None) -> socket.socket | None:
    """Return a connection to a socket in the folder; None: nobody listens there.

    Raises:
        TimeoutError: the process takes no more connections.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    if timeout_s is not None:  # settimeout() does not wait for room in the queue of a Unix socket
        microseconds = max(1, int(timeout_s * 1e6))
        connection.setsockopt(
            socket.SOL_SOCKET, socket.SO_SNDTIMEO, _TIMEVAL.pack(*divmod(microseconds, 10**6))
        )
    try:
        # Through the folder's descriptor: a path may be too long, and lead elsewhere by now.
        connection.connect(f"/proc/self/fd/{folder_fd}/{name}")
        connection.settimeout(timeout_s)
    except BlockingIOError:
        connection.close()
        raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT)) from None
    except OSError:
        connection.close()
        return None
    return connection


def _is_stale(folder_fd: int, name: str) -> bool:
    """Return whether nobody listens at a socket any longer. Any other failure to connect says nothing."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.setblocking(False)
        try:
            connection.connect(f"/proc/self/fd/{folder_fd}/{name}")
        except ConnectionRefusedError:
            return True
        except OSError:  # gone; its queue is full; or this process has no /proc
            pass
    return False


def _listener(connection: socket.socket) -> tuple[int, int]:
    """Return the process, by its id here, that listens at the other end, and its user."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _ = _CREDENTIALS.unpack(raw)
    return pid, uid


def _names(folder_fd: int) -> list[str]:
    """Return the names of the sockets in a folder."""
    with suppress(OSError):
        return sorted(name for name in os.listdir(folder_fd) if name.endswith(SUFFIX) and len(name) <= 64)
    return []


def sockets(process: Process) -> Iterator[tuple[int, str]]:
    """Yield (descriptor of the folder, name) of each file that may be the process's socket."""
    root = "" if sees_our_files(process.pid) else f"/proc/{process.pid}/root"
    for base in _bases(process.pid, process.uid, root):
        for fd in _control_folders(base, process.uid):
            begin = f"{process.inner_pid}-"
            yield from ((fd, name) for name in _names(fd) if name.startswith(begin))


def connect_to(process: Process, timeout_s: float | None) -> socket.socket | None:
    """Return a connection to the process's socket; None: it has none.

    The kernel says who listens at the other end, so no other process can stand in for it.

    Raises:
        TimeoutError: it has one but takes no connection.
    """
    for fd, name in sockets(process):
        connection = _connected(fd, name, timeout_s)
        if connection is not None:
            pid, uid = _listener(connection)
            if pid == process.pid and uid in (process.uid, 0):  # 0: it gave up being root later
                return connection
            connection.close()
    return None


def running() -> list[int]:
    """Return the ids of the processes that have a control socket and may be steered by this user, sorted.

    Processes in other mount namespaces are among them if this user may look into these (root may).
    """
    mine: int | None = os.geteuid() or None
    found: set[int] = set()
    for pid, root in _roots():
        for base in _bases(pid, os.geteuid(), root):
            for fd in _control_folders(base, mine):
                found.update(_listeners(fd))
    return sorted(found)


def remove_stale() -> None:
    """Remove the sockets of this user's processes that were killed, or ended without their exit functions."""
    for base in _bases(os.getpid(), os.geteuid(), ""):
        for fd in _control_folders(base, os.geteuid()):
            for name in _names(fd):
                if _is_stale(fd, name):
                    with suppress(OSError):
                        os.unlink(name, dir_fd=fd)  # no other socket ever gets this name
        with suppress(OSError):
            os.rmdir(f"{base}/{PREFIX}{os.geteuid()}")  # fails while there are others


def _roots() -> Iterator[tuple[int, str]]:
    """Yield a process of each mount namespace, and where its files are seen; our own first."""
    seen = {os.stat("/proc/self/ns/mnt").st_ino}
    yield os.getpid(), ""
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with suppress(OSError):
                namespace = os.stat(f"/proc/{name}/ns/mnt").st_ino
                if namespace not in seen:
                    seen.add(namespace)
                    yield int(name), f"/proc/{name}/root"


def _listeners(folder_fd: int) -> Iterator[int]:
    """Yield the processes that listen at the sockets in a folder."""
    for name in _names(folder_fd):
        with suppress(TimeoutError):
            connection = _connected(folder_fd, name, 1.0)
            if connection is not None:
                pid = _listener(connection)[0]
                connection.close()
                if pid > 0:  # 0: in another namespace of process ids
                    yield pid
