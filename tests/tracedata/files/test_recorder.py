"""The Recorder: draining live rings, recovering the spool of a dead recorder, damage and full disks.

ringfile.py writes the rings and tracereader.py reads the traces. Neither shares code with
the code under test.
"""

from __future__ import annotations

import errno
import os
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from errno import EBADF
from pathlib import Path

import pytest
from ringfile import CLAIMED, OWNED, SEEN, add_ring, leaf
from tracereader import Desk, read_trace

pytestmark = pytest.mark.one_python

S = 1_000_000_000


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


# ---- draining


def test_a_running_ring_is_drained_and_its_sub_buffers_released(desk: Desk) -> None:
    ring = desk.ring(nr_subbufs=8)
    ring.function(0, "m.f")
    ring.function(1, "m.only_seen", kind=SEEN)
    ring.task(1, 1)
    recorder = desk.recorder()
    number = add_ring(recorder, ring.path)
    time = S
    for _ in range(50):  # many times the ring's size
        for _ in range(5):
            ring.put(1, b"".join(leaf(time + i, 0, 0, 1) for i in range(0, 20, 2)))
            time += 20
        assert recorder.drain(number) == 100
        assert recorder.drain(number) == 0
    info = recorder.info(number)
    assert (info["pid"], info["finished"], info["records"], info["killed"]) == (4711, False, 5000, None)
    assert (info["functions"], info["seen"], info["tasks"]) == (1, 2, 1)
    ring.put(1, leaf(time, 0, 0, 1), state=OWNED)
    ring.finish()
    assert recorder.drain(number) == 0
    assert recorder.info(number)["finished"] is True
    recorder.finish(number)
    totals = recorder.totals()
    size = totals.pop("bytes")
    assert 0 < size < os.path.getsize(desk.part) < 5002 * 20
    assert totals == {
        "records": 5002,
        "lost": 0,
        "damaged": 0,
        "overrun": 0,
        "waits": 0,
        "wait_ns": 0,
        "tasks": 1,
        "processes": 1,
        "cut": 0,
        "functions": 1,
    }
    assert recorder.matched() == 1
    assert recorder.seen_functions() == [("m.f", "m"), ("m.only_seen", "m")]
    recorder.assemble(desk.output, "{}")
    assert len(read_trace(desk.output).events) == 5002


def test_stop_writer_reaches_the_ring(desk: Desk) -> None:
    ring = desk.ring()
    recorder = desk.recorder()
    recorder.stop_writer(add_ring(recorder, ring.path))
    assert ring.header.stop == 1


def test_a_trace_can_be_made_while_rings_are_still_mapped(desk: Desk) -> None:
    ring = desk.ring()
    ring.function(0, "m.f")
    ring.task(1, 1)
    recorder = desk.recorder()
    number = add_ring(recorder, ring.path)
    for i in range(3):
        ring.put(1, leaf(S + i * 10, 0, 0, 1))
        recorder.drain(number)
        recorder.assemble(desk.output, "{}")
        assert len(read_trace(desk.output).events) == 2 * (i + 1)


# ---- spools of dead recorders


