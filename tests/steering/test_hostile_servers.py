"""Processes that answer nonsense at their sockets, or nothing, end no command for the others."""

from __future__ import annotations

import functools
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest

from funcgraph import cli
from funcgraph.attach import connecting
from funcgraph.attach.errors import AttachError
from funcgraph.command_support.running import RunningProcess, reach_all
from funcgraph.control.client import NotServedError, connect
from steering.conftest import Shops

#: Answers each request with the same bytes, `hello` as it has to be unless `all`; none: closes.
_SERVER = textwrap.dedent("""
    import json, os, socket, struct, sys, threading
    folder, answer, which = sys.argv[1], bytes.fromhex(sys.argv[2]), sys.argv[3]
    os.makedirs(folder, mode=0o700, exist_ok=True)
    server = socket.socket(socket.AF_UNIX)
    server.bind(f"{folder}/{os.getpid()}-1.sock")
    server.listen(9)
    print("ready", flush=True)

    def frame(text):
        return struct.pack("<II", len(text) + 4, len(text)) + text

    def serve(connection):
        while length := connection.recv(4, socket.MSG_WAITALL):
            message = connection.recv(struct.unpack("<I", length)[0], socket.MSG_WAITALL)
            if b'"hello"' in message and which != "all":
                connection.sendall(frame(b'{"ok":{"version":1}}'))
            elif not answer:
                break
            else:
                connection.sendall(answer)
        connection.close()

    while True:
        threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
""")


def _framed(text: bytes) -> bytes:
    size = len(text).to_bytes(4, "little")
    return (len(text) + 4).to_bytes(4, "little") + size + text


ANSWERS = {
    "null": _framed(b'{"ok":null}'),
    "number": _framed(b'{"ok":7}'),
    "list": _framed(b'{"ok":[null,{"a":[]}]}'),
    "object": _framed(b'{"ok":{"version":"x"}}'),
    "no result": _framed(b"{}"),
    "no number": _framed(b'{"errno":null,"error":[]}'),
    "no JSON": _framed(b"{]"),
    "too long": b"\xff\xff\xff\xff",
    "nothing": b"",
}


@contextmanager
def hostile(runtime: Path, answer: str, which: str) -> Iterator[int]:
    """Run a process that answers so."""
    folder = runtime / f"funcgraph-control-{os.geteuid()}"
    command = [sys.executable, "-c", _SERVER, str(folder), ANSWERS[answer].hex(), which]
    env = {**os.environ, "XDG_RUNTIME_DIR": str(runtime)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=env) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield process.pid
        finally:
            process.kill()


@pytest.mark.one_python
@pytest.mark.parametrize("which", ["all", "but hello"])
@pytest.mark.parametrize("answer", ANSWERS)
def test_nonsense_of_one_process_is_one_line_and_the_others_go_on(
    answer: str, which: str, shop: Shops, tmp_path: Path
) -> None:
    """Broken by `null` to `list`: TypeError."""
    other = shop()
    with hostile(tmp_path, answer, which) as pid:
        for words in (["stat"], *([["trace", "-l", "*.pay", "--", "true"]] if which != "all" else [])):
            done = subprocess.run(
                [sys.executable, "-m", "funcgraph", words[0], "-P", f"{pid},{other.pid}", *words[1:]],
                capture_output=True,
                text=True,
                timeout=60,
            )
            assert "Traceback" not in done.stderr
            assert done.returncode in (0, 1), done.stderr
            lines = done.stderr.splitlines()
            assert len(lines) <= 1, done.stderr
            assert all(line.startswith(f"funcgraph: process {pid}: ") for line in lines)
    with connect(other.pid) as process:
        assert process.read_text("current_tracer") == "nop\n"


_SILENT = 30


def _be_silent(folder: Path, is_full: bool, ready_fd: int) -> NoReturn:
    """Have a control socket at which nobody is served, or not even accepted; in a child of fork."""
    try:
        name = str(folder / f"{os.getpid()}-0123abcd.sock")
        with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as first:
            server.bind(name)
            server.listen(0 if is_full else 9)
            if is_full:
                first.connect(name)
            os.write(ready_fd, b".")
            signal.pause()
    finally:
        os._exit(1)


@contextmanager
def silent(runtime: Path, count: int) -> Iterator[list[int]]:
    """Have processes that never answer; the queue of each second one is full."""
    folder = runtime / f"funcgraph-control-{os.geteuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    read_fd, write_fd = os.pipe()
    pids: list[int] = []
    try:
        for number in range(count):
            pid = os.fork()
            if pid == 0:
                _be_silent(folder, number % 2 == 1, write_fd)
            pids.append(pid)
        for _ in pids:
            assert os.read(read_fd, 1) == b"."
        yield pids
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os.close(read_fd)
        os.close(write_fd)


@pytest.mark.one_python
def test_many_silent_processes_cost_the_time_limit_of_one(
    shop: Shops, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Broken: they were connected to one after the other, and each had its own time limit."""
    good = shop()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    limit_s = 1.0
    monkeypatch.setattr(connecting, "connect", functools.partial(connect, timeout_s=limit_s))
    with silent(tmp_path, _SILENT) as pids:
        begin = time.monotonic()
        status = cli.main(["show", "-P", ",".join(map(str, [*pids, good.pid])), "--tracing_on"])
        made = dict(reach_all([*pids, good.pid]))
        took_s = time.monotonic() - begin
    captured = capfd.readouterr()
    assert (status, captured.out) == (1, f"{good.pid}: 1\n")
    lines = captured.err.splitlines()
    assert [line.partition(" did")[0] for line in lines] == [f"funcgraph: process {pid}:" for pid in pids]
    assert all(isinstance(made.pop(pid), TimeoutError) for pid in pids)
    process = made.pop(good.pid)
    assert isinstance(process, RunningProcess)
    process.close()
    assert took_s < _SILENT * limit_s / 2  # one after the other: twice 30 limits


def test_all_are_connected_to_at_once_and_those_without_a_socket_attached_to_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    together = threading.Barrier(4)

    def meet(pid: int) -> SimpleNamespace:
        together.wait(60)
        if pid % 2:
            raise NotServedError
        return SimpleNamespace(pid=pid)

    def refuse(pid: int, borrows: bool) -> NoReturn:
        raise AttachError(pid, f"{borrows=}")

    monkeypatch.setattr(connecting, "connect", meet)
    monkeypatch.setattr(connecting, "_attached", refuse)
    made = dict(connecting.connect_all([4, 1, 2, 3], borrows=True))
    assert list(made) == [4, 1, 2, 3]
    assert [getattr(made[pid], "pid", None) for pid in made] == [4, 1, 2, 3]
    assert [str(made[pid]) for pid in (1, 3)] == [f"process {pid}: borrows=True" for pid in (1, 3)]


def test_an_error_that_is_no_process_s_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(pid: int) -> NoReturn:
        raise AssertionError(pid)

    monkeypatch.setattr(connecting, "connect", fail)
    with pytest.raises(AssertionError):
        list(connecting.connect_all([1, 2], borrows=False))
