"""A process that lies in its memory and in /proc costs its attacher the time limit at most, and one line."""

from __future__ import annotations

import os
import random
import struct
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "attach"))

from hanging_file import hanging_file  # noqa: E402
from running import PROGRAMS, Running  # noqa: E402
from sizes import DAMAGED_IMAGES  # noqa: E402

from funcgraph import _system  # noqa: E402
from funcgraph.attach import gil_watch  # noqa: E402
from funcgraph.attach.code import code_of  # noqa: E402
from funcgraph.attach.deadline import Deadline  # noqa: E402
from funcgraph.attach.errors import AttachError  # noqa: E402
from funcgraph.attach.image import Image, images  # noqa: E402
from funcgraph.attach.inject import run_in  # noqa: E402
from funcgraph.attach.loop import loop_of  # noqa: E402
from funcgraph.attach.process import Process  # noqa: E402
from funcgraph.attach.target import find_target  # noqa: E402
from funcgraph.steering import processes  # noqa: E402

#: Maps files that look like libraries: `forge(name, segment_bytes)`. Their tables of symbols have no end.
_FORGE = """
import ctypes, mmap, os, struct
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
SIZE = 16 << 20
def forge(name, segment_bytes):
    fd = os.memfd_create(name)
    os.ftruncate(fd, SIZE)
    ident = b"\\x7fELF\\x02\\x01\\x01"
    header = struct.pack("<16sHHIQQQIHHHHHH", ident, 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, SIZE, segment_bytes, 4096)
    dynamic = struct.pack("<IIQQQQQQ", 2, 4, 4096, 4096, 4096, 64, 64, 8)
    tables = struct.pack("<8Q", 5, 8192, 6, 8192, 0x6FFFFEF5, 12288, 0, 0)
    hashes = struct.pack("<IIIIQI", 1, 1, 1, 0, 2**64 - 1, 1)
    os.pwrite(fd, header + load + dynamic, 0)
    os.pwrite(fd, tables, 4096)
    os.pwrite(fd, hashes, 12288)
    assert libc.mmap(None, SIZE, 5, 1, fd, 0) != 2**64 - 1
    os.close(fd)
"""


def _sleeping(before: str) -> str:
    return f"{before}\n{PROGRAMS['sleeping']}"


def test_tables_of_symbols_without_an_end_end_with_the_time_limit() -> None:
    program = f"{_FORGE}\nfor number in range(3000): forge(f'libpython{{number}}.so', SIZE)"
    with Running(_sleeping(program)) as running:
        with pytest.raises(AttachError, match="the time was over"):
            run_in(running.pid, "answer = 1", 1.0)
        assert running.end() == (7, "", "")


def test_after_the_time_limit_no_memory_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with Running(PROGRAMS["sleeping"]) as running:
        process = Process(running.pid, Deadline(-1))
        reads: list[Any] = []
        monkeypatch.setattr(_system, "read_memory", lambda *words: reads.append(words))
        try:
            with pytest.raises(AttachError, match="the time was over"):
                find_target(process)
        finally:
            process.close()
        assert not reads


@pytest.mark.parametrize("name", ["libpython3.so", "libc.so.6"])
def test_a_page_that_never_comes_keeps_no_attacher(tmp_path: Path, name: str) -> None:
    """Broken by a read of /proc/PID/mem: the attacher gave up, but stayed until the page came."""
    with hanging_file(tmp_path / "mounted", name) as (path, server):
        # Without a descriptor: closing one would ask the server, when the program ends.
        program = f"""{_FORGE}
fd = os.open({os.fspath(path)!r}, os.O_RDONLY)
assert libc.mmap(None, 1 << 20, 5, 2, fd, 0) != 2**64 - 1
os.close(fd)
"""
        with Running(_sleeping(program)) as running:
            command = [sys.executable, "-m", "funcgraph", "attach", "--timeout", "0.5", str(running.pid)]
            with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as attacher:
                try:
                    error = attacher.communicate(timeout=60)[1]
                finally:
                    server.kill()  # nothing waits for a page after this
            assert attacher.returncode == 2
            assert "a read of its memory does not end" in error
            assert server.stdout is not None and server.stdout.readline() == "read\n"
            assert running.end() == (7, "", "")


def test_a_segment_of_a_terabyte_is_not_read_as_a_whole() -> None:
    program = f"{_FORGE}\nfor name in 'libc.so.6', 'libpython3.so', 'ld-linux.so': forge(name, 1 << 40)"
    with Running(_sleeping(program)) as running:
        try:
            assert run_in(running.pid, "answer = 1", 20) == "1"
        except AttachError as error:
            assert "cannot be read" in error.reason
        assert running.end() == (7, "", "")


def test_more_libraries_than_any_program_has_are_one_error() -> None:
    program = f"{_FORGE}\nSIZE = 16384\nfor number in range(5000): forge(f'lib{{number}}.so', SIZE)"
    with Running(_sleeping(program)) as running:
        with pytest.raises(AttachError, match="more than 4096 libraries"):
            run_in(running.pid, "answer = 1", 60)
        assert running.end() == (7, "", "")


