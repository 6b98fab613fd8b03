"""Rings whose owner is hostile: the recorder goes on, and everything else in the trace is complete."""

from __future__ import annotations

import fcntl
import os
import random
import resource
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import Funcgraph
from ringfile import RingFile, add_ring, leaf
from sizes import HOSTILE_DESCRIPTORS, TRUNCATED_RINGS, seed
from tracereader import Desk

import funcgraph
from funcgraph import _tracedata
from tools.real import places

pytestmark = pytest.mark.one_python

S = 1_000_000_000
SUPPORT = Path(__file__).parent.parent / "support"
TRUNCATED = "its file was truncated by its owner"

# A recorded program that starts a hostile one of the same user, which is not traced. That one gets the
# session's folder; it lives until the program's calls are done.
PROGRAM = """
import glob, os, subprocess, sys

def leaf():
    pass

(folder,) = glob.glob(os.environ["XDG_RUNTIME_DIR"] + "/funcgraph-[0-9]*")
hostile = [sys.executable, "-I", "-S", "-c", {hostile!r}, folder, {support!r}]
process = subprocess.Popen(hostile, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
assert process.stdout.readline() == b"ready\\n", "the hostile program failed"
for _ in range(20_000):
    leaf()
process.communicate()
assert process.returncode == 0
"""

BEGIN = """
import os, sys
folder, support = sys.argv[1:]
sys.path.insert(0, support)
from pathlib import Path
from ringfile import RingFile, leaf
def ring(name, **options):
    path = Path(folder, f"{os.getpid()}.{name}.ring")
    made = RingFile(path.with_suffix(".new"), os.getpid(), **options)
    made.function(0, "hostile.f")
    made.task(1, os.getpid())
    path.with_suffix(".new").rename(path)
    return path, made
"""

END = """
print("ready", flush=True)
sys.stdin.read()
"""


def record(
    fg: Funcgraph, hostile: str, *, limit: dict[int, int] | None = None, size: str | None = None
) -> str:
    """Record a program beside a hostile one, with all of its calls; return what the recorder printed.

    Args:
        limit: limits of the recorder.
        size: of the file system that the session lies in.
    """
    script = fg.script(PROGRAM.format(hostile=BEGIN + hostile + END, support=str(SUPPORT)))

    def set_limits() -> None:
        for kind, most in (limit or {}).items():
            resource.setrlimit(kind, (most, most))

    before = places.small_folders({str(fg.runtime): size}, fg.folder) if size else []
    result = fg.plain(*before, *fg.command, "record", "-l", "__main__.leaf", script, preexec_fn=set_limits)
    assert result.returncode == 0, result.stderr
    assert fg.calls()["__main__.leaf"] == 20_000
    return result.stderr


def test_a_ring_that_is_truncated_is_given_up_and_the_others_are_complete(fg: Funcgraph) -> None:
    errors = record(fg, "path, made = ring(0)\nos.truncate(path, 0)\n")
    assert ".0.ring: " in errors


def test_a_ring_is_truncated_while_it_is_drained(fg: Funcgraph) -> None:
    """Fails if the recorder dies of SIGBUS: it did."""
    errors = record(
        fg,
        """
import threading, time
path, made = ring(0)
made.put_all(1, [leaf(1000 * n, 0, 0, 100) for n in range(1, 400)])
size = os.path.getsize(path)
def truncate():
    time.sleep(0.3)
    while True:
        os.truncate(path, 0)
        os.truncate(path, size)
threading.Thread(target=truncate, daemon=True).start()
time.sleep(0.6)
""",
    )
    assert f".0.ring: {TRUNCATED}" in errors
    assert fg.calls()["hostile.f"] == 399


