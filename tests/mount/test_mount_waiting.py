"""Reading trace_pipe through a mount: it waits, can be interrupted, polled, and holds nobody else up."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mount.mounted import TIMEOUT_S, end, start

pytestmark = pytest.mark.one_python

#: Reads the pipe that is its argument until a signal: says when it begins, and with what the read ended.
INTERRUPTED = """
import signal, sys
class Told(Exception): pass
def handler(number, frame): raise Told
signal.signal(signal.SIGUSR1, handler)
with open(sys.argv[1], "rb", buffering=0) as pipe:
    print("reads", flush=True)
    try:
        pipe.read(100)
    except Told:
        print("interrupted", flush=True)
"""


@pytest.fixture
def pipe(mounted: Path) -> Iterator[int]:
    """The pipe, open without O_NONBLOCK, and empty."""
    fd = os.open(mounted / "trace_pipe", os.O_RDONLY)
    yield fd
    os.close(fd)


def mark(folder: Path, text: str) -> None:
    (folder / "trace_marker").write_text(text)


def test_an_empty_pipe_says_eagain_with_o_nonblock(mounted: Path) -> None:
    fd = os.open(mounted / "trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(BlockingIOError):
            os.read(fd, 100)
        mark(mounted, "one")
        assert os.read(fd, 100) == b"one"
    finally:
        os.close(fd)


def test_o_nonblock_counts_as_it_is_at_the_read(mounted: Path, pipe: int) -> None:
    os.set_blocking(pipe, False)
    with pytest.raises(BlockingIOError):
        os.read(pipe, 100)


def test_a_read_waits_until_something_comes(mounted: Path, pipe: int) -> None:
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(os.read(pipe, 100)))
    reader.start()
    assert (mounted / "available_events").exists()
    assert not got
    mark(mounted, "one")
    reader.join(TIMEOUT_S)
    assert got == [b"one"]


def test_a_signal_interrupts_a_read_that_waits(mounted: Path) -> None:
    words = [sys.executable, "-c", INTERRUPTED, str(mounted / "trace_pipe")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "reads\n"
        while _state(process.pid) != "S":
            pass
        process.send_signal(signal.SIGUSR1)
        assert process.stdout.readline() == "interrupted\n"
        assert process.wait(TIMEOUT_S) == 0


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.parametrize("waits", ["poll", "epoll"])
def test_poll_says_when_a_pipe_can_be_read(mounted: Path, pipe: int, waits: str) -> None:
    poll = select.poll() if waits == "poll" else select.epoll()
    poll.register(pipe, select.POLLIN)
    assert poll.poll(0) == []
    writer = threading.Timer(0.05, mark, (mounted, "one"))
    writer.start()
    assert poll.poll(TIMEOUT_S * (1000 if waits == "poll" else 1)) == [(pipe, select.POLLIN)]
    writer.join()
    assert os.read(pipe, 100) == b"one"
    assert poll.poll(0) == []


def test_a_text_file_can_always_be_read_and_written(mounted: Path) -> None:
    fd = os.open(mounted / "set_ftrace_filter", os.O_RDWR)
    assert select.select([fd], [fd], [], 0) == ([fd], [fd], [])
    os.close(fd)


def test_many_waiting_readers_hold_nobody_up(mounted: Path) -> None:
    folders = [mounted / "instances" / f"of_{number}" for number in range(30)]
    for folder in folders:
        folder.mkdir()
    readers = [
        subprocess.Popen(["cat", str(folder / "trace_pipe")], stdout=subprocess.PIPE) for folder in folders
    ]
    try:
        for folder in folders:
            mark(folder, f"for {folder.name}\n")
        for folder, reader in zip(folders, readers, strict=True):
            assert reader.stdout is not None
            assert reader.stdout.readline() == f"for {folder.name}\n".encode()
    finally:
        for reader in readers:
            reader.kill()
            reader.communicate()
    for folder in folders:
        folder.rmdir()


def test_a_reader_that_was_killed_keeps_nothing_busy(mounted: Path) -> None:
    for _ in range(20):
        with subprocess.Popen(["cat", mounted / "trace_pipe"], stdout=subprocess.PIPE) as reader:
            mark(mounted, "one\n")
            assert reader.stdout is not None
            assert reader.stdout.readline() == b"one\n"
            with pytest.raises(OSError, match="busy"):
                (mounted / "set_ftrace_filter").write_text("a.f")
            reader.kill()
        (mounted / "set_ftrace_filter").write_text("a.f")


def test_sigterm_unmounts_in_spite_of_a_reader_that_waits(fuse: None, tmp_path: Path) -> None:
    process = start(tmp_path)
    with subprocess.Popen(["cat", str(tmp_path / "trace_pipe")], stderr=subprocess.PIPE) as reader:
        mark(tmp_path, "one\n")
        end(process, tmp_path)
        assert reader.wait(TIMEOUT_S) == 1  # its read() failed
