"""A tracefs behind a connection: the tree of another process, and what else can be asked of it.

with connect(4711) as process:
    process.write_text("current_tracer", "function_graph")
    print(process.read_text("trace"))
"""

from __future__ import annotations

import errno
import os
import pwd
import socket
import threading
import time
from contextlib import suppress

from funcgraph.control import answers, wire
from funcgraph.control.answer_limit import MOST_BYTES, TIMEOUT_S, AnswerLimit, Share
from funcgraph.control.sockets import connect_to
from funcgraph.control.waiting import RemoteWait, Waits, wait_until_ready
from funcgraph.rights.identity import ProcessIdentity
from funcgraph.tracefs.interface import Entry

__all__ = ["Connection", "NotServedError", "ProcessEndedError", "RemoteFile", "connect", "wait_until_ready"]

#: A process that ends has closed its sockets this long, at most, before it counts as ended.
_ENDING_S, _LOOK_S = 0.5, 0.002


class NotServedError(ConnectionRefusedError):
    """The process is there and ours, but has no control socket."""


class ProcessEndedError(ConnectionError):
    """The process has ended, or has stopped to serve."""


def connect(pid: int, timeout_s: float | None = TIMEOUT_S) -> Connection:
    """Connect to a running process that has a control socket.

    Args:
        pid: its process id.
        timeout_s: how long to wait for the connection, and then for each answer, in seconds; None: for ever.

    Returns:
        The connection: a tracefs (funcgraph.tracefs.interface.Tree), a context manager.

    Raises:
        ProcessLookupError: there is no such process, or it has ended.
        PermissionError: it belongs to another user.
        NotServedError: it has no control socket.
        TimeoutError: it did not answer: it is stopped, or keeps the interpreter lock.
        OSError: it refuses: it has too many clients, or another version of funcgraph.
    """
    end_s = None if timeout_s is None else time.monotonic() + timeout_s
    process = ProcessIdentity.of(pid)
    if os.geteuid() not in (0, process.uid):
        text = f"process {pid} belongs to {_user(process.uid)}: only that user and root may steer it"
        raise PermissionError(errno.EPERM, text)
    try:
        stream = connect_to(process, timeout_s)
    except TimeoutError:
        raise TimeoutError(errno.ETIMEDOUT, _silent(pid, timeout_s)) from None
    if stream is None:
        raise NotServedError(
            errno.ECONNREFUSED,
            f"process {pid} has no control socket: attach to it, start it with FUNCGRAPH=control, "
            f"or have it call funcgraph.serve()",
        )
    return Connection(process, stream, end_s)


def _user(uid: int) -> str:
    try:
        return f"user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"user {uid}"


def _silent(pid: int, timeout_s: float | None) -> str:
    return (
        f"process {pid} did not answer within {timeout_s:g} s: it is stopped, or keeps the interpreter lock"
    )


