"""Recording a Ray job: `ray.init(runtime_env=record.runtime_env())`.

    import funcgraph.ray

    record = funcgraph.ray.Record(filter=["shop.*"])
    ray.init(runtime_env=record.runtime_env())
    ray.get([work.remote(number) for number in range(100)])
    collected = record.collect("job.fg")
    print(collected.merged.hosts, collected.missing)

Each worker process records its calls into a file on its node, by a recorder that outlives it: what a worker
that is killed has recorded is in the trace. One trace comes of all: see funcgraph merge, and
docs/guides/clusters.md.
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from funcgraph.cluster import worker as here
from funcgraph.cluster.collector import Collected, Collector
from funcgraph.cluster.worker import FOLDER_PREFIX, PIECE_BYTES, Piece
from funcgraph.rights.folder import OwnFolder, own_folders
from funcgraph.session import environ

__all__ = ["Record", "setup"]

_VARIABLE = "FUNCGRAPH_RAY"
_STOP = "stop"
_LOOK_S = 0.2
_STOP_S = 30.0  # that workers have for the ends of their recordings


class Record:
    """Records in all worker processes of a Ray job.

    Args:
        folder: where each node keeps the traces of its workers; None: that for temporary files.
        settings: keywords of funcgraph.record(): filter, args, events and so on. What JSON cannot hold is
            refused.

    Raises:
        TypeError, ValueError: as funcgraph.record(), before anything is sent to a worker.
    """

    def __init__(self, *, folder: str | None = None, **settings: Any) -> None:
        from funcgraph.session.block import record

        record(os.devnull + ".fg", **settings)  # it checks them
        self.name = f"funcgraph-{uuid.uuid4().hex}"
        self.folder = folder
        self.settings = json.loads(json.dumps(settings))

    def runtime_env(self, **more: Any) -> dict[str, Any]:
        """Return the runtime environment that records: of a job, an actor or a task.

        Args:
            more: further entries of it; their env_vars are added to ours.
        """
        recording = json.dumps({"name": self.name, "folder": self.folder, "settings": self.settings})
        variables = {**more.get("env_vars", {}), _VARIABLE: recording}
        return {**more, "env_vars": variables, "worker_process_setup_hook": "funcgraph.ray.setup"}

    def stop(self) -> None:
        """End the recording in all worker processes, and wait until their traces are complete."""
        _on_nodes(_node_stop, dict.fromkeys(_nodes(), (self.folder, self.name)))

    def collector(self, folder: str | os.PathLike[str]) -> Collector:
        """Return what brings the nodes' traces to this machine, also while they are recorded.

        What has arrived in the folder is kept if a node or this process dies.
        """
        return Collector(_Workers(self.folder), self.name, folder)

    def collect(self, output: str | os.PathLike[str], *, collector: Collector | None = None) -> Collected:
        """End the recording and write one trace of all worker processes.

        Args:
            output: path of the trace.
            collector: one that has been pulling; None: all is brought now.

        Returns:
            What was written, and which nodes are gone.
        """
        with self._collector(collector) as chosen:
            chosen.exchange()
            self.stop()
            return chosen.finish(output)

    @contextmanager
    def _collector(self, given: Collector | None) -> Iterator[Collector]:
        if given is not None:
            yield given
            return
        with tempfile.TemporaryDirectory(prefix="funcgraph-") as folder:
            yield self.collector(folder)


# ---- in a worker process


def setup() -> None:
    """Begin to record in this worker process: Ray calls it at the process's start.

    Nothing is recorded where a process heeds no variables of ours (docs/guides/boot.md).
    """
    value = environ.value_of(_VARIABLE)
    if not value:
        return
    recording = json.loads(value)
    root = _make_root(recording["folder"], recording["name"])
    if root.has(_STOP):
        root.close()
        return
    here.start(recording["name"], recording["settings"], root.path)
    thread = threading.Thread(target=_wait_for_stop, args=(root, recording["name"]), name="funcgraph-stop")
    thread.daemon = True
    thread.start()


def _wait_for_stop(root: OwnFolder, name: str) -> None:
    with closing(root):
        while not root.has(_STOP):
            time.sleep(_LOOK_S)
    here.stop(name)


def _path(folder: str | None, name: str) -> str:
    return os.path.join(folder or tempfile.gettempdir(), name)


def _make_root(folder: str | None, name: str) -> OwnFolder:
    """Return the node's folder, which may be there: for all its workers."""
    base, _ = os.path.split(path := _path(folder, name))
    os.makedirs(base, exist_ok=True)
    try:
        return OwnFolder.make(base, name)
    except FileExistsError:
        return OwnFolder.at(path)


