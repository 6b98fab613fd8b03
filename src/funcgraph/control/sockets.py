"""Where the control sockets of a process lie, and connections to them: of processes in containers too.

Folders of our own user are looked at by us. Those of another user, or in other namespaces, are walked by a
helper with the process's own rights, who passes the connection on.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, suppress

from funcgraph.control.place import PREFIX, SUFFIX, folders
from funcgraph.rights.folder import OwnFolder, own_folders
from funcgraph.rights.helper import TIMEOUT_S, Helper
from funcgraph.rights.identity import ProcessIdentity
from funcgraph.rights.proc_facts import read_environ

__all__ = ["connect_to", "remove_stale"]

_TIMEVAL = struct.Struct("@ll")
_PATH_MAX = 4096  # of limits.h: the kernel opens no longer path
_CREDENTIALS = struct.Struct("=3i")  # struct ucred: pid, uid, gid


def connect_to(process: ProcessIdentity, timeout_s: float | None) -> socket.socket | None:
    """Return a connection to the process's socket; None: it has none.

    The kernel says who listens at the other end, so no other process can stand in for it.

    Args:
        process: the process.
        timeout_s: how long all of it may take, and later each answer; None: for ever.

    Raises:
        TimeoutError: it has one but takes no connection.
        OSError: the process has ended or changed; or its folders cannot be looked at.
    """
    process.check()
    end_s = None if timeout_s is None else time.monotonic() + timeout_s
    with suppress(BlockingIOError), closing(_connections(process, end_s)) as connections:
        for connection in connections:
            pid, uid = _listener(connection)
            if pid == process.pid and uid in (process.uid, 0):  # 0: it gave up being root later
                connection.settimeout(timeout_s)
                return connection
            connection.close()
        return None
    raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))


def remove_stale() -> None:
    """Remove the sockets of this user's processes that were killed, or ended without their exit functions."""
    for base in _bases(os.environ, os.geteuid()):
        for folder in own_folders(base, PREFIX):
            stale = [name for name in folder.names() if name.endswith(SUFFIX) and _is_stale(folder, name)]
            with suppress(OSError):  # it has others
                folder.remove(stale)  # no other socket ever gets one of these names


def _connections(process: ProcessIdentity, end_s: float | None) -> Generator[socket.socket, None, None]:
    """Yield a connection to each socket that may be the process's.

    Args:
        end_s: when to look no longer, on the monotonic clock; None: never.

    Raises:
        BlockingIOError: nobody takes the connection.
    """
    if process.has_our_files:
        environ = read_environ(process.pid) if process.is_like_us else {}
        for base in _bases(environ, process.uid):
            for folder in own_folders(base, PREFIX):
                for name in _names(folder.names(), process):
                    yield from _direct(folder, name, end_s)
    if not process.is_like_us:
        with Helper.start(process, TIMEOUT_S if end_s is None else _left_s(end_s)) as helper:
            yield from _through(helper, process, end_s)


def _left_s(end_s: float) -> float:
    """Return how long the next step may take: a moment at least, in which it fails."""
    return max(end_s - time.monotonic(), 0.001)


def _direct(folder: OwnFolder, name: str, end_s: float | None) -> Iterator[socket.socket]:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    if end_s is not None:  # settimeout() does not wait for room in the queue of a Unix socket
        microseconds = int(_left_s(end_s) * 1e6)
        timeval = _TIMEVAL.pack(*divmod(microseconds, 10**6))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeval)
    try:
        connection.connect(_address(folder, name))
    except OSError as error:
        connection.close()
        if isinstance(error, BlockingIOError):
            raise
    else:
        yield connection


def _through(helper: Helper, process: ProcessIdentity, end_s: float | None) -> Iterator[socket.socket]:
    def in_time() -> Helper:
        if end_s is not None:
            helper.timeout_s = _left_s(end_s)
        return helper

    # The environment is the process's word. It only names folders, which the helper enters with the process's
    # rights; who listens there is the kernel's word.
    for base in _bases(read_environ(process.pid), process.uid):
        for path in _names(in_time().own_files(base, PREFIX), process):
            with suppress(ConnectionError, FileNotFoundError, PermissionError):
                yield in_time().connect(path)


def _is_stale(folder: OwnFolder, name: str) -> bool:
    """Return whether nobody listens at a socket any longer. Any other failure to connect says nothing."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.setblocking(False)
        try:
            connection.connect(_address(folder, name))
        except ConnectionRefusedError:
            return True
        except OSError:  # gone; its queue is full; or this process has no /proc
            pass
    return False


def _address(folder: OwnFolder, name: str) -> str:
    """Return an address through the folder's descriptor: a path may be too long, or lead elsewhere by now."""
    return f"/proc/self/fd/{folder.fileno()}/{name}"


def _names(paths: Iterable[str], process: ProcessIdentity) -> list[str]:
    """Return those files that a process with its number may have made as its socket."""
    begin = f"{process.inner_pid}-"
    return [path for path in paths if path.rpartition("/")[2].startswith(begin) and path.endswith(SUFFIX)]


def _listener(connection: socket.socket) -> tuple[int, int]:
    """Return the process, by its id here, that listens at the other end, and its user."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _ = _CREDENTIALS.unpack(raw)
    return pid, uid


def _bases(environ: dict[str, str] | os._Environ[str], uid: int) -> list[str]:
    """Return the folders in which a process with that environment may have made its socket."""
    paths = [*folders(environ), *folders(os.environ), f"/run/user/{uid}"]
    return [path for path in dict.fromkeys(paths) if len(os.fsencode(path)) < _PATH_MAX]