def test_a_killed_recorders_spool_is_resumed_where_it_ended(desk: Desk) -> None:
    ring = desk.ring()
    ring.function(0, "m.f")
    ring.task(1, 1)
    for i in range(4):
        ring.put(1, leaf(S + i * 10, 0, 0, 1))
    program = (
        "import os, signal, sys; from funcgraph._tracedata import Recorder;"
        "r = Recorder(sys.argv[1]); ring = open(sys.argv[2], 'r+b');"
        "n = r.add_ring(ring.fileno(), os.path.basename(sys.argv[2])); r.drain(n);"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    status = subprocess.run([sys.executable, "-c", program, desk.part, ring.path]).returncode
    assert status == -signal.SIGKILL
    ring.function(1, "m.later")
    ring.put(1, leaf(S + 100, 1, 0, 1))
    ring.put(1, leaf(S + 200, 0, 0, 1), state=OWNED)
    recorder = desk.recorder(resume=True)
    assert recorder.totals()["records"] == 8
    number = add_ring(recorder, ring.path)
    assert number == 0
    recorder.finish(number)
    recorder.assemble(desk.output, "{}")
    trace = read_trace(desk.output)
    assert [event.time for event in trace.events if event.type == 11] == [
        *(S + i * 10 for i in range(4)),
        S + 100,
        S + 200,
    ]
    assert [function[1] for function in trace.meta["functions"]] == ["f", "later"]
    assert len(trace.meta["processes"]) == 1


def test_a_sub_buffer_that_was_spooled_but_not_released_counts_once(desk: Desk) -> None:
    ring = desk.ring()
    ring.function(0, "m.f")
    ring.task(1, 1)
    index = ring.put(1, leaf(S, 0, 0, 1))
    recorder = desk.recorder()
    recorder.drain(add_ring(recorder, ring.path))
    recorder.close()
    at = ring.header.data_offset + index * ring.header.subbuf_bytes
    ring.map[at : at + 4] = struct.pack("<I", CLAIMED)
    recorder = desk.recorder(resume=True)
    recorder.finish(add_ring(recorder, ring.path))
    assert recorder.totals()["records"] == 2
    recorder.assemble(desk.output, "{}")
    assert len(read_trace(desk.output).events) == 2


def test_a_spool_alone_is_enough(desk: Desk) -> None:
    ring = desk.ring(clock=((0, S), (5 * S, 3 * S)))
    ring.process(1, "python")
    ring.function(0, "m.f")
    ring.task(1, 9, "name")
    ring.put(1, leaf(1000, 0, 0, 1))
    ring.header.records_lost = 5
    recorder = desk.recorder()
    recorder.drain(add_ring(recorder, ring.path))
    recorder.close()
    ring.path.unlink()
    recorder = desk.recorder(resume=True)
    recorder.assemble(desk.output, "{}")
    trace = read_trace(desk.output)
    assert trace.meta["lost"] == 5
    assert trace.meta["processes"][0]["argv"] == ["python"]
    assert len(trace.events) == 2


def spool_of(desk: Desk) -> bytes:
    ring = desk.ring()
    ring.process(1, "python")
    ring.function(0, "m.f")
    ring.function(1, "m.g")
    ring.task(1, 1)
    for i in range(6):
        ring.put(1, b"".join(leaf(S + i * 1000 + j * 10, j % 2, 0, 1) for j in range(10)))
    recorder = desk.recorder()
    recorder.finish(add_ring(recorder, ring.path))
    recorder.close()
    return desk.part.read_bytes()


def data_chunks(spool: bytes) -> list[int]:
    """Return where the DATA chunks of a spool begin."""
    places = [match.start() for match in re.finditer(b"FGCK", spool)]
    return [at for at in places if spool[at + 4] == 3]


def test_a_spool_cut_anywhere_gives_what_is_whole(desk: Desk) -> None:
    spool = spool_of(desk)
    before = 0
    for end in range(16, len(spool) + 1, 8):
        count = len(desk.assemble_spool(spool[:end]).events)
        assert count >= before
        assert count % 20 == 0
        before = count
    assert before == 120


def test_a_resumed_spool_that_was_cut_takes_more(desk: Desk) -> None:
    spool = spool_of(desk)
    desk.part.write_bytes(spool[:-1000])
    ring = desk.ring(99)
    ring.function(0, "m.f")
    ring.task(1, 99)
    ring.put(1, leaf(S, 0, 0, 1))
    recorder = desk.recorder(resume=True)
    assert add_ring(recorder, ring.path) == 1
    recorder.finish(1)
    recorder.close()
    trace = desk.assemble_spool(desk.part.read_bytes())
    assert len([event for event in trace.events if event.tid == 99]) == 2


def test_a_damaged_place_in_a_spool_costs_only_that_chunk(desk: Desk) -> None:
    spool = spool_of(desk)
    data = data_chunks(spool)
    assert len(data) == 6
    damaged = bytearray(spool)
    damaged[data[2] : data[2] + 8] = bytes(8)
    trace = desk.assemble_spool(bytes(damaged))
    assert len(trace.events) == 100
    assert trace.meta["lost"] == 1


@pytest.mark.parametrize("seed", range(60))
def test_a_spool_with_random_damage_never_crashes(desk: Desk, seed: int) -> None:
    chance = random.Random(seed)
    spool = bytearray(spool_of(desk))
    for _ in range(chance.randrange(1, 200)):
        at = chance.randrange(16, len(spool))
        spool[at] = chance.choice([0, 255, chance.randrange(256)])
    desk.assemble_spool(bytes(spool))


@pytest.mark.parametrize("seed", range(40))
def test_random_bytes_in_sub_buffers_never_crash(desk: Desk, seed: int) -> None:
    chance = random.Random(seed)
    ring = desk.ring()
    ring.function(0, "m.f")
    for task in range(1, 4):
        ring.task(task, task)
    for _ in range(20):
        good = leaf(S, 0, 0, 1) * chance.randrange(10)
        ring.put(chance.randrange(1, 5), good + chance.randbytes(8 * chance.randrange(100)))
    trace = desk.record()
    assert trace.meta["lost"] >= trace.meta["processes"][0]["lost"] >= 0


@pytest.mark.parametrize("seed", range(60))
def test_a_ring_written_over_at_random_never_crashes(desk: Desk, seed: int) -> None:
    """A program with a wild pointer can overwrite its ring while the recorder has it mapped."""
    chance = random.Random(seed)
    ring = desk.ring(nr_subbufs=16)
    ring.function(0, "m.f")
    ring.task(1, 1)
    for i in range(8):
        ring.put(1, leaf(S + i * 10, 0, 0, 1))
    recorder = desk.recorder()
    number = add_ring(recorder, ring.path)
    symbols, data = ring.header.symbols_offset, ring.header.data_offset
    places = [range(72, 240), range(4096, 4096 + 128), range(symbols, symbols + 128), range(data, data + 200)]
    for _ in range(chance.randrange(1, 30)):
        ring.map[chance.choice(chance.choice(places))] = chance.choice([0, 255, chance.randrange(256)])
    recorder.drain(number)
    recorder.info(number)
    recorder.finish(number)
    recorder.totals()
    recorder.seen_functions()
    recorder.assemble(desk.output, "{}")
    read_trace(desk.output)
    assert desk.part.stat().st_size < 1 << 20


def test_a_corrupt_record_ends_its_sub_buffer_and_is_counted(desk: Desk) -> None:
    ring = desk.ring()
    ring.function(0, "m.f")
    ring.task(1, 1)
    for damage in (
        struct.pack("<QII", S, 0, 0 | 1 << 6),  # one word
        struct.pack("<QII", S, 0, 2 | 2 << 6),  # a return without its time
        struct.pack("<QII", S, 0, 0 | 1 << 4 | 2 << 6),  # has_start, but no start
        struct.pack("<QII", S, 0, 15 | 5 << 6),  # no such kind
        struct.pack("<QII", S, 0, 0 | 100 << 6),  # longer than the rest of the sub-buffer
    ):
        ring.put(1, leaf(S, 0, 0, 1) + damage + leaf(S, 0, 0, 1))
    trace = desk.record()
    assert len(trace.events) == 10
    assert trace.meta["lost"] == 5
    assert [event.lost for event in trace.events] == [0, 0, *(1, 0) * 4]


# ---- errors


def test_a_spool_is_never_overwritten_nor_shared(desk: Desk) -> None:
    recorder = desk.recorder()
    with pytest.raises(FileExistsError) as caught:
        desk.recorder()
    assert caught.value.filename == str(desk.part)
    with pytest.raises(BlockingIOError):
        desk.recorder(resume=True)
    recorder.close()
    desk.recorder(resume=True).close()


def test_a_file_that_is_not_a_spool_is_refused_and_unchanged(desk: Desk) -> None:
    for content in (b"", b"short", b"x" * 5000):
        desk.part.write_bytes(content)
        with pytest.raises(ValueError, match="not a spool"):
            desk.recorder(resume=True)
        assert desk.part.read_bytes() == content


def test_a_file_that_is_not_a_ring_is_refused(desk: Desk) -> None:
    recorder = desk.recorder()
    bad = desk.folder / "bad.ring"
    for content in (b"", b"FGRING\0\2" + bytes(10_000), b"x" * 10_000):
        bad.write_bytes(content)
        with pytest.raises(ValueError, match="not a ring-buffer file"):
            add_ring(recorder, bad)
    with pytest.raises(OSError) as caught:
        recorder.add_ring(-1)
    assert caught.value.errno == EBADF
    with pytest.raises(TypeError):
        recorder.add_ring(str(bad))  # type: ignore[arg-type]
    assert recorder.totals()["processes"] == 0


def test_numbers_of_rings_are_checked(desk: Desk) -> None:
    ring = desk.ring()
    recorder = desk.recorder()
    number = add_ring(recorder, ring.path)
    recorder.finish(number)
    calls: list[Callable[[int], object]] = [recorder.drain, recorder.finish, recorder.stop_writer]
    for call in calls:
        for bad in (number, number + 1, 1 << 40):
            with pytest.raises(ValueError, match="ring"):
                call(bad)
    assert recorder.info(number)["records"] == 0
    with pytest.raises(ValueError, match="ring"):
        recorder.info(1)
    with pytest.raises(TypeError):
        recorder.drain("x")  # type: ignore[arg-type]


def test_a_closed_recorder_says_so(desk: Desk) -> None:
    recorder = desk.recorder()
    recorder.close()
    recorder.close()
    with pytest.raises(ValueError, match="closed"):
        recorder.totals()
    with pytest.raises(ValueError, match="closed"):
        recorder.assemble(desk.output, "{}")


@pytest.mark.parametrize("meta", ["", "[]", "{", "{} {}", '{"a": }', "null"])
def test_meta_that_is_not_an_object_is_refused(desk: Desk, meta: str) -> None:
    recorder = desk.recorder()
    with pytest.raises(ValueError):
        recorder.assemble(desk.output, meta)
    assert not desk.output.exists()


def test_only_a_regular_file_is_replaced(desk: Desk) -> None:
    recorder = desk.recorder()
    with pytest.raises(IsADirectoryError):
        recorder.assemble(desk.folder, "{}")
    with pytest.raises(OSError) as caught:
        recorder.assemble("/dev/null", "{}")
    assert caught.value.errno == errno.ENOTSUP
    assert Path("/dev/null").is_char_device()
    with pytest.raises(FileNotFoundError):
        recorder.assemble(desk.folder / "none" / "trace.dat", "{}")
    target = desk.folder / "real.dat"
    target.write_text("old")
    desk.output.symlink_to(target)
    with pytest.raises(OSError, match="symbolic links"):
        recorder.assemble(desk.output, "{}")
    assert target.read_text() == "old"
    assert {path.name for path in desk.folder.iterdir()} == {"trace.dat.part", "trace.dat", "real.dat"}


@pytest.fixture
def file_size_limit() -> Iterator[Callable[[int], None]]:
    """Limit the size of files. Writes beyond it fail with EFBIG, as those to a full disk with ENOSPC."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size if size >= 0 else soft, hard))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_loses_nothing_while_draining(desk: Desk, file_size_limit: Callable[[int], None]) -> None:
    ring = desk.ring(nr_subbufs=64)
    ring.function(0, "m.f")
    ring.task(1, 1)
    for i in range(30):
        ring.put(1, b"".join(leaf(S + i * 1000 + j * 10, 0, 0, 1) for j in range(90)))
    ring.put(1, leaf(S + 90_000, 0, 0, 1), state=OWNED)
    recorder = desk.recorder()
    number = add_ring(recorder, ring.path)
    failures = []
    for size in (*range(1000, 20_000, 77), -1):
        file_size_limit(size)
        try:
            recorder.drain(number)
            if size < 0:
                recorder.finish(number)
        except OSError as error:
            failures.append((error.errno, error.filename))
    assert len(failures) > 30
    assert set(failures) == {(errno.EFBIG, str(desk.part))}
    recorder.assemble(desk.output, "{}")
    trace = read_trace(desk.output)
    times = [event.time for event in trace.events if event.type == 11]
    assert times == [*(S + i * 1000 + j * 10 for i in range(30) for j in range(90)), S + 90_000]
    assert trace.meta["lost"] == 0
    recorder.close()
    again = desk.assemble_spool(desk.part.read_bytes())
    assert len(again.events) == len(trace.events)


def test_a_full_disk_leaves_no_half_trace(desk: Desk, file_size_limit: Callable[[int], None]) -> None:
    ring = desk.ring()
    ring.function(0, "m.f")
    ring.task(1, 1)
    for i in range(30):
        ring.put(1, b"".join(leaf(S + i * 1000 + j * 10, 0, 0, 1) for j in range(90)))
    recorder = desk.recorder()
    recorder.finish(add_ring(recorder, ring.path))
    desk.output.write_text("the trace before")
    for size in (0, 100, 5000, 50_000, 150_000):
        file_size_limit(size)
        with pytest.raises(OSError) as caught:
            recorder.assemble(desk.output, "{}")
        assert caught.value.errno == errno.EFBIG
        assert caught.value.filename == str(desk.output) or caught.value.filename == desk.output
        assert desk.output.read_text() == "the trace before"
        assert len(list(desk.folder.glob("*.tmp"))) == 0
    file_size_limit(-1)
    recorder.assemble(desk.output, "{}")
    assert len(read_trace(desk.output).events) == 30 * 180


def test_a_second_thread_gets_an_error(desk: Desk) -> None:
    ring = desk.ring(subbuf_bytes=65536, nr_subbufs=256)
    ring.function(0, "m.f")
    ring.task(1, 1)
    data = leaf(S, 0, 0, 1) * 1600
    for _ in range(256):
        ring.put(1, data)
    recorder = desk.recorder()
    number = add_ring(recorder, ring.path)
    results: list[object] = []

    def drain() -> None:
        try:
            results.append(recorder.drain(number))
        except RuntimeError as error:
            results.append(error)

    threads = [threading.Thread(target=drain) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    taken = sum(result for result in results if isinstance(result, int))
    assert taken == 256 * 3200
    assert len(data_chunks(desk.part.read_bytes())) == 256


def test_a_recorder_killed_while_it_writes_the_trace_leaves_only_its_spool(desk: Desk) -> None:
    """Before: trace.dat.PID.0.tmp stayed. The kernel kills what writes beyond its limit, in that write."""
    ring = desk.ring()
    ring.function(0, "m.f")
    ring.task(1, 1)
    ring.put(1, leaf(S, 0, 0, 1))
    desk.record()
    before = desk.output.read_bytes()
    code = """if True:
        import resource, signal, sys
        from funcgraph._tracedata import Recorder
        recorder = Recorder(sys.argv[1], resume=True)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        recorder.assemble(sys.argv[2], "{}")
    """
    files = sorted(os.listdir(desk.folder))
    for exists in (True, False):
        if not exists:
            desk.output.unlink()
            files.remove(desk.output.name)
        words = [sys.executable, "-c", code, str(desk.part), str(desk.output)]
        assert subprocess.run(words, timeout=60).returncode == -signal.SIGXFSZ
        assert sorted(os.listdir(desk.folder)) == files
        if exists:
            assert desk.output.read_bytes() == before