# ---- on a node: its files tell all, also of worker processes that are gone


def _traces(folder: str | None, name: str) -> Iterator[tuple[str, OwnFolder]]:
    """Yield the file of each trace of a node, without the `.part` of one that grows, and the folder it is in.

    A folder is closed when the next one is taken.
    """
    for own in own_folders(_path(folder, name), FOLDER_PREFIX):
        for file in dict.fromkeys(name.removesuffix(".part") for name in own.names()):
            yield file, own


@contextmanager
def _folder_of(folder: str | None, name: str, file: str) -> Iterator[OwnFolder]:
    """Yield the folder that a trace is in. Raises LookupError."""
    for found, own in _traces(folder, name):
        if found == file:
            yield own
            return
    raise LookupError(f"no trace {file} on this node")


def _node_files(folder: str | None, name: str) -> list[str]:
    return sorted(file for file, _ in _traces(folder, name))


def _node_read(folder: str | None, name: str, file: str, offset: int) -> Piece:
    with _folder_of(folder, name, file) as own:
        try:
            fd, has_ended = own.open(f"{file}.part", os.O_RDONLY), False
        except FileNotFoundError:  # the recorder gave it its name
            fd, has_ended = own.open(file, os.O_RDONLY), True
    with open(fd, "rb") as trace:
        trace.seek(offset)
        data = trace.read(PIECE_BYTES)
    return Piece(file, data, has_ended and len(data) < PIECE_BYTES)


def _node_forget(folder: str | None, name: str, file: str) -> None:
    with _folder_of(folder, name, file) as own:
        own.remove([name for name in own.names() if name.startswith(file)])


def _node_stop(folder: str | None, name: str) -> None:
    with closing(_make_root(folder, name)) as root:
        root.write(_STOP, b"")
    end = time.monotonic() + _STOP_S
    while time.monotonic() < end and any(_is_recorded(own, file) for file, own in _traces(folder, name)):
        time.sleep(_LOOK_S)


def _is_recorded(own: OwnFolder, file: str) -> bool:
    """Return whether a recorder still writes a trace: it holds a lock on the file."""
    try:
        with open(own.open(f"{file}.part", os.O_RDONLY), "rb") as part:
            fcntl.flock(part, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


# ---- at the driver


def _nodes() -> list[str]:
    return [node["NodeID"] for node in ray.nodes() if node["Alive"]]


def _on_nodes(function: Callable[..., Any], arguments: Mapping[str, tuple[Any, ...]]) -> dict[str, Any]:
    """Run a function on several nodes at once; return node -> result of those that answered."""
    alive = set(_nodes())
    pending = {}
    for node, words in arguments.items():
        if node in alive:
            strategy = NodeAffinitySchedulingStrategy(node_id=node, soft=False)
            remote = ray.remote(num_cpus=0, scheduling_strategy=strategy, max_retries=0)(function)
            pending[node] = remote.remote(*words)
    results = {}
    for node, reference in pending.items():
        try:
            results[node] = ray.get(reference)
        except ray.exceptions.RayError:
            continue  # the node is gone, or has nothing of this
    return results


class _Workers:
    """A job's nodes, by their ids: each answers for all its worker processes."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder

    def files(self, name: str) -> Mapping[str, Sequence[str]]:
        return _on_nodes(_node_files, dict.fromkeys(_nodes(), (self._folder, name)))

    def read(self, name: str, positions: Mapping[str, tuple[str, int]]) -> Mapping[str, Piece]:
        return _on_nodes(_node_read, {node: (self._folder, name, *one) for node, one in positions.items()})

    def forget(self, name: str, worker: str, file: str) -> None:
        _on_nodes(_node_forget, {worker: (self._folder, name, file)})

    def stamps(self) -> Mapping[str, int]:
        return _on_nodes(here.stamp, dict.fromkeys(_nodes(), ()))
