"""Writing and reading trace.dat of version 7.

What is in such a trace is checked by Desk (tracereader.py), for every trace that any test records.
"""

from __future__ import annotations

import os
import resource
import signal
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from ringfile import add_ring, enter, leaf, leave
from tracefile import Sections as Sections7
from tracefile import Trace
from tracereader import Desk, Sections, read_trace

import funcgraph
from funcgraph._tracedata import codec_names
from funcgraph.tracedata import TraceError, TraceFile

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


def test_several_threads_may_read_one_trace(desk: Desk) -> None:
    """Each with an iterator of its own. Broken by: one memory for what all of them decompress."""
    fill(desk, 2_000, tasks=3)
    desk.record()
    for path in (desk.output, *map(desk.version_7, set(codec_names()) - {"none"})):
        with funcgraph.open(path) as trace, ThreadPoolExecutor(4) as threads:
            times = [[event.time_ns for event in trace.events()]] * 40
            assert len(times[0]) == trace.nr_events
            assert list(threads.map(lambda _: [event.time_ns for event in trace.events()], times)) == times


def test_a_trace_without_records_has_sections(desk: Desk) -> None:
    desk.ring()
    assert desk.record().events == []


def test_what_cannot_be_written_is_refused(desk: Desk) -> None:
    recorder = desk.recorder()
    bad: list[tuple[Any, str | None, str]] = [
        (5, None, "version must be 6 or 7, got 5"),
        (7, "lz4", "compression must be 'zstd', 'zlib' or 'none', got 'lz4'"),
        (6, "zstd", "version 6 has no compression; 'zstd' needs version 7"),
    ]
    for version, compression, message in bad:
        with pytest.raises(ValueError, match=message):
            recorder.assemble(desk.output, "{}", version=version, compression=compression)
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
    recorder.finish(add_ring(recorder, desk.rings[0].path))
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


# ---- reading


class Damaged:
    """A trace of version 7 with places that can be changed."""

    def __init__(self, path: Path, compression: str) -> None:
        trace = Trace(["m.f"])
        for tid in (1, 2):
            task = trace.task(tid)
            for time in range(0, 40_000, 100):
                task.enter(time, 0, 0)
                task.leave(time + 50, 0, 0, calltime=time)
        self.path = path
        self.whole = trace.version_7(compression)
        self.data = bytearray(self.whole)
        self.first_options = Sections(self.whole).options
        (size,) = struct.unpack_from("<Q", self.whole, self.first_options + 8)
        self.first_end = self.first_options + 16 + size
        (self.more_options,) = struct.unpack_from("<Q", self.whole, self.first_end - 8)
        self.buffer_option = self.whole.index(b"mono\0", self.more_options) + len(b"mono\0")
        self.lane = self.buffer_option + 8  # of the table
        (self.lane_data,) = struct.unpack_from("<Q", self.whole, self.lane + 4)
        (self.buffer,) = struct.unpack_from("<Q", self.whole, self.buffer_option - 14)
        (self.description,) = struct.unpack_from("<Q", self.whole, len(self.whole) - 16)

    def error(self, at: int, layout: str, number: int) -> str:
        """Write a number; return the error that reading ends in."""
        self.data[:] = self.whole
        struct.pack_into("<" + layout, self.data, at, number)
        self.path.write_bytes(self.data)
        with pytest.raises(TraceError) as caught:
            TraceFile(self.path).summary()
        return str(caught.value)