@pytest.mark.skipif(not places.has_mounts(), reason="file systems cannot be mounted here")
def test_a_ring_loses_its_memory_in_a_full_file_system(fg: Funcgraph) -> None:
    """Fails if the recorder dies of SIGBUS: a page of its mapping has no memory, and there is none left."""
    errors = record(
        fg,
        """
import ctypes, time
libc = ctypes.CDLL(None)
path, made = ring(0)
made.put_all(1, [leaf(1000 * n, 0, 0, 100) for n in range(1, 400)])
def fill():
    try:
        while True:
            os.write(filler, bytes(4096))
    except OSError:
        pass
filler = os.open(f"{folder}/filler", os.O_WRONLY | os.O_CREAT)
fd = os.open(path, os.O_RDWR)
time.sleep(0.3)
fill()
KEEP_SIZE_PUNCH_HOLE = 3
assert libc.fallocate(fd, KEEP_SIZE_PUNCH_HOLE, ctypes.c_long(0), ctypes.c_long(8192)) == 0
fill()
time.sleep(0.5)
""",
        size="64m",
    )
    assert f".0.ring: {TRUNCATED}" in errors
    assert fg.calls()["hostile.f"] == 399


def test_a_ring_larger_than_the_recorder_agreed_to_is_damaged(fg: Funcgraph) -> None:
    """Fails if the recorder looks at each of 2^26 sub-buffers: that took a minute."""
    errors = record(
        fg,
        """
path = Path(folder, f"{os.getpid()}.0.ring")
made = RingFile(path.with_suffix(".new"), os.getpid())
made.header.nr_subbufs = 1 << 26
made.header.symbols_offset, made.header.data_offset = 1 << 30, 1 << 31
os.truncate(made.path, 1 << 40)
path.with_suffix(".new").rename(path)
""",
    )
    assert ".0.ring: not a ring-buffer file, or damaged" in errors


def test_the_symbols_of_a_process_are_bounded_and_a_cut_is_told(fg: Funcgraph) -> None:
    """Fails if a symbol of 1 GiB takes memory: it took 2.1 GB."""
    errors = record(
        fg,
        """
import struct
path = Path(folder, f"{os.getpid()}.0.ring")
made = RingFile(path.with_suffix(".new"), os.getpid(), nr_subbufs=8)
made.function(0, "hostile.f")
begin = made.header.data_offset + 8 * made.header.subbuf_bytes
os.truncate(made.path, begin + (2 << 30))
made.header.symbols_offset, made.header.symbols_capacity = begin, 2 << 30
with open(made.path, "r+b") as file:
    file.seek(begin)
    file.write(struct.pack("<IHHIIII", 1 << 30, 1, 0, 1, 1, 0, 4))
made.header.symbols_committed = 2 << 30
path.with_suffix(".new").rename(path)
""",
        limit={resource.RLIMIT_AS: 1 << 30},
    )
    assert "symbols of 1 process cut at 64 MiB: names are missing there" in errors
    with funcgraph.open(fg.trace) as trace:
        lost = {process["pid"]: process["symbols_lost"] for process in trace.meta["processes"]}
    assert sorted(lost.values()) == [0, 1]


@pytest.mark.parametrize("kind", ["fifo", "folder", "link", "socket", "empty", "text"])
def test_what_is_no_ring_is_told_and_does_no_harm(fg: Funcgraph, kind: str) -> None:
    make = {
        "fifo": "os.mkfifo(path)",
        "folder": "os.mkdir(path)",
        "link": "os.symlink('/dev/zero', path)",
        "socket": "import socket; socket.socket(socket.AF_UNIX).bind(path)",
        "empty": "open(path, 'x').close()",
        "text": "open(path, 'x').write('x' * 10000)",
    }[kind]
    errors = record(fg, f"path = folder + '/1.0.ring'\n{make}\n")
    assert "1.0.ring: not a ring-buffer file" in errors


# ---- descriptors that were handed over


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@contextmanager
def closing(fd: int) -> Iterator[int]:
    try:
        yield fd
    finally:
        os.close(fd)


def sound_ring(folder: Path) -> RingFile:
    ring = RingFile(folder / f"{random.getrandbits(64)}.ring")
    ring.function(0, "m.f")
    ring.task(1, 4711)
    ring.put(1, leaf(S, 0, 0, 100))
    return ring


def fifo(folder: Path) -> int:
    os.mkfifo(folder / "fifo")
    return os.open(folder / "fifo", os.O_RDWR)


def memfd(data: bytes, seals: int = 0) -> int:
    fd = os.memfd_create("ring", os.MFD_ALLOW_SEALING)
    os.write(fd, data)
    if seals:
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    return fd


def ring_bytes(folder: Path) -> bytes:
    return sound_ring(folder).path.read_bytes()


