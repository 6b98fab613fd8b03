"""Promise: an index that took long to make is read from a cache the next time, and answers the same. What
somebody else or damage has put there is never believed, and nothing is kept where others could read it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from ringfile import RingFile, add_ring, enter, leaf, leave

import funcgraph
from funcgraph import _tracedata
from funcgraph.tracedata import CallIndex, index_cache
from funcgraph.tracedata.index_cache import IndexCache, trace_key

pytestmark = pytest.mark.one_python

S = 1_000_000_000
RAISE = 3


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of this test alone, which keeps indexes of all traces."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(index_cache, "LEAST_EVENTS", 1)
    return tmp_path / "cache" / "funcgraph" / "index"


def write(path: Path, calls: int = 300, *, end: bool = True) -> Path:
    """Record a trace of two threads: calls of 1 to 7 ns, one call around ten of them, some that raise."""
    ring = RingFile(path.with_suffix(".ring"))
    for number in range(3):
        ring.function(number, f"m.f{number}")
    recorder = _tracedata.Recorder(path, clock="mono")
    number = add_ring(recorder, ring.path)
    for task in (1, 2):
        ring.task(task, 4710 + task, f"thread {task}")
        time = S * task
        for first in range(0, calls, 10):
            begin, data = time, enter(time, 2, 0)
            for i in range(first, first + 10):
                time += 10
                data += leaf(time, i % 2, 1, 1 + i % 7)
            time += 10
            data += leave(time, 2, 0, begin, kind=RAISE if first % 50 == 0 else 2)
            ring.put(task, data)
            recorder.drain(number)
            time += 10
    if end:
        recorder.finish(number)
        recorder.complete("{}")
    recorder.close()
    ring.path.unlink()
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write(tmp_path / "trace.fg")


def answers(trace: funcgraph.Trace, index: CallIndex) -> list[object]:
    """All that an index can be asked, in a form that can be compared."""
    found: list[object] = [index.lanes(), index.functions(), index.resolution_ns]
    for lane in index.lanes():
        for pixels in (1, 30, 2**32 - 1):
            rows = index.spans(lane, lane.begin_ns, lane.end_ns + 1, pixels)
            found += [bytes(getattr(rows, name)) for name in rows.__slots__]
        found += [index.marks(lane), index.call_at(lane, lane.begin_ns + 45)]
    for function in trace.functions:
        found += [index.histogram(function), index.longest_calls(function, most=5)]
        for raised in (False, True):
            found += [
                index.next_call(function, S + 50, raised=raised),
                index.previous_call(function, 2 * S + 2000, raised=raised),
            ]
    return found


def ask(path: Path, **settings: int) -> list[object]:
    with funcgraph.open(path) as trace:
        return answers(trace, trace.index(**settings))


@pytest.fixture
def made() -> Iterator[list[int]]:
    """The sizes of the indexes that are made of a trace, not read."""
    made: list[int] = []
    make = funcgraph.Trace._make_index

    def counted(
        self: funcgraph.Trace, most_bytes: int, progress: Callable[[float], object] | None
    ) -> _tracedata.CallIndex:
        made.append(most_bytes)
        return make(self, most_bytes, progress)

    with patch.object(funcgraph.Trace, "_make_index", counted):
        yield made


@pytest.mark.parametrize("most_bytes", [1 << 20, 3000, 1])
def test_an_index_from_the_cache_answers_the_same(path: Path, made: list[int], most_bytes: int) -> None:
    first = ask(path, most_bytes=most_bytes)
    assert made == [most_bytes]
    assert ask(path, most_bytes=most_bytes) == first
    assert made == [most_bytes]


@pytest.mark.parametrize(
    ("events", "mib"), [(10, 32), (10**6, 32), (10**6 + 1, 8), (10**7, 10**7 / 2**20), (5 * 10**8, 128)]
)
def test_an_index_has_room_for_all_calls_or_for_a_byte_an_event(
    path: Path, made: list[int], events: int, mib: float
) -> None:
    with funcgraph.open(path) as trace:
        trace.nr_events = events
        trace.index()
    assert made == [mib * 2**20]


MEMORY = """
import sys, funcgraph
def anonymous():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("RssAnon:"))
trace = funcgraph.open(sys.argv[1])
trace.index(cached=False, most_bytes=1)
before, again = anonymous(), funcgraph.open(sys.argv[1])
index = again.index(cached=False, most_bytes=int(sys.argv[2]))
print(anonymous() - before, index.nr_bytes)
"""
MANY_CALLS = Path(__file__).parents[3] / "benchmarks" / "programs" / "many_calls.py"


def test_an_index_gives_back_what_its_making_needed(tmp_path: Path) -> None:
    """Broken: each sort and each fold allocated as much again, and left holes in the heap as large."""
    most_bytes, python = 8 << 20, [sys.executable]
    record = ["-m", "funcgraph", "record", "-q", "-o", "t.fg", str(MANY_CALLS), "2000"]
    subprocess.run([*python, *record], check=True, cwd=tmp_path, timeout=120)
    command = [*python, "-c", MEMORY, "t.fg", str(most_bytes)]
    done = subprocess.run(command, check=True, cwd=tmp_path, timeout=120, capture_output=True, text=True)
    grown, index_bytes = map(int, done.stdout.split())
    assert grown <= index_bytes + most_bytes // 2


def test_what_is_kept_is_for_its_user_alone(path: Path, folder: Path) -> None:
    ask(path)
    files = list(folder.iterdir())
    assert [file.suffix for file in files] == [".index"]
    assert [file.stat().st_mode & 0o777 for file in files] == [0o600]
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_moved_trace_has_its_index_and_a_changed_one_another(path: Path, made: list[int]) -> None:
    ask(path)
    moved = path.rename(path.with_name("moved.fg"))
    ask(moved)
    assert len(made) == 1
    facts = moved.stat()
    os.utime(moved, ns=(facts.st_atime_ns, facts.st_mtime_ns + 1))
    ask(moved)
    assert len(made) == 2
    data = moved.read_bytes()
    moved.write_bytes(data[:-1] + b"x")
    os.utime(moved, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    ask(moved)
    assert len(made) == 3


def test_an_index_of_another_size_is_another_one(path: Path, made: list[int]) -> None:
    ask(path, most_bytes=3000)
    ask(path, most_bytes=4000)
    assert made == [3000, 4000]


def test_a_small_trace_and_one_that_need_not_are_not_kept(
    path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with funcgraph.open(path) as trace:
        trace.index(cached=False)
        monkeypatch.setattr(index_cache, "LEAST_EVENTS", trace.nr_events + 1)
    ask(path)
    assert not folder.exists()


def test_a_trace_that_is_recorded_is_not_kept_and_a_cut_one_is(
    tmp_path: Path, folder: Path, made: list[int]
) -> None:
    path = write(tmp_path / "trace.fg", end=False)
    with patch("funcgraph.tracedata.opened._is_recorded", return_value=True):
        ask(path)
    assert not folder.exists()
    assert ask(path) == ask(path)
    assert len(made) == 2


def test_any_damage_is_found(path: Path, folder: Path, made: list[int]) -> None:
    expected = ask(path, most_bytes=3000)
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    places = [*range(320), *range(320, len(whole), 97)]
    damaged = [whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :] for at in places]
    damaged += [whole[:size] for size in range(0, len(whole), 331)] + [whole + b"more", whole * 2]
    with funcgraph.open(path) as trace:
        reader, counts = trace._opened(), (len(trace.functions), len(trace.tasks))
        key = trace_key(reader.fileno(), 3000)
        for data in damaged:
            file.write_bytes(data)
            cache = IndexCache()
            assert cache.get(key, reader, *counts) is None
            cache.close()
    assert ask(path, most_bytes=3000) == expected
    assert len(made) == 2
    assert file.read_bytes() == whole


def test_a_folder_that_others_may_use_is_not_used(path: Path, folder: Path, made: list[int]) -> None:
    folder.mkdir(parents=True)
    folder.chmod(0o750)
    assert ask(path) == ask(path)
    assert len(made) == 2
    assert not list(folder.iterdir())
    cache = IndexCache()
    assert cache.flaw == f"{folder}: other users may use it"


def test_a_link_in_the_folder_is_not_followed(path: Path, folder: Path, made: list[int]) -> None:
    ask(path)
    (file,) = folder.iterdir()
    elsewhere = file.rename(path.with_name("elsewhere"))
    file.symlink_to(elsewhere)
    ask(path)
    assert len(made) == 2
    assert not file.is_symlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a file to another user")
def test_a_file_of_another_user_is_not_believed(path: Path, folder: Path, made: list[int]) -> None:
    ask(path)
    (file,) = folder.iterdir()
    os.chown(file, 1, 1)
    ask(path)
    assert len(made) == 2


def test_those_that_were_not_used_for_long_make_room(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [write(tmp_path / f"{number}.fg", 300 + 10 * number) for number in range(3)]
    files = []
    for number, path in enumerate(paths):
        if number == 2:
            os.utime(files[0], (1, 1))
            os.utime(files[1], (2, 2))
            ask(paths[0])  # it was used
            room = files[0].stat().st_size + files[1].stat().st_size
            monkeypatch.setattr(index_cache, "MOST_BYTES", room + 5000)
        ask(path)
        files += [file for file in folder.iterdir() if file not in files]
    assert [file.exists() for file in files] == [True, False, True]


def test_a_full_disk_keeps_nothing_and_harms_nothing(path: Path, folder: Path, made: list[int]) -> None:
    with patch.object(os, "rename", side_effect=OSError(28, "No space left on device")):
        first = ask(path)
    assert not list(folder.iterdir())
    assert ask(path) == first
    assert len(made) == 2


def test_a_trace_that_changes_meanwhile_is_not_kept(path: Path, folder: Path) -> None:
    with funcgraph.open(path) as trace:
        trace.index(progress=lambda part: os.utime(path))
    assert not folder.exists() or not list(folder.iterdir())
