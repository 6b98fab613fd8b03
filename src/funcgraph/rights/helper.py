"""Helpers: processes that do for us, with the rights of another process, what is to be done in its folders.

Its user may put a link, a mount or a file system of its own anywhere on a path in the moment before we walk
it. So its paths are walked by a child of ours that has given up our rights for those of the process
(target.py): it can do nothing that this user could not do. What comes back are descriptors and short answers.
The helper runs our code in memory that nobody may look into. Yet its user may stop or kill it, and whatever
it opens may block: so each request has a time limit.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import socket
import stat
import threading
import time
import warnings
from contextlib import suppress
from typing import Any, Self

from funcgraph.rights import packets, service
from funcgraph.rights.descriptors import component, is_memory, regular
from funcgraph.rights.folder import Folder
from funcgraph.rights.identity import ProcessIdentity, pidfd_or_none
from funcgraph.rights.target import Target

__all__ = ["TIMEOUT_S", "Helper", "HelperFolder"]

TIMEOUT_S = 10.0
_ENDING_S, _LOOK_S = 1.0, 0.002
#: Held while one is forked: catch_warnings() changes what all threads share.
_FORK_LOCK = threading.Lock()


class Helper:
    """A process with the rights of another one. Any thread may use it. A context manager: close it.

    Attributes:
        process: the id of the process whose rights it has.
        uid: the user that it is, as we see it.
        timeout_s: how long a request may take, in seconds. The helper is killed after this.
    """

    def __init__(
        self, identity: ProcessIdentity, child: int, stream: socket.socket, timeout_s: float
    ) -> None:
        self.process = identity.pid
        self.uid = identity.uid
        self.timeout_s = timeout_s
        self._child = _Child(child)
        self._stream: socket.socket | None = stream
        self._lock = threading.Lock()
        self._number = 0

    @classmethod
    def start(cls, identity: ProcessIdentity, timeout_s: float = TIMEOUT_S) -> Self:
        """Start one. It ends with the thread that calls this, if it was not closed before.

        Args:
            identity: the process whose rights it gets.
            timeout_s: how long this, and later each request, may take, in seconds.

        Raises:
            OSError: the process has ended or changed; or we may not become its user, or do not know it.
        """
        target = Target.of(identity)
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            helper = cls(identity, _fork(its, target), ours, timeout_s)
        except BaseException:
            ours.close()
            raise
        finally:
            its.close()
            target.close()
        try:
            helper._receive(0)
        except BaseException as error:
            helper.close()
            if isinstance(error, OSError) and not isinstance(error, TimeoutError):
                raise OSError(error.errno, _refusal(identity, error)) from None
            raise
        return helper

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the helper, with what it holds. May be called twice."""
        with self._lock:
            self._end()

    def make_folder(self, places: list[str], prefix: str) -> Folder:
        """Make a directory in the first place that can be used: the process's user owns and uses it alone.

        Args:
            places: directories, as the process sees them.
            prefix: what its name begins with.

        Raises:
            OSError: no place can be used; the message names each with the reason.
        """
        (number, path), _ = self.ask("make_folder", places, prefix)
        return HelperFolder(self, number, path)

    def open_folder(self, path: str) -> Folder:
        """Open a directory that is there, of the process's user alone.

        Raises:
            OSError: there is none, or its file system may keep us waiting. PermissionError: another user owns
                it, or others may use it.
        """
        number, _ = self.ask("open_folder", path)
        return HelperFolder(self, number, path)

    def names_in(self, place: str) -> list[str]:
        """Return what is in a directory, as the process sees it; whoever owns it."""
        return packets.unpack_names(self.request_data("names_in", place))

    def open_file(self, path: str) -> int:
        """Open a regular file for reading, whoever owns it; return the descriptor.

        Raises:
            OSError: there is none, or its file system may keep us waiting.
        """
        return regular(self.request_fd("open_file", path), path)

    def statvfs(self, path: str) -> os.statvfs_result:
        """Return facts about the file system of a path, as os.statvfs()."""
        return os.statvfs_result(self.ask("statvfs", path)[0])

    def connect(self, path: str) -> socket.socket:
        """Return a connection to a Unix socket.

        Who is at the other end, its credentials tell (SO_PEERCRED): the path proves nothing.

        Raises:
            OSError: nobody listens there.
        """
        connection = socket.socket(fileno=self.request_fd("connect", path))
        if connection.family != socket.AF_UNIX:
            connection.close()
            raise OSError(errno.EPROTOTYPE, "not a Unix socket", path)
        return connection

    def own_files(self, base: str, prefix: str) -> list[str]:
        """Return the files in folders in `base` that the user alone may use, and whose names begin so."""
        return packets.unpack_names(self.request_data("own_files", base, prefix))

    def ask(
        self, call: str, *arguments: Any, folder: int | None = None, data: bytes | None = None
    ) -> tuple[Any, int | None]:
        """Make a request, for a folder or none; return the value, and a descriptor or None.

        Raises:
            OSError: as the helper got it; or the helper was killed, or did not answer in time.
        """
        data_fd = None if data is None else packets.memory_with(data)
        try:
            with self._lock:
                self._number += 1
                request = {"number": self._number, "call": call, "arguments": arguments, "folder": folder}
                self._send(request, data_fd)
                return self._receive(self._number)
        finally:
            if data_fd is not None:
                os.close(data_fd)

    def request_fd(self, call: str, *arguments: Any, folder: int | None = None) -> int:
        """Make a request whose answer is a descriptor."""
        fd = self.ask(call, *arguments, folder=folder)[1]
        assert fd is not None, call
        return fd

    def request_data(
        self, call: str, *arguments: Any, folder: int | None = None, most: int = packets.MOST_NAMES_BYTES
    ) -> bytes:
        """Make a request whose answer is data; return at most so many bytes of it."""
        fd = self.request_fd(call, *arguments, folder=folder)
        with open(fd, "rb") as file:
            if not is_memory(fd) or not stat.S_ISREG(os.fstat(fd).st_mode):
                raise OSError(errno.EINVAL, "not a file in memory")
            return file.read(most)

    def _send(self, request: dict[str, Any], data_fd: int | None) -> None:
        if self._stream is None:
            raise self._gone()
        self._stream.settimeout(self.timeout_s)
        try:
            packets.send(self._stream, request, data_fd)
        except (TimeoutError, ConnectionError):
            self._end()
            raise self._gone() from None

    def _receive(self, number: int) -> tuple[Any, int | None]:
        assert self._stream is not None
        end = time.monotonic() + self.timeout_s
        answer: dict[str, Any] = {}
        while answer.get("number") != number:  # an exception of a signal's handler may have kept us from one
            self._stream.settimeout(max(end - time.monotonic(), 0.001))
            try:
                answer, fd = packets.receive(self._stream)
            except TimeoutError:
                self._end()
                raise self._silent() from None
            except (ConnectionError, EOFError):
                self._end()
                raise self._gone() from None
            if fd is not None and answer["number"] != number:
                os.close(fd)
        if "errno" in answer:
            raise OSError(answer["errno"], answer["error"], answer["file"])
        return answer["value"], fd

    def _end(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None
            self._child.kill()

    def _silent(self) -> TimeoutError:
        text = (
            f"what is done with the rights of process {self.process} took more than {self.timeout_s:g} s: "
            "its user stopped the helper, or a file system there does not answer"
        )
        return TimeoutError(errno.ETIMEDOUT, text)

    def _gone(self) -> OSError:
        return OSError(errno.EPIPE, f"the helper with the rights of process {self.process} was killed")


def _refusal(identity: ProcessIdentity, error: OSError) -> str:
    text = f"no helper can have the rights of process {identity.pid}: {error.strerror}"
    if error.errno == errno.EPERM:
        text += " (it takes root, with CAP_SETUID, CAP_SETGID, and CAP_SYS_CHROOT for a container)"
    return text


class HelperFolder:
    """A directory of another process's user, which its helper keeps: a Folder.

    Attributes:
        path: its path, as the process sees it.
    """

    def __init__(self, helper: Helper, number: int, path: str) -> None:
        self.path = path
        self._helper = helper
        self._number = number
        self._is_open = True

    def names(self) -> list[str]:
        return packets.unpack_names(self._helper.request_data("names", folder=self._number))

    def has(self, name: str) -> bool:
        return bool(self._request("has", component(name)))

    def open(self, name: str, flags: int, mode: int = 0o600) -> int:
        fd = regular(self._helper.request_fd("open", component(name), flags, mode, folder=self._number), name)
        owner = os.fstat(fd).st_uid
        if owner != self._helper.uid:
            os.close(fd)
            raise PermissionError(errno.EPERM, f"user {owner} owns it, not user {self._helper.uid}", name)
        return fd

    def read(self, name: str, most: int) -> bytes:
        return self._helper.request_data("read", component(name), most, folder=self._number, most=most)

    def write(self, name: str, data: bytes) -> None:
        self._helper.ask("write", component(name), data=data, folder=self._number)

    def rename(self, old: str, new: str) -> None:
        self._request("rename", component(old), component(new))

    def unlink(self, name: str) -> None:
        self._request("unlink", component(name))

    def remove(self, names: list[str]) -> None:
        data = packets.pack_names([component(name) for name in names])
        self._helper.ask("remove", data=data, folder=self._number)

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            with suppress(OSError):  # it goes with the helper
                self._request("close")

    def _request(self, call: str, *arguments: Any) -> Any:
        return self._helper.ask(call, *arguments, folder=self._number)[0]


class _Child:
    """A child process, killed and waited for without ever waiting long.

    It may be in the kernel and not end, if a file system of its user's does not answer.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._pidfd = pidfd_or_none(pid)

    def kill(self) -> None:
        """End it. May be called once."""
        with suppress(ProcessLookupError):
            if self._pidfd is None:
                os.kill(self._pid, signal.SIGKILL)
            else:  # whoever waits for all children may have waited for it
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        if self._pidfd is not None:
            os.close(self._pidfd)
        end = time.monotonic() + _ENDING_S
        with suppress(ChildProcessError):
            while os.waitpid(self._pid, os.WNOHANG) == (0, 0) and time.monotonic() < end:
                select.select([], [], [], _LOOK_S)


def _fork(stream: socket.socket, target: Target) -> int:
    """Start the process that serves at a socket; return its id."""
    former = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        with _FORK_LOCK, warnings.catch_warnings():
            # Of locks that other threads hold: the child takes none but Python's, which fork makes anew.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            service.run(stream, target)
        return child
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)
