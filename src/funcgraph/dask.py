"""Recording a Dask cluster: `client.register_plugin(funcgraph.dask.Record(...))`.

    import funcgraph.dask

    record = funcgraph.dask.Record(filter=["shop.*"])
    client.register_plugin(record)
    client.compute(work).result()
    collected = record.collect(client, "cluster.fg")
    print(collected.merged.hosts, collected.missing)

Each worker records its calls, and an event `dask/task` with the key of each task in the thread that runs it,
which has the task's calls inside. One trace comes of all: see funcgraph merge, and docs/guides/clusters.md.
"""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from distributed import Client, Worker
from distributed.diagnostics.plugin import WorkerPlugin

from funcgraph.cluster import worker as here
from funcgraph.cluster.collector import Collected, Collector
from funcgraph.cluster.task_events import TASK_EVENTS
from funcgraph.cluster.worker import Piece

__all__ = ["TASK_EVENTS", "Record"]


class Record(WorkerPlugin):
    """Records in all workers of a cluster, those that come later too.

    Args:
        folder: where each worker keeps its trace while it records; None: its folder for temporary files.
        tasks: record the events of task keys, TASK_EVENTS.
        settings: keywords of funcgraph.record(): filter, args, events and so on.

    Raises:
        TypeError, ValueError: as funcgraph.record(), before anything is sent to a worker.
    """

    idempotent = True

    def __init__(self, *, folder: str | None = None, tasks: bool = True, **settings: Any) -> None:
        from funcgraph.session.block import record

        if tasks:
            settings["events"] = [*settings.get("events", ()), *TASK_EVENTS]
        record(os.devnull + ".fg", **settings)  # it checks them
        self.name = f"funcgraph-{uuid.uuid4().hex}"
        self.folder = folder
        self.settings = settings

    # ---- in a worker

    def setup(self, worker: Worker) -> None:
        """Begin to record: Dask calls it."""
        here.start(self.name, self.settings, self.folder)

    def teardown(self, worker: Worker) -> None:
        """End the recording: Dask calls it."""
        here.stop(self.name)

    # ---- at the client

    def start(self, client: Client) -> None:
        """Begin a further recording in all workers, after stop()."""
        client.run(here.start, self.name, self.settings, self.folder)

    def stop(self, client: Client) -> None:
        """End the recording in all workers. Their traces wait for collect()."""
        client.run(here.stop, self.name, on_error="ignore")

    def collector(self, client: Client, folder: str | os.PathLike[str]) -> Collector:
        """Return what brings the workers' traces to this machine, also while they are recorded.

        What has arrived in the folder is kept if a worker or this process dies. Collector.start() pulls by
        itself, so that collect() has little left to do.
        """
        return Collector(_Workers(client), self.name, folder)

    def collect(
        self,
        client: Client,
        output: str | os.PathLike[str],
        *,
        collector: Collector | None = None,
    ) -> Collected:
        """End the recording and write one trace of all workers.

        Args:
            client: of the cluster.
            output: path of the trace.
            collector: one that has been pulling; None: all is brought now.

        Returns:
            What was written, and which workers are gone.
        """
        with self._collector(client, collector) as chosen:
            chosen.exchange()
            self.stop(client)
            return chosen.finish(output)

    @contextmanager
    def _collector(self, client: Client, given: Collector | None) -> Iterator[Collector]:
        if given is not None:
            yield given
            return
        with tempfile.TemporaryDirectory(prefix="funcgraph-") as folder:
            yield self.collector(client, folder)


def _read(name: str, positions: Mapping[str, tuple[str, int]], dask_worker: Worker) -> Piece:
    """Return what is wanted of the worker that this runs in; Dask fills in `dask_worker`."""
    return here.read(name, *positions[dask_worker.address])


class _Workers:
    """A cluster's workers, by their addresses."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def files(self, name: str) -> Mapping[str, Sequence[str]]:
        return self._run(here.files, name)

    def read(self, name: str, positions: Mapping[str, tuple[str, int]]) -> Mapping[str, Piece]:
        there = self._client.scheduler_info(n_workers=-1)["workers"]
        alive = [worker for worker in positions if worker in there]
        return self._run(_read, name, dict(positions), workers=alive) if alive else {}

    def forget(self, name: str, worker: str, file: str) -> None:
        self._run(here.forget, name, file, workers=[worker])

    def stamps(self) -> Mapping[str, int]:
        return self._run(here.stamp)

    def _run(self, function: Any, *args: Any, **options: Any) -> dict[str, Any]:
        return dict(self._client.run(function, *args, on_error="ignore", **options))
