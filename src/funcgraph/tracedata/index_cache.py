"""The cache of indexes: a folder of our own with a file for each trace whose index took long to make.

    $XDG_CACHE_HOME/funcgraph/index/93ac61ec....index

A file is found by a hash of what tells its trace from others: size, time of the last change, beginning and
end. The end of a `.fg` is its directory, with the checksums of all chunks. So a trace that was changed has
another index, and one that was moved has the same. What is in the folder is input: its reader checks all of
it, and an index that does not fit or is damaged is made again.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress

from funcgraph import _tracedata
from funcgraph.rights.cache_folder import cache_path, open_cache
from funcgraph.rights.folder import OwnFolder
from funcgraph.version import installed_version

__all__ = ["LEAST_EVENTS", "MOST_BYTES", "IndexCache", "trace_key"]

#: An index of fewer events is made in some tenths of a second, and is not kept.
LEAST_EVENTS = 1_000_000
#: Of all files together. Those that were not used for the longest time are removed.
MOST_BYTES = 1 << 30

_FOLDER = "index"
_SUFFIX = ".index"
_BEGIN_BYTES, _END_BYTES = 4096, 1 << 20


def trace_key(fd: int, most_bytes: int) -> bytes:
    """Return 32 bytes that tell a trace's index from those of others.

    Args:
        fd: of the trace.
        most_bytes: that the index may have.

    Raises:
        OSError: the file cannot be read.
    """
    facts = os.fstat(fd)
    words = (installed_version(), facts.st_size, facts.st_mtime_ns, most_bytes)
    digest = hashlib.blake2b(repr(words).encode(), digest_size=32)
    digest.update(os.pread(fd, _BEGIN_BYTES, 0))
    digest.update(os.pread(fd, _END_BYTES, max(facts.st_size - _END_BYTES, 0)))
    return digest.digest()


class IndexCache:
    """The indexes that are kept. Without a folder that is ours alone nothing is kept.

    Attributes:
        flaw: why nothing is kept; "": it is.
    """

    def __init__(self) -> None:
        self.flaw = ""
        self._folder: OwnFolder | None = None
        try:
            self._folder = open_cache(_FOLDER)
        except OSError as error:
            self._fail(error)

    def close(self) -> None:
        """Let go of the folder. May be called twice."""
        if self._folder is not None:
            self._folder.close()
            self._folder = None

    def get(
        self, key: bytes, reader: _tracedata.Reader, nr_functions: int, nr_tasks: int
    ) -> _tracedata.CallIndex | None:
        """Return the index of a trace; None: there is none that is of use.

        Args:
            key: of the trace.
            reader: the trace.
            nr_functions, nr_tasks: how many it has.
        """
        if self._folder is None:
            return None
        try:
            fd = self._folder.open(_name(key), os.O_RDONLY)
        except OSError:
            return None
        try:
            if os.fstat(fd).st_uid != os.geteuid():
                return None
            found = reader.load_call_index(fd, key, nr_functions, nr_tasks)
            with suppress(OSError):
                os.utime(fd)  # it was used
            return found
        except (OSError, ValueError):
            return None
        finally:
            os.close(fd)

    def put(
        self,
        key: bytes,
        index: _tracedata.CallIndex,
        runs: tuple[_tracedata.ColumnTuple, _tracedata.ColumnTuple, int] | None = None,
    ) -> None:
        """Keep an index, with the runs of the trace if they were read. If that does not work, `flaw` says
        why."""
        if self._folder is None:
            return
        try:
            self._write(self._folder, key, index, runs)
            self._remove_oldest(self._folder)
        except OSError as error:
            self._fail(error)

    def _write(
        self,
        folder: OwnFolder,
        key: bytes,
        index: _tracedata.CallIndex,
        runs: tuple[_tracedata.ColumnTuple, _tracedata.ColumnTuple, int] | None,
    ) -> None:
        name = _name(key)
        temporary = f"{name}.{os.getpid()}.{os.urandom(4).hex()}.new"
        fd = folder.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            index.save(fd, key, runs)
            folder.rename(temporary, name)
        except BaseException:
            with suppress(OSError):
                folder.unlink(temporary)
            raise
        finally:
            os.close(fd)

    def _remove_oldest(self, folder: OwnFolder) -> None:
        """Remove files until the others have at most MOST_BYTES: also those of writers that were killed."""
        facts = []
        for name in folder.names():
            with suppress(OSError):
                status = os.stat(name, dir_fd=folder.fileno(), follow_symlinks=False)
                facts.append((status.st_mtime_ns, name, status.st_size))
        total = sum(size for _, _, size in facts)
        for _, name, size in sorted(facts):
            if total <= MOST_BYTES:
                return
            with suppress(OSError):
                folder.unlink(name)
                total -= size

    def _fail(self, error: OSError) -> None:
        self.flaw = f"{cache_path(_FOLDER)}: {error.strerror}"


def _name(key: bytes) -> str:
    return key.hex() + _SUFFIX
