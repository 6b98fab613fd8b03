"""libfuse 3 and its binding mfusepy: finding both, and the functions of libfuse that mfusepy leaves out."""

from __future__ import annotations

import ctypes
import os
from importlib import import_module
from typing import Protocol, cast

__all__ = ["Binding", "FileInfo", "MissingError", "PollEvents", "Session", "load"]

_PACKAGE = "a mount needs mfusepy: pip install 'funcgraph[mount]'"
_LIBRARY = "a mount needs libfuse 3: install the package fuse3 of your distribution"
#: By soname: the newest first. libfuse 3.17 changed it.
_SONAMES = ("libfuse3.so.4", "libfuse3.so.3")


class MissingError(Exception):
    """What a mount needs is not installed; the message says what to install."""


class FileInfo(Protocol):
    """libfuse's `struct fuse_file_info`: an open file of the kernel's."""

    fh: int
    flags: int
    direct_io: int


class PollEvents(Protocol):
    """A pointer to the bits of poll(2)."""

    def __getitem__(self, index: int, /) -> int: ...
    def __setitem__(self, index: int, value: int, /) -> None: ...


class _Mount(Protocol):
    """Mounts a file system, and serves it until it is unmounted."""

    def __call__(
        self, operations: object, folder: str, /, *, raw_fi: bool, **options: str | int
    ) -> object: ...


class Binding(Protocol):
    """mfusepy, as far as we use it."""

    FUSE: _Mount
    fuse_version_major: int
    fuse_version_minor: int
    _libfuse: ctypes.CDLL


def load() -> Binding:
    """Import mfusepy over libfuse 3, and return the module.

    Raises:
        MissingError: mfusepy or libfuse 3 is not installed.
    """
    # mfusepy prefers libfuse 2, which has no options for what tracefs needs, and looks for libraries with the
    # programs of a compiler. Its variable names the library to load.
    if not os.environ.get("FUSE_LIBRARY_PATH"):
        os.environ["FUSE_LIBRARY_PATH"] = _soname()
    try:
        module = cast(Binding, import_module("mfusepy"))
    except ImportError:
        raise MissingError(_PACKAGE) from None
    except (OSError, AttributeError) as error:  # FUSE_LIBRARY_PATH of the user
        raise MissingError(f"{_LIBRARY} ({error})") from None
    if module.fuse_version_major != 3:
        raise MissingError(f"{_LIBRARY} (FUSE_LIBRARY_PATH names libfuse {module.fuse_version_major})")
    return module


def _soname() -> str:
    for name in _SONAMES:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return name
    raise MissingError(_LIBRARY)


class Session:
    """libfuse's session of one mount.

    Args:
        module: mfusepy.
    """

    def __init__(self, module: Binding) -> None:
        # Function objects of our own: argument types set here are not mfusepy's.
        self._library = ctypes.CDLL(module._libfuse._name)
        self._context = module._libfuse.fuse_get_context
        self._library.fuse_get_session.restype = ctypes.c_void_p
        for name in (
            "fuse_get_session",
            "fuse_session_exited",
            "fuse_notify_poll",
            "fuse_pollhandle_destroy",
        ):
            getattr(self._library, name).argtypes = [ctypes.c_void_p]
        self._session: int | None = None

    def begin(self) -> None:
        """Remember the session. Only libfuse's `init` may call this."""
        self._session = self._library.fuse_get_session(self._context().contents.fuse)

    def stopped(self) -> bool:
        """Return whether the request that this thread serves shall end: interrupted, or unmounted."""
        return bool(self._library.fuse_interrupted() or self._library.fuse_session_exited(self._session))

    def notify(self, waiter: int) -> None:
        """Wake a poll(), and let go of its handle."""
        self._library.fuse_notify_poll(waiter)
        self.forget(waiter)

    def forget(self, waiter: int) -> None:
        """Let go of the handle of a poll()."""
        self._library.fuse_pollhandle_destroy(waiter)
