"""What a helper does: requests of its owner, with the rights that it has by now."""

from __future__ import annotations

import errno
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn

from funcgraph.rights import packets
from funcgraph.rights.descriptors import regular, require_local
from funcgraph.rights.folder import OwnFolder, first_folder, own_folders
from funcgraph.rights.target import Target

__all__ = ["run"]

#: What a request gives: a value that JSON has, and a descriptor or None.
Answer = tuple[Any, int | None]

#: A terminal or a service manager sends these to whole groups. The owner needs its helper to clean up.
_OF_GROUPS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP}
_UNCHANGEABLE = {signal.SIGKILL, signal.SIGSTOP}


def run(stream: socket.socket, target: Target) -> NoReturn:
    """Be a helper: in a child of fork, in which all signals are blocked. Never returns."""
    status = 1
    try:
        gc.disable()  # nothing of the owner's objects is to be finalized here
        _serve(stream, target)
        status = 0
    finally:
        os._exit(status)


def _become(stream: socket.socket, target: Target) -> None:
    _close_others({stream.fileno(), target.identity.pidfd, target.root_fd})
    _reset_signals()
    _forbid_imports()
    target.become()
    target.close()
    target.identity.close()


def _close_others(keep: set[int | None]) -> None:
    null = os.open("/dev/null", os.O_RDWR)
    others = {0, 1, 2, *map(int, os.listdir("/proc/self/fd"))} - keep
    for fd in sorted(others):
        if fd <= 2:
            os.dup2(null, fd)
        else:
            with suppress(OSError):  # the one of the listing
                os.close(fd)


def _reset_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals() - _UNCHANGEABLE:
        signal.signal(number, signal.SIG_IGN if number in _OF_GROUPS else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _forbid_imports() -> None:
    """What is not loaded by now would be loaded from the files of the other user."""
    for places in (sys.meta_path, sys.path_hooks, sys.path):
        places.clear()
    sys.path_importer_cache.clear()


def _serve(stream: socket.socket, target: Target) -> None:
    if not _answer(stream, 0, partial(_become, stream, target)):
        return
    service = _Service(has_own_mounts=target.has_own_users)
    while True:
        try:
            request, data_fd = packets.receive(stream)
        except (EOFError, OSError):
            return
        _answer(stream, request["number"], partial(service.call, request, data_fd))
        if data_fd is not None:
            os.close(data_fd)


def _answer(stream: socket.socket, number: int, work: Callable[[], Answer | None]) -> bool:
    """Do some work and send what came of it; return whether it succeeded."""
    fd = None
    try:
        value, fd = work() or (None, None)
        message = {"value": value}
    except OSError as error:
        message = {"errno": error.errno or errno.EIO, "error": error.strerror or str(error)}
        message["file"] = error.filename if isinstance(error.filename, str) else None
    except Exception as error:
        message = {"errno": errno.EINVAL, "error": repr(error), "file": None}
    packets.send(stream, {"number": number, **message}, fd)
    if fd is not None:
        os.close(fd)
    return "value" in message


class _Service:
    """The requests, with the folders that were made.

    Args:
        has_own_mounts: whether the user of the process may mount file systems where we are.
    """

    def __init__(self, has_own_mounts: bool) -> None:
        self._has_own_mounts = has_own_mounts
        self._folders: list[OwnFolder] = []

    def call(self, request: dict[str, Any], data_fd: int | None) -> Answer:
        name, arguments = request["call"], request["arguments"]
        if request["folder"] is not None:
            return _FOLDER_CALLS[name](self._folders[request["folder"]], data_fd, *arguments)
        return _CALLS[name](self, *arguments)

    def make_folder(self, places: list[str], prefix: str) -> Answer:
        def make(place: str) -> OwnFolder:
            folder = OwnFolder.create(place, prefix)
            self._require_local(folder, lambda: folder.remove([]))
            return folder

        folder = first_folder(places, make)
        return [self._keep(folder), folder.path], None

    def open_folder(self, path: str) -> Answer:
        folder = OwnFolder.at(path)
        self._require_local(folder)
        return self._keep(folder), None

    def names_in(self, place: str) -> Answer:
        return None, packets.memory_with(packets.pack_names(os.listdir(place)))

    def open_file(self, path: str) -> Answer:
        fd = regular(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), path)
        try:
            require_local(fd, self._has_own_mounts)
        except BaseException:
            os.close(fd)
            raise
        return None, fd

    def _keep(self, folder: OwnFolder) -> int:
        """Return the number by which the owner names a folder."""
        self._folders.append(folder)
        return len(self._folders) - 1

    def _require_local(self, folder: OwnFolder, undo: Callable[[], None] = lambda: None) -> None:
        """The owner will hold descriptors of its files: another user's file system could keep it waiting."""
        try:
            require_local(folder.fileno(), self._has_own_mounts)
        except OSError:
            undo()
            folder.close()
            raise

    def statvfs(self, path: str) -> Answer:
        return list(os.statvfs(path)), None

    def own_files(self, base: str, prefix: str) -> Answer:
        files = [f"{folder.path}/{name}" for folder in own_folders(base, prefix) for name in folder.names()]
        return None, packets.memory_with(packets.pack_names(files))

    def connect(self, path: str) -> Answer:
        os.chdir(os.path.dirname(path))  # a socket's address has room for short paths only
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(os.path.basename(path))
        return None, connection.detach()


_CALLS: dict[str, Callable[..., Answer]] = {
    "own_files": _Service.own_files,
    "make_folder": _Service.make_folder,
    "open_folder": _Service.open_folder,
    "names_in": _Service.names_in,
    "open_file": _Service.open_file,
    "statvfs": _Service.statvfs,
    "connect": _Service.connect,
}


def _write(folder: OwnFolder, data_fd: int | None, name: str) -> Answer:
    folder.write(name, _content(data_fd))
    return None, None


def _remove(folder: OwnFolder, data_fd: int | None) -> Answer:
    folder.remove(packets.unpack_names(_content(data_fd)))
    return None, None


def _content(data_fd: int | None) -> bytes:
    assert data_fd is not None
    with open(data_fd, "rb", closefd=False) as file:
        return file.read()


def _plain(name: str) -> Callable[..., Answer]:
    return lambda folder, _, *arguments: (getattr(folder, name)(*arguments), None)


#: A folder's methods. Data goes in and out in files in memory.
_FOLDER_CALLS: dict[str, Callable[..., Answer]] = {
    "names": lambda folder, _: (None, packets.memory_with(packets.pack_names(folder.names()))),
    "open": lambda folder, _, *arguments: (None, folder.open(*arguments)),
    "read": lambda folder, _, *arguments: (None, packets.memory_with(folder.read(*arguments))),
    "write": _write,
    "remove": _remove,
    **{name: _plain(name) for name in ("has", "rename", "unlink", "close")},
}
