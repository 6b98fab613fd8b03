"""Answers requests at the control socket: files of this process's tracefs, and procedures.

The native thread of funcgraph._control calls `handle` for each request, one at a time. It trusts nothing that
a client sends: each field is checked, sizes and numbers are bounded, and each error is an answer.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from typing import TypeVar

from funcgraph.control import wire
from funcgraph.control.procedures import PROCEDURES, procedure
from funcgraph.names import did_you_mean
from funcgraph.tracefs.interface import OpenFile, Tree

__all__ = ["MAX_FILES", "clients", "close_all", "handle"]

#: The most files that one client may have open.
MAX_FILES = 256
_FLAGS = os.O_ACCMODE | os.O_APPEND | os.O_TRUNC | os.O_NONBLOCK
#: An answer: its value, which is JSON, and its body.
_Answer = tuple[object, bytes]
_NOTHING: _Answer = (None, b"")
_Header = dict[str, object]
_T = TypeVar("_T")
_MOST = 1 << 62  # an offset
_MOST_BRACKETS = 1000  # of a request's JSON: the parser's recursion is bounded


class _Client:
    """What is kept for one client.

    Attributes:
        tree: the tracefs that it sees.
        files: its open files, by number.
        has_greeted: its first request was "hello".
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.files: dict[int, OpenFile] = {}
        self.has_greeted = False
        self._next = 1

    def keep(self, file: OpenFile) -> int:
        number = self._next
        self._next += 1
        self.files[number] = file
        return number

    def check_room(self) -> None:
        if len(self.files) >= MAX_FILES:
            raise OSError(errno.EMFILE, f"{MAX_FILES} files are open: a client cannot have more")

    def close(self) -> None:
        while self.files:
            try:
                self.files.popitem()[1].close()
            except Exception:
                pass  # nobody is there to report it to


class _Clients(dict[int, _Client]):
    """All clients, by number.

    Attributes:
        process: whose clients these are: a fork's child has none of them.
    """

    process = 0


_clients = _Clients()


def _tree() -> Tree:
    from funcgraph.control.owned import OwnedTree
    from funcgraph.tracefs.tree import Tree as ProcessTree

    return OwnedTree(ProcessTree())


def handle(number: int, message: bytes | None) -> bytes:
    """Return the answer to a client's message; when the client has gone (None), close its files."""
    _begin()
    if message is None:
        client = _clients.pop(number, None)
        if client is not None:
            client.close()
        return b""
    if number not in _clients:
        _clients[number] = _Client(_tree())
    try:
        value, body = _answer(_clients[number], message)
        return wire.pack({"ok": value}, body)
    except wire.WireError as error:
        return _refusal(errno.EPROTO, str(error))
    except OSError as error:
        return _refusal(error.errno or errno.EIO, error.strerror or str(error))
    except ValueError as error:
        return _refusal(errno.EINVAL, str(error))
    except MemoryError:
        return _refusal(errno.ENOMEM, os.strerror(errno.ENOMEM))
    except BaseException as error:
        return _refusal(errno.EIO, f"{type(error).__name__}: {error}")


def clients() -> int:
    """Return how many clients are connected."""
    return len(_clients)


def close_all() -> None:
    """Close the files of all clients: they have gone, or are those of this process's parent."""
    while _clients:
        _clients.popitem()[1].close()


def _begin() -> None:
    if _clients.process != os.getpid():
        close_all()
        _clients.process = os.getpid()


def _refusal(number: int, text: str) -> bytes:
    return wire.pack({"errno": number, "error": text[:4096]})


def _answer(client: _Client, message: bytes) -> _Answer:
    header, body = wire.unpack(message, _MOST_BRACKETS)
    name = _field(header, "op", str)
    if name != "hello" and not client.has_greeted:
        raise wire.WireError(f"the first request must be 'hello', not {name!r}")
    if name not in _OPERATIONS:
        raise OSError(errno.EOPNOTSUPP, f"no operation {name!r}")
    return _OPERATIONS[name](client, header, body)


# ---- fields of requests


def _field(header: _Header, name: str, kind: type[_T]) -> _T:
    value = header.get(name)
    if not isinstance(value, kind) or type(value) is not kind:  # True is an int
        raise wire.WireError(f"{name!r} must be {kind.__name__}, not {type(value).__name__}")
    return value


def _path(header: _Header) -> str:
    path = _field(header, "path", str)
    words = path.split("/")
    if path and ("" in words or "." in words or ".." in words or "\0" in path):
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
    if len(path) > 4095 or max(map(len, words)) > 255:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
    return path