SHRINK, GROW, WRITE = 2, 4, 8

REFUSED: dict[str, Callable[[Path], int]] = {
    "fifo": fifo,
    "socket": lambda folder: socket.socketpair()[0].detach(),
    "folder": lambda folder: os.open(folder, os.O_RDONLY),
    "device": lambda folder: os.open("/dev/zero", os.O_RDWR),
    "empty memfd": lambda folder: memfd(b""),
    "a byte": lambda folder: memfd(b"F"),
    "write only": lambda folder: os.open(sound_ring(folder).path, os.O_WRONLY),
    "read only": lambda folder: os.open(sound_ring(folder).path, os.O_RDONLY),
    "path only": lambda folder: os.open(sound_ring(folder).path, os.O_PATH),
    "sealed against writing": lambda folder: memfd(ring_bytes(folder), WRITE),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_descriptor_that_is_no_ring_is_refused(desk: Desk, tmp_path: Path, kind: str) -> None:
    recorder = desk.recorder()
    with closing(REFUSED[kind](tmp_path)) as fd, pytest.raises(ValueError, match="not a ring-buffer file"):
        recorder.add_ring(fd)
    is_usable(recorder, tmp_path)


@pytest.mark.parametrize("seals", [0, SHRINK, SHRINK | GROW])
def test_a_memory_file_is_taken_sealed_or_not(desk: Desk, tmp_path: Path, seals: int) -> None:
    recorder = desk.recorder()
    with closing(memfd(ring_bytes(tmp_path), seals)) as fd:
        number = recorder.add_ring(fd)
    recorder.finish(number)
    assert recorder.totals()["records"] == 2
    recorder.close()


def is_usable(recorder: _tracedata.Recorder, folder: Path) -> None:
    before = recorder.totals()["records"]
    recorder.finish(add_ring(recorder, sound_ring(folder).path))
    assert recorder.totals()["records"] == before + 2
    recorder.complete("{}")
    recorder.close()


def test_memory_files_of_every_size_and_content_end_in_a_trace_or_an_error(
    desk: Desk, tmp_path: Path
) -> None:
    chance = random.Random(seed())
    whole = ring_bytes(tmp_path)
    words = [0, 1, 8, 4096, 65536, 1 << 20, 1 << 26, (1 << 31) - 1, (1 << 32) - 1, 1 << 40, (1 << 64) - 1]
    recorder = desk.recorder()
    nr_taken = 0
    for _ in range(HOSTILE_DESCRIPTORS):
        data = bytearray(whole[: 4096 + chance.randrange(64)])
        for _ in range(chance.randrange(4)):
            at = 8 + 4 * chance.randrange(60)
            word = chance.choice(words).to_bytes(8, "little")[: chance.choice((4, 8))]
            data[at : at + len(word)] = word
        with closing(memfd(bytes(data))) as fd:
            os.truncate(fd, chance.choice((len(whole), chance.randrange(2 * len(whole)), 1 << 41)))
            try:
                number = recorder.add_ring(fd)
                nr_taken += 1
                os.truncate(fd, chance.choice((len(whole), chance.randrange(len(whole)))))
                recorder.drain(number)
                recorder.info(number)
                recorder.finish(number)
            except ValueError:
                pass
    assert nr_taken > 0
    is_usable(recorder, tmp_path)


def test_rings_truncated_at_any_moment_leave_the_recorder_usable(desk: Desk, tmp_path: Path) -> None:
    """The same in Python's process: its own handling of SIGBUS is as before."""
    before = signal.getsignal(signal.SIGBUS)
    recorder = desk.recorder()
    for round_ in range(TRUNCATED_RINGS):
        ring = sound_ring(tmp_path)
        number = add_ring(recorder, ring.path)
        os.truncate(ring.path, round_ % 4 * 4096)
        with pytest.raises(ValueError, match=TRUNCATED):
            recorder.drain(number)
        with pytest.raises(ValueError, match=TRUNCATED):
            recorder.finish(number)
        assert recorder.info(number)["damaged"] == 1
        ring.path.unlink()
    assert signal.getsignal(signal.SIGBUS) is before
    is_usable(recorder, tmp_path)
