"""The collector alone, without a cluster: how often it asks workers that record all the time."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from funcgraph.cluster.collector import Collector
from funcgraph.cluster.worker import PIECE_BYTES, Piece

_FILE = "host-1-funcgraph-a.fg"


class GrowingWorker:
    """One worker, whose trace grows by a little between any two questions."""

    def __init__(self, size: int) -> None:
        self.data = os.urandom(size)
        self.nr_reads = 0

    def files(self, name: str) -> Mapping[str, list[str]]:
        return {"worker": [_FILE]}

    def read(self, name: str, expected: Mapping[str, tuple[str, int]]) -> Mapping[str, Piece]:
        self.nr_reads += 1
        file, offset = expected["worker"]
        data = self.data[offset : offset + PIECE_BYTES]
        self.data += b"more"
        return {"worker": Piece(file, data, is_complete=False)}

    def forget(self, name: str, worker: str, file: str) -> None:
        raise AssertionError("it is not complete")

    def stamps(self) -> Mapping[str, int]:
        return {}


@pytest.mark.parametrize("pieces", [0, 1, 3])
def test_a_pull_ends_although_the_recording_goes_on(tmp_path: Path, pieces: int) -> None:
    worker = GrowingWorker(pieces * PIECE_BYTES + 10)
    collector = Collector(worker, "name", tmp_path)
    for pull in (1, 2):
        before = (tmp_path / _FILE).stat().st_size if pull > 1 else 0
        worker.nr_reads = 0
        pulled = collector.pull()
        assert (tmp_path / _FILE).read_bytes() == worker.data[: before + pulled]
        assert worker.nr_reads == (pieces + 1 if pull == 1 else 1)