class Connection:
    """A connection to a process. It is a Tree; any thread may use it, also several at a time.

    An error of the other side is raised as the OSError that it was there. When the process has ended, every
    method raises ProcessEndedError.

    Args:
        process: the process.
        stream: a connection to its socket.
        end_s: until when it may say who it is, on the monotonic clock; None: as any other answer.

    Attributes:
        pid: the process's id.
    """

    def __init__(self, process: ProcessIdentity, stream: socket.socket, end_s: float | None = None) -> None:
        self.pid = process.pid
        self._process = process
        self._stream: socket.socket | None = stream
        self._timeout_s = stream.gettimeout()
        self._end_s = end_s
        self._share: Share | None = None
        self._lock = threading.Lock()
        self._waits = Waits(process)
        try:
            hello = self.request("hello", version=wire.VERSION)[0]
            assert isinstance(hello, dict)
            self._end_s = None
        except BaseException:
            self.close()
            raise
        if hello["version"] != wire.VERSION:
            self.close()
            versions = f"it speaks version {hello['version']} at its socket, we {wire.VERSION}"
            raise OSError(errno.EPROTO, f"process {self.pid} has another version of funcgraph: {versions}")

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection: the process closes the files that were opened through it.

        A request of another thread ends with an error.
        """
        self._waits.close()
        stream = self._stream
        if stream is not None and self._lock.locked():
            with suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._drop()

    def fileno(self) -> int:
        """Return the descriptor of the socket: readable when the process has ended, and nothing is asked."""
        return -1 if self._stream is None else self._stream.fileno()

    def stat(self, path: str) -> Entry:
        """Return what the path is, as Tree.stat()."""
        row = self.request("stat", path=path)[0]
        assert isinstance(row, list)
        return Entry(*row)

    def list(self, path: str) -> list[str]:
        """Return the names in a folder, as Tree.list()."""
        names = self.request("list", path=path)[0]
        assert isinstance(names, list)
        return names

    def mkdir(self, path: str) -> None:
        """Make an instance, as Tree.mkdir()."""
        self.request("mkdir", path=path)

    def rmdir(self, path: str) -> None:
        """Remove an instance, as Tree.rmdir()."""
        self.request("rmdir", path=path)

    def open(self, path: str, flags: int) -> RemoteFile:
        """Open a file, as Tree.open()."""
        number = self.request("open", path=path, flags=flags)[0]
        assert isinstance(number, int)
        return RemoteFile(self, number)

    def read_text(self, path: str) -> str:
        """Return what a file says; of a pipe, what it has now."""
        number, data = self.request("get", path=path)
        if isinstance(number, int):  # there may be more than fits into one answer
            with RemoteFile(self, number) as file:
                data += file.read_all(len(data))
        return data.decode("utf-8", "surrogateescape")

    def write_text(self, path: str, text: str, append: bool = False) -> None:
        """Write to a file, as `echo TEXT > FILE`; with `append`, as `>>`."""
        data = text.encode("utf-8", "surrogateescape")
        flags = os.O_WRONLY | (os.O_APPEND if append else os.O_TRUNC)
        if len(data) <= wire.MAX_BODY:
            self.request("put", data, path=path, flags=flags)
            return
        with self.open(path, flags) as file:
            file.write_all(data)

    def call(self, name: str, /, **arguments: object) -> object:
        """Call a procedure of the process: see control/procedures.py for those that there are.

        Args:
            name: such as "info".
            arguments: values that JSON has.

        Returns:
            What it returns.

        Raises:
            OSError: ENOSYS: there is no such procedure. EINVAL: wrong arguments. Others: as it raised.
        """
        return self.request("call", name=name, arguments=arguments)[0]

    def request(self, op: str, body: bytes = b"", /, **fields: object) -> tuple[object, bytes]:
        """Make one request; return the answer's value and body, which have the shape that they must have.

        Raises:
            OSError: what the other side raised, or the connection has ended. EPROTO: it answered nonsense.
        """
        message = wire.framed(wire.pack({"op": op, **fields}, body))
        with self._lock:
            header, answered = self._exchange(message)
        procedure = str(fields["name"]) if op == "call" else None
        try:
            if "ok" in header:
                answers.check(op, procedure, header["ok"], answered)
                return header["ok"], answered
            number, text = answers.check_error(header.get("errno"), header.get("error"))
        except answers.ShapeError as error:
            raise self.nonsense(f"{error} to '{procedure or op}'") from None
        refusal = OSError(number, text)
        # Only this side knows whether a connection has broken: this one, or standard output.
        raise OSError(errno.EIO, text) if isinstance(refusal, ConnectionError) else refusal

    def nonsense(self, what: object) -> OSError:
        """Return the error for an answer that is none."""
        return OSError(errno.EPROTO, f"process {self.pid} answered nonsense: {what}")

    def answer_limit(self, what: str, most_bytes: int = MOST_BYTES) -> AnswerLimit:
        """Return how much, and for how long, to take of a longer answer that is kept."""
        return AnswerLimit(what, self._timeout_s, most_bytes=most_bytes, share=self._share)

    def limit(self, share: Share | None) -> None:
        """Let all further answers have the limit of one, as others are asked at the same time; None: each one
        has its own."""
        self._share = share

    def wait(self, place: tuple[int, int]) -> RemoteWait:
        """Wait at a connection of its own for what a file waits for (Wait.place)."""
        return RemoteWait(self._waits, place)

    def _exchange(self, message: bytes) -> tuple[dict[str, object], bytes]:
        stream = self._stream
        if stream is None:
            raise self._ended()
        try:
            stream.settimeout(self._left_s())
            stream.sendall(message)
            answer = wire.receive(stream)
            if self._share is not None:
                self._share.answered(len(answer))
            return wire.unpack(answer)
        except TimeoutError:
            self._drop()  # the late answer would be taken for that to the next request
            raise TimeoutError(errno.ETIMEDOUT, self._late()) from None
        except (ConnectionError, EOFError):
            self._drop()
            self._let_it_end()
            raise self._ended() from None
        except wire.WireError as error:
            self._drop()
            raise self.nonsense(error) from None

    def _left_s(self) -> float | None:
        """Return how long to wait for the next answer; None: for ever.

        Raises:
            TimeoutError: no longer.
        """
        left = [] if self._timeout_s is None else [self._timeout_s]
        if self._end_s is not None:
            left.append(self._end_s - time.monotonic())
        if self._share is not None:
            left.append(self._share.left_s())
        if left and min(left) <= 0:
            raise TimeoutError
        return min(left) if left else None

    def _late(self) -> str:
        share = self._share
        if share is None or not share.answers:
            return _silent(self.pid, self._timeout_s if share is None else share.timeout_s)
        return f"process {self.pid} answers too slowly: {share.answers} answers in {share.waited_s():.0f} s"

    def _drop(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _let_it_end(self) -> None:
        until = time.monotonic() + _ENDING_S
        while not self._process.has_ended() and time.monotonic() < until:
            time.sleep(_LOOK_S)

    def _ended(self) -> ProcessEndedError:
        if self._process.has_ended():
            return ProcessEndedError(errno.ESRCH, f"process {self.pid} has ended")
        text = (
            f"process {self.pid} has closed the connection: it has stopped serving, or has too many clients"
        )
        return ProcessEndedError(errno.ECONNRESET, text)


class RemoteFile:
    """A file of the other process's tree, open: an OpenFile. Made by Connection.open()."""

    def __init__(self, connection: Connection, number: int) -> None:
        self._connection = connection
        self._number: int | None = number

    def __enter__(self) -> RemoteFile:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def ready(self) -> bool:
        """Whether read() has something, or an end, now: as OpenFile.ready."""
        return self._connection.request("ready", file=self._open())[0] is True

    def wait(self) -> RemoteWait | None:
        """Begin to wait until it is ready, as OpenFile.wait(). The process is asked once."""
        place = self._connection.request("wait", file=self._open())[0]
        return self._connection.wait((place[0], place[1])) if isinstance(place, list) else None

    def read(self, offset: int, size: int) -> bytes:
        """Return bytes from an offset, as OpenFile.read(): at most 1 MiB."""
        size = min(size, wire.MAX_BODY)
        data = self._connection.request("read", file=self._open(), offset=offset, size=size)[1]
        if len(data) > size:
            raise self._connection.nonsense(f"{len(data)} bytes to 'read' of {size}")
        return data

    def read_all(self, offset: int = 0) -> bytes:
        """Return all of it, from an offset; of a pipe, what it has now."""
        parts: list[bytes] = []
        limit = self._connection.answer_limit(f"process {self._connection.pid}: a file")
        try:
            while part := self.read(offset, wire.MAX_BODY):
                limit.take(len(part))
                parts.append(part)
                offset += len(part)
        except BlockingIOError:
            pass
        return b"".join(parts)

    def write(self, offset: int, data: bytes) -> int:
        """Carry out one write(), as OpenFile.write(): of at most 1 MiB."""
        part = data[: wire.MAX_BODY]
        written = self._connection.request("write", part, file=self._open(), offset=offset)[0]
        assert isinstance(written, int)
        if written > len(part):
            raise self._connection.nonsense(f"{written} to 'write' of {len(part)}")
        return written

    def write_all(self, data: bytes) -> None:
        """Write all of it, in as many write()s as it takes; an empty text is one, too."""
        offset = self.write(0, data)
        while offset < len(data):
            written = self.write(offset, data[offset:])
            if written <= 0:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            offset += written

    def close(self) -> None:
        """Close it. May be called twice, and after the process has ended."""
        number, self._number = self._number, None
        if number is not None:
            try:
                self._connection.request("close", file=number)
            except ConnectionError:
                pass  # it is closed

    def _open(self) -> int:
        if self._number is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return self._number