def _number(header: _Header, name: str, most: int) -> int:
    value = _field(header, name, int)
    if not 0 <= value <= most:
        raise OSError(errno.EINVAL, f"{name!r} must be from 0 to {most}")
    return value


def _file(client: _Client, header: _Header) -> OpenFile:
    file = client.files.get(_field(header, "file", int))
    if file is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    return file


def _body(body: bytes) -> bytes:
    if len(body) > wire.MAX_BODY:
        raise OSError(errno.EINVAL, f"a write of {len(body)} bytes: at most {wire.MAX_BODY} at a time")
    return body


# ---- operations


def _hello(client: _Client, header: _Header, body: bytes) -> _Answer:
    _field(header, "version", int)
    client.has_greeted = True
    return {"version": wire.VERSION}, b""


def _stat(client: _Client, header: _Header, body: bytes) -> _Answer:
    return list(client.tree.stat(_path(header))), b""


def _list(client: _Client, header: _Header, body: bytes) -> _Answer:
    return list(client.tree.list(_path(header))), b""


def _mkdir(client: _Client, header: _Header, body: bytes) -> _Answer:
    client.tree.mkdir(_path(header))
    return _NOTHING


def _rmdir(client: _Client, header: _Header, body: bytes) -> _Answer:
    client.tree.rmdir(_path(header))
    return _NOTHING


def _open(client: _Client, header: _Header, body: bytes) -> _Answer:
    client.check_room()
    flags = _number(header, "flags", (1 << 31) - 1) & _FLAGS
    return client.keep(client.tree.open(_path(header), flags)), b""


def _read(client: _Client, header: _Header, body: bytes) -> _Answer:
    size = _number(header, "size", wire.MAX_BODY)
    return None, _file(client, header).read(_number(header, "offset", _MOST), size)


def _write(client: _Client, header: _Header, body: bytes) -> _Answer:
    return _file(client, header).write(_number(header, "offset", _MOST), _body(body)), b""


def _ready(client: _Client, header: _Header, body: bytes) -> _Answer:
    return _file(client, header).ready, b""


def _wait(client: _Client, header: _Header, body: bytes) -> _Answer:
    """Say what to wait for, at a connection that the native thread serves itself (wire.wait_message)."""
    wait = _file(client, header).wait()
    return (None if wait is None else list(wait.place)), b""


def _close(client: _Client, header: _Header, body: bytes) -> _Answer:
    file = _file(client, header)
    del client.files[_field(header, "file", int)]
    file.close()
    return _NOTHING


def _get(client: _Client, header: _Header, body: bytes) -> _Answer:
    """Open a file, read it and close it: the interpreter lock is waited for once, not three times.

    The value is the number of the file if there may be more, else None.
    """
    client.check_room()
    file = client.tree.open(_path(header), os.O_RDONLY)
    data = b""
    try:
        while len(data) < wire.MAX_BODY:
            part = file.read(len(data), wire.MAX_BODY - len(data))
            if not part:
                break
            data += part
        else:
            return client.keep(file), data
    except BlockingIOError:
        pass
    except BaseException:
        file.close()
        raise
    file.close()
    return None, data


def _put(client: _Client, header: _Header, body: bytes) -> _Answer:
    """Open a file, write to it and close it."""
    flags = os.O_WRONLY | (_number(header, "flags", (1 << 31) - 1) & (os.O_APPEND | os.O_TRUNC))
    file = client.tree.open(_path(header), flags)
    try:
        offset = file.write(0, _body(body))
        while 0 < offset < len(body):
            offset += file.write(offset, body[offset:])
    finally:
        file.close()
    return _NOTHING


def _call(client: _Client, header: _Header, body: bytes) -> _Answer:
    name = _field(header, "name", str)
    arguments = _field(header, "arguments", dict)
    if name not in PROCEDURES:
        raise OSError(errno.ENOSYS, f"no procedure {name!r}{did_you_mean(name, PROCEDURES)}")
    try:
        return procedure(name)(**arguments), b""
    except TypeError as error:
        raise OSError(errno.EINVAL, f"{name}: {error}") from None


_OPERATIONS: Mapping[str, Callable[[_Client, _Header, bytes], _Answer]] = {
    "hello": _hello,
    "stat": _stat,
    "list": _list,
    "mkdir": _mkdir,
    "rmdir": _rmdir,
    "open": _open,
    "read": _read,
    "write": _write,
    "ready": _ready,
    "wait": _wait,
    "close": _close,
    "get": _get,
    "put": _put,
    "call": _call,
}
