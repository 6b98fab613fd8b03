"""Serving a mount until somebody unmounts it, a signal ends it, or its processes have ended."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from funcgraph.mount import libfuse
from funcgraph.mount.mountpoint import FILE_SYSTEM, MountError
from funcgraph.mount.operations import Operations
from funcgraph.tracefs.interface import Tree

__all__ = ["OPTIONS", "serve", "stop"]

#: Options of mount(8) that a user may give.
OPTIONS = ("allow_other", "allow_root", "ro")
#: Readers that wait take a thread each. libfuse's own limit of 10 would let ten of them block everybody.
_MAX_THREADS = 1000


def serve(
    tree: Tree,
    folder: str,
    source: str,
    options: Sequence[str] = (),
    started: Callable[[], None] = lambda: None,
) -> None:
    """Mount a tree, and serve it until it is unmounted. The main thread must call this.

    SIGTERM, SIGINT and SIGHUP unmount it.

    Args:
        tree: what to mount. Threads use it at the same time.
        folder: the absolute path of the folder.
        source: what the table of mounts has for a device.
        options: of OPTIONS.
        started: called when the mount works.

    Raises:
        libfuse.MissingError: mfusepy or libfuse is missing.
        MountError: it cannot be mounted.
    """
    module = libfuse.load()
    with _deferred_messages() as messages:
        works = []

        def begin() -> None:
            messages.restore()
            works.append(True)
            started()

        operations = Operations(tree, libfuse.Session(module), begin)
        try:
            module.FUSE(operations, folder, raw_fi=True, **_fuse_options(module, source, options))
        except RuntimeError:  # libfuse has printed why; or a signal has ended its loop
            if not works:
                raise MountError(
                    f"{folder}: cannot be mounted: {messages.text() or 'libfuse fails'}"
                ) from None


def stop() -> None:
    """Unmount what the main thread serves: from another thread."""
    main = threading.main_thread().ident
    assert main is not None
    signal.pthread_kill(main, signal.SIGTERM)  # libfuse handles it, and its loop runs in that thread


def _fuse_options(module: libfuse.Binding, source: str, options: Sequence[str]) -> dict[str, str | int]:
    chosen: dict[str, str | int] = {
        "foreground": True,
        "fsname": source,
        "subtype": FILE_SYSTEM,
        "default_permissions": True,  # the kernel checks the modes of files
        "entry_timeout": 0,
        "attr_timeout": 0,
        "negative_timeout": 0,
        "use_ino": True,
        "hard_remove": True,  # an open file that is unlinked must be refused, not renamed
        **dict.fromkeys(options, True),
    }
    if (module.fuse_version_major, module.fuse_version_minor) >= (3, 12):  # no limit before that
        chosen["max_threads"] = _MAX_THREADS
    return chosen


class _Messages:
    """What libfuse prints on standard error until the mount works: it says why it does not."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()
        self._stderr: int | None = os.dup(2)
        os.dup2(self._file.fileno(), 2)

    def restore(self) -> None:
        """From here on standard error is what it was."""
        if self._stderr is not None:
            os.dup2(self._stderr, 2)
            os.close(self._stderr)
            self._stderr = None

    def text(self) -> str:
        """Return the last line that was printed."""
        self._file.seek(0)
        lines = self._file.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def close(self) -> None:
        self.restore()
        self._file.close()


@contextmanager
def _deferred_messages() -> Iterator[_Messages]:
    messages = _Messages()
    try:
        yield messages
    finally:
        messages.close()
