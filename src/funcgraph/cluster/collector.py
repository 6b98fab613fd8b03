"""The collector's side: copies of all workers' traces, which grow as these do; at the end one trace."""

from __future__ import annotations

import os
import re
import threading
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from typing import Protocol

from funcgraph.cluster.worker import PIECE_BYTES, Piece
from funcgraph.merge.hosts import Host, host_of
from funcgraph.merge.join import Merged, merge
from funcgraph.merge.stamps import Exchange
from funcgraph.merge.stamps import stamp as now
from funcgraph.output_file import create, open_there, resolve
from funcgraph.tracedata.description import TraceError
from funcgraph.tracedata.opened import open_trace

__all__ = ["Collected", "Collector", "Workers"]

_FILE = re.compile(r"[\w.-]+\.fg")


class Workers(Protocol):
    """How a cluster reaches its workers. A worker that does not answer is left out of an answer."""

    def files(self, name: str) -> Mapping[str, Sequence[str]]:
        """Return worker -> what names its recordings."""

    def read(self, name: str, positions: Mapping[str, tuple[str, int]]) -> Mapping[str, Piece]:
        """Return worker -> the next piece of a trace: of (file, offset)."""

    def forget(self, name: str, worker: str, file: str) -> None:
        """Have a worker remove a recording."""

    def stamps(self) -> Mapping[str, int]:
        """Return worker -> its CLOCK_MONOTONIC in ns: funcgraph.merge.stamp() there."""


class Collected:
    """What a collector has.

    Attributes:
        merged: the trace of all; None: no worker recorded anything.
        missing: workers whose traces are not complete, because they are gone; what arrived is in the trace.
    """

    def __init__(self, merged: Merged | None, missing: Sequence[str]) -> None:
        self.merged = merged
        self.missing = tuple(missing)

    def __repr__(self) -> str:
        path = self.merged.path if self.merged else None
        return f"<Collected {path!r}, {len(self.missing)} workers missing>"


class Collector:
    """Copies the traces of a cluster's workers into a folder, while they are recorded.

    Each copy is a beginning of its trace, which is a trace. A collector that is started again in the same
    folder goes on where the one before was.

    Args:
        workers: how they are reached.
        name: of the recording.
        folder: of the copies; it is made.
    """

    def __init__(self, workers: Workers, name: str, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)
        self._workers = workers
        self._name = name
        self._complete: set[str] = set()
        self._owner: dict[str, str] = {}  # file -> worker
        self._exchanges: dict[str, list[Exchange]] = defaultdict(list)  # worker -> what was exchanged
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        os.makedirs(self.folder, exist_ok=True)

    # ---- while it runs

    def start(self, interval: float = 1.0) -> None:
        """Pull every so many seconds, in a thread of its own."""
        if self._thread is not None:
            raise RuntimeError("the collector runs already")
        self._thread = threading.Thread(target=self._run, args=(interval,), name="funcgraph-collector")
        self._thread.daemon = True
        self._thread.start()

    def _run(self, interval: float) -> None:
        while not self._stop.wait(interval):
            self.pull()

    def close(self) -> None:
        """End the thread that start() began."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._stop.clear()

    def pull(self) -> int:
        """Bring what is new of all traces; return how many bytes that was."""
        total = 0
        for worker, files in self._workers.files(self._name).items():
            for file in files:
                if _FILE.fullmatch(file):  # a name that leads out of the folder is none of ours
                    self._owner[file] = worker
        behind = set(self._owner.values())
        while positions := self._next_pieces(behind):
            behind = set()
            for worker, piece in self._workers.read(self._name, positions).items():
                file, offset = positions[worker]
                if piece.file != file:
                    continue
                total += self._append(file, offset, piece)
                # What is written meanwhile waits for the next pull: recorders write all the time.
                if piece.is_complete or len(piece.data) >= PIECE_BYTES:
                    behind.add(worker)
        return total

    def _open_files(self) -> list[str]:
        return [file for file in self._owner if file not in self._complete]

    def _next_pieces(self, workers: Container[str]) -> dict[str, tuple[str, int]]:
        """Return an unfinished trace of each of these workers, and from where on it is wanted."""
        positions: dict[str, tuple[str, int]] = {}
        for file in self._open_files():
            if self._owner[file] in workers:
                positions.setdefault(self._owner[file], (file, self._size(file)))
        return positions

    def _append(self, file: str, offset: int, piece: Piece) -> int:
        """Add a piece to its copy; return how many bytes it has."""
        with open(self._open_copy(file), "r+b") as copy:
            copy.truncate(offset)
            copy.seek(offset)
            copy.write(piece.data)
        if piece.is_complete:
            self._complete.add(file)
        return len(piece.data)

    def _open_copy(self, file: str) -> int:
        path = resolve(self._path(file))
        try:
            return open_there(path, os.O_RDWR)
        except FileNotFoundError:
            return create(path)

    def _size(self, file: str) -> int:
        try:
            return os.stat(self._path(file)).st_size
        except FileNotFoundError:
            return 0

    def _path(self, file: str) -> str:
        return os.path.join(self.folder, file)

    # ---- clocks

    def exchange(self, rounds: int = 8) -> None:
        """Exchange stamps with all workers; at the beginning and at the end, it shows the drift too."""
        for _ in range(rounds):
            sent = now()
            stamps = self._workers.stamps()
            returned = now()
            for worker, host in stamps.items():
                self._exchanges[worker].append(Exchange(sent, host, host, returned))

    # ---- the end

    def finish(self, output: str | os.PathLike[str]) -> Collected:
        """Bring the rest of all traces, and write one trace of them.

        The recordings have ended. Their files are removed from the workers.

        Args:
            output: path of the trace.

        Raises:
            MergeError, OSError: as merge(). The copies stay in the folder.
        """
        self.close()
        self.exchange()
        self.pull()
        missing = sorted({self._owner[file] for file in self._open_files()})
        for file in sorted(self._complete):
            self._workers.forget(self._name, self._owner[file], file)
        hosts = self._hosts()
        merged = merge(list(hosts), output, stamps=self._stamps(hosts), here=True) if hosts else None
        return Collected(merged, missing)

    def paths(self) -> list[str]:
        """Return the copies that are traces, one for each recording of a worker."""
        return list(self._hosts())

    def _hosts(self) -> dict[str, Host]:
        """Return where each copy that is a trace was recorded, by its path."""
        paths = [self._path(file) for file in sorted(self._owner)]
        hosts = {path: _host(path) for path in paths if os.path.exists(path)}
        return {path: host for path, host in hosts.items() if host is not None}

    def _stamps(self, hosts: Mapping[str, Host]) -> dict[str, list[Exchange]]:
        """Return what was exchanged with each host but our own, by its name."""
        own = os.uname().nodename
        stamps: dict[str, list[Exchange]] = {}
        for file, worker in self._owner.items():
            host = hosts.get(self._path(file))
            if host is not None and host.name != own and worker in self._exchanges:
                stamps.setdefault(host.name, []).extend(self._exchanges[worker])
        return stamps


def _host(path: str) -> Host | None:
    """Return where a trace was recorded; None: it does not tell yet."""
    try:
        with open_trace(path) as trace:
            return host_of(trace.meta)
    except TraceError:
        return None