def test_damage_of_a_compressed_trace_is_named(tmp_path: Path) -> None:
    it = Damaged(tmp_path / "trace.dat", "zstd")
    number_of_option = it.whole.index(struct.pack("<HI", 18, 8), it.first_options) + 6
    (events_format,) = struct.unpack_from("<Q", it.whole, number_of_option)
    packed, size = struct.unpack_from("<II", it.whole, it.lane_data + 4)
    (description,) = struct.unpack_from("<I", it.whole, it.description + 16)
    at, lane, data = it.more_options, it.lane, it.lane_data
    chunk, json = f"damaged at byte {data + 4}", f"damaged at byte {it.description + 16}"
    sizes = "impossible sizes of compressed data"
    for where, layout, number, message in (
        (it.first_end - 8, "Q", it.first_options, "damaged: its options go in a circle"),
        (it.first_end - 8, "Q", 0, "damaged or truncated: it has no buffer"),
        (it.first_end - 8, "Q", at + 8, f"damaged: no section 0 at byte {at + 8}"),
        (at + 2, "H", 1, "damaged: its options are compressed"),
        (at + 8, "Q", 5, f"damaged: an option goes beyond its section, at byte {at + 22}"),
        (at + 8, "Q", 2**63, f"truncated: it ends at byte {len(it.whole)}, inside of section 0"),
        (number_of_option, "Q", events_format + 1, f"damaged: no section 18 at byte {events_format + 1}"),
        (it.buffer_option, "I", 8192, "a buffer of it has pages of 8192 bytes, the file of 4096"),
        (it.buffer_option + 4, "I", 0, "not recorded by funcgraph: a buffer of it has 0 lanes"),
        (it.buffer_option + 4, "I", 9, "damaged or truncated: it is too short for its table of 9 lanes"),
        (lane, "I", 1, "not recorded by funcgraph: lane 0 has the number 1"),
        (lane + 4, "Q", it.buffer, "damaged: the data of lane 0 does not lie in its section"),
        (lane + 12, "Q", 2**40, "damaged: the data of lane 0 does not lie in its section"),
        (lane + 12, "Q", 3, "damaged: lane 0 has no room for a number of chunks"),
        (lane + 12, "Q", 11, f"damaged: no room for compressed data at byte {data + 4}"),
        (data, "I", 99, "damaged: the data of lane 0 ends before its last chunk"),
        (data + 4, "I", packed - 1, f"{chunk}: this is not zstd data of {size} bytes"),
        (data + 4, "I", 2**31, f"{chunk}: compressed data goes beyond what it lies in"),
        (data + 8, "I", size + 4096, f"{chunk}: this is not zstd data of {size + 4096} bytes"),
        (data + 8, "I", 4097, f"{chunk} (lane 0): a chunk is not a multiple of the page size"),
        (data + 8, "I", 2**30, f"{chunk}: {sizes}: {packed} bytes for {2**30}"),
        (it.description, "H", 15, f"damaged: no section 18246 at byte {it.description}"),
        (it.description + 20, "I", 2**27, f"{json}: {sizes}: {description} bytes for {2**27}"),
        (it.description + 16, "I", description - 1, f"{json}: this is not zstd data"),
        (len(it.whole) - 24, "B", 0, "truncated, or not recorded by funcgraph"),
    ):
        assert it.error(where, layout, number).startswith(message)


def test_damage_of_a_trace_that_is_not_compressed_is_named(tmp_path: Path) -> None:
    it = Damaged(tmp_path / "trace.dat", "none")
    for where, layout, number, message in (
        (it.buffer + 2, "H", 1, "damaged: lanes are compressed, and the file says with nothing"),
        (it.lane + 12, "Q", 4095, "damaged: the data of lane 0 is not a multiple of the page size"),
        (it.lane_data + 8, "Q", 4095, f"damaged at byte {it.lane_data} (lane 0): a page claims to hold"),
    ):
        assert it.error(where, layout, number).startswith(message)


def test_lanes_that_need_too_much_memory_at_once_are_refused(tmp_path: Path) -> None:
    """The same 16 MiB of zeros, a few kilobytes in the file, are the data of a hundred lanes."""
    trace = Trace(["m.f"])
    for tid in range(100):
        trace.task(tid).enter(1, 0, 0)
    trace.lanes[0].flush()
    page = trace.lanes[0].pages[0]
    sections = Sections7("zstd")
    at = len(sections.out)
    chunk = sections.block(page.ljust(16 << 20, b"\0"))
    lanes = len(trace.lanes)
    sections.out += struct.pack("<HHIQI", 3, 1, 0, 4 + len(chunk), 1) + chunk
    option = struct.pack("<Q", at) + b"\0mono\0" + struct.pack("<II", 4096, lanes)
    for cpu in range(lanes):
        option += struct.pack("<IQQ", cpu, at + 16, 4 + len(chunk))
    sections.put_options([(3, option)])
    sections.put_description(trace.description())
    path = tmp_path / "trace.dat"
    path.write_bytes(sections.out)
    assert path.stat().st_size < 1 << 16
    with pytest.raises(TraceError, match="its lanes need more than 1073741824 bytes of memory at once"):
        TraceFile(path).summary()
