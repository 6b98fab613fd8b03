"""Writing trace.dat of version 7.

What is in such a trace is checked by Desk (tracereader.py), for every trace that any test records.
"""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path

import pytest
from ringfile import enter, leaf, leave
from tracereader import Desk, read_trace

from funcgraph._tracedata import codec_names

pytestmark = pytest.mark.one_python

S = 1_000_000_000


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def fill(desk: Desk, calls: int, tasks: int = 1) -> None:
    ring = desk.ring(nr_subbufs=2048)
    ring.function(0, "m.f")
    ring.function(1, "m.g")
    for task in range(1, tasks + 1):
        ring.task(task, 5000 + task)
        records = [enter(S, 0)]
        records += [leaf(S + 1000 * n, 1, 1, 500 + n % 100) for n in range(1, calls)]
        ring.put_all(task, [*records, leave(S + 1000 * calls, 0, 0, S)])


def test_a_lane_of_many_chunks_is_read_whole(desk: Desk) -> None:
    fill(desk, 20_000)
    trace = desk.record()
    assert trace.page_sizes[0] > 2 * 256 << 10
    assert len(trace.events) == 40_000


def test_a_compressed_trace_is_a_fraction(desk: Desk) -> None:
    fill(desk, 20_000)
    desk.record()
    whole = desk.output.stat().st_size
    for compression in set(codec_names()) - {"none"}:
        assert desk.version_7(compression).stat().st_size < whole / 4


def test_a_trace_without_records_has_sections(desk: Desk) -> None:
    desk.ring()
    assert desk.record().events == []


def test_what_cannot_be_written_is_refused(desk: Desk) -> None:
    recorder = desk.recorder()
    for version, compression, message in (
        (5, None, "version must be 6 or 7, got 5"),
        (7, "lz4", "compression must be 'zstd', 'zlib' or 'none', got 'lz4'"),
        (6, "zstd", "version 6 has no compression; 'zstd' needs version 7"),
    ):
        with pytest.raises(ValueError, match=message):
            recorder.assemble(desk.output, "{}", version=version, compression=compression)  # type: ignore[arg-type]
    assert not desk.output.exists()
    recorder.assemble(desk.output, "{}", version=6, compression="none")
    recorder.close()


def test_the_best_compression_is_taken_if_none_is_named(desk: Desk) -> None:
    recorder = desk.recorder()
    recorder.assemble(desk.output, "{}", version=7)
    recorder.close()
    assert f"\0{codec_names()[0]}\0".encode() in desk.output.read_bytes()[:40]


def test_a_file_size_limit_leaves_no_trace_and_no_other_file(desk: Desk) -> None:
    fill(desk, 20_000)
    recorder = desk.recorder()
    recorder.finish(recorder.add_ring(desk.rings[0].path))
    before = sorted(os.listdir(desk.folder))
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for limit in (0, 10, 1000, 5000, 40_000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            with pytest.raises(OSError):
                recorder.assemble(desk.output, "{}", version=7)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert sorted(os.listdir(desk.folder)) == before
    signal.signal(signal.SIGXFSZ, ignored)
    recorder.assemble(desk.output, "{}", version=7)
    recorder.close()
    assert len(read_trace(desk.output).events) == 40_000