def test_an_environment_without_an_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    program = """
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = libc.sbrk.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
NORESERVE, ANONYMOUS, PRIVATE = 0x4000, 0x20, 2
SIZE = 256 << 20
at = libc.mmap(None, SIZE, 1, NORESERVE | ANONYMOUS | PRIVATE, -1, 0)
with open("/proc/self/stat") as file:
    fields = [0] * 3 + file.read().rpartition(")")[2].split()
code, end_code, stack, data, end_data, brk = (int(fields[i]) for i in (26, 27, 28, 45, 46, 47))
start, end = (int(fields[i]) for i in (48, 49))
# struct prctl_mm_map of linux/prctl.h, with the environment in these pages.
new = struct.pack("=12Q2I", code, end_code, data, end_data, brk, libc.sbrk(0), stack,
                  start, end, at, at + SIZE - 1, 0, 0, 2**32 - 1)
SET_MM, MAP = 35, 14
done = libc.prctl(SET_MM, MAP, ctypes.c_char_p(new), ctypes.c_ulong(len(new)), 0)
assert done == 0, ctypes.get_errno()
"""
    sizes: list[int] = []
    read_memory = _system.read_memory

    def noted(pid: int, at: int, size: int) -> bytes:
        sizes.append(size)
        return read_memory(pid, at, size)

    monkeypatch.setattr(_system, "read_memory", noted)
    with Running(_sleeping(program)) as running:
        process = Process(running.pid, Deadline(30))
        assert not process.environment()
        process.close()
        assert 1 << 20 < max(sizes) <= 1 << 25
        assert run_in(running.pid, "answer = 1", 30) == "1"
        assert running.end() == (7, "", "")


def test_a_command_line_without_an_end_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands look at that of each process of the machine."""
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "cmdline").write_bytes(b"x" * (16 << 20))
    monkeypatch.setattr(processes, "_PROC", tmp_path)
    assert len(processes.command_line(1)) == 8 << 20


def test_names_of_a_process_do_not_reach_a_terminal_as_they_are() -> None:
    escape = "\x1b]0;title\x07\x1b[2J\nprocess 1: attached"
    sleep = subprocess.Popen([escape, "1000"], executable="/bin/sleep")
    try:
        time.sleep(0.05)
        with pytest.raises(AttachError) as raised:
            run_in(sleep.pid, "")
        assert str(raised.value).isprintable()
    finally:
        sleep.kill()
        sleep.wait()
    with Running(PROGRAMS["sleeping"]) as running:
        with pytest.raises(AttachError, match="the code raised ValueError") as raised:
            run_in(running.pid, f"raise ValueError({escape!r} * 10000)", 30)
        assert str(raised.value).isprintable()
        assert len(str(raised.value)) < 500
        assert running.end() == (7, "", "")


def test_a_thread_that_a_process_names_must_be_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the attacher would stop any thread of the machine for it."""
    stopped: list[Any] = []
    monkeypatch.setattr(gil_watch._inject, "pc", lambda *words: stopped.append(words) or 0)
    with Running(PROGRAMS["sleeping"]) as running:
        process = Process(running.pid, Deadline(60))
        try:
            target = find_target(process)
            watch = gil_watch.GilWatch(target, loop_of(target))
            for number in (os.getpid(), 1, 0, 2**40, 2**64 - 1):
                monkeypatch.setattr(gil_watch, "thread_of", lambda *_, number=number: number)
                monkeypatch.setattr(gil_watch, "gil_of", lambda *_: gil_watch.Gil(True, 1, 1))
                watch.gives_way()
                watch.holder()
        finally:
            process.close()
        assert not stopped
        assert running.end() == (7, "", "")


class _Lies:
    """The memory of this process, with other bytes here and there."""

    pid = 1
    check_time = Process.check_time
    until = float("inf")

    def __init__(self, process: Process, rng: random.Random) -> None:
        self._process = process
        self._rng = rng

    def read(self, address: int, size: int) -> bytes:
        data = bytearray(self._process.read(address, size))
        for _ in range(self._rng.choice((0, 0, 1, 3))):
            at = self._rng.randrange(max(size - 7, 1))
            lie = struct.pack("<Q", self._rng.choice((0, 1, 255, 2**31, 2**32 - 1, 2**63, 2**64 - 1)))
            data[at : at + 8] = lie[: len(data) - at]
        return bytes(data[:size])


def test_damaged_images_are_errors_and_nothing_else() -> None:
    """Whatever the bytes of an image are, what comes is an answer or an AttachError."""
    own = Process(os.getpid(), Deadline(600))
    try:
        mappings = own.mappings()
        bases = [(image.path, image.base) for image in images(own, mappings)]
        for seed in range(DAMAGED_IMAGES):
            lies = cast("Process", _Lies(own, random.Random(seed)))
            for path, base in bases:
                try:
                    _look(Image(lies, path, base))
                except AttachError:
                    continue
    finally:
        own.close()


def _look(image: Image) -> None:
    for name in ("malloc", "Py_AddPendingCall", "nothing_of_this_name"):
        image.symbol(name)
    target = SimpleNamespace(
        image=image, images=[image], mappings=[], code_of=lambda _: (0, 0), signal_return=lambda: 0,
        loader=lambda: (0, 0), c_libraries=lambda: [image], process=image.process,
    )  # fmt: skip
    code_of(cast("Any", target), loop_of(cast("Any", target)))
