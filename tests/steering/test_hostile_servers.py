"""Processes that answer nonsense at their sockets, or nothing, end no command for the others."""

from __future__ import annotations

import argparse
import errno
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
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest

from funcgraph import cli
from funcgraph.attach import connecting, serving
from funcgraph.attach.errors import AttachError
from funcgraph.command_support import processes as _processes
from funcgraph.command_support.running import RunningProcess, reach_all
from funcgraph.control.answer_limit import CommandLimit, Round
from funcgraph.control.at_once import at_once
from funcgraph.control.client import NotServedError, connect
from funcgraph.steering.folder import Process
from steering.conftest import Shops
from steering.local import LocalRemote

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


HELLO = _framed(b'{"ok":{"version":1}}')


def _serve_badly(server: socket.socket, drips: bool) -> NoReturn:
    """Say hello to everybody, and answer nothing else, or with one byte after the other without an end."""
    open_until_the_end = []
    while True:
        connection = server.accept()[0]
        open_until_the_end.append(connection)
        connection.recv(1 << 10)
        connection.sendall(HELLO)
        with suppress(OSError):
            connection.recv(1 << 10)
            for byte in (1 << 20).to_bytes(4, "little") if drips else b"":
                connection.sendall(bytes([byte]))
            while drips:
                connection.sendall(b" ")
                time.sleep(0.01)


def _be_silent(folder: Path, kind: str, ready_fd: int) -> NoReturn:
    """Have a control socket in a child of fork: "silent" serves nobody, "full" does not even accept, "mute"
    and "drips" are _serve_badly()."""
    try:
        name = str(folder / f"{os.getpid()}-0123abcd.sock")
        with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as first:
            server.bind(name)
            server.listen(0 if kind == "full" else 9)
            if kind == "full":
                first.connect(name)
            os.write(ready_fd, b".")
            if kind in ("mute", "drips"):
                _serve_badly(server, kind == "drips")
            signal.pause()
    finally:
        os._exit(1)


@contextmanager
def silent(runtime: Path, *kinds: str) -> Iterator[list[int]]:
    """Have processes that do not answer, one of each kind."""
    folder = runtime / f"funcgraph-control-{os.geteuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    read_fd, write_fd = os.pipe()
    pids: list[int] = []
    try:
        for kind in kinds:
            pid = os.fork()
            if pid == 0:
                _be_silent(folder, kind, write_fd)
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
    with silent(tmp_path, *["silent", "full"] * (_SILENT // 2)) as pids:
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


class CountedLimit(CommandLimit):
    """A limit of two seconds that notes its rounds."""

    rounds: list[int]

    def __init__(self) -> None:
        super().__init__(2.0)
        CountedLimit.rounds = []

    def round(self, count: int) -> Round:
        self.rounds.append(count)
        return super().round(count)


@pytest.mark.one_python
@pytest.mark.flaky(reruns=1)  # the good process has two seconds to answer
@pytest.mark.parametrize("words", [["show", "--tracing_on"], ["list", "-t"]], ids=" ".join)
@pytest.mark.parametrize("kind", ["mute", "drips"])
def test_many_processes_that_stop_answering_cost_one_round(
    kind: str,
    words: list[str],
    shop: Shops,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Broken: each request to each process had a time limit of its own: 32 that dripped cost 320 s."""
    good = shop()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(_processes, "CommandLimit", CountedLimit)
    with silent(tmp_path, *[kind] * 32) as pids:
        status = cli.main([words[0], "-P", ",".join(map(str, [*pids, good.pid])), *words[1:]])
    captured = capfd.readouterr()
    assert status == 1
    assert captured.out.startswith(f"{good.pid}: ") and captured.out.count("\n") == 1
    assert captured.err.splitlines() == [
        f"funcgraph: process {pid}: did not answer within 2 s: it is stopped, or keeps the interpreter lock"
        for pid in pids
    ]
    assert CountedLimit.rounds == [33, 33, 1]  # connecting, asking, and leaving the good one


@pytest.mark.one_python
def test_texts_of_processes_that_are_asked_at_the_same_time_come_in_their_order(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each waits until all have begun, and then for the one after it."""
    children = [subprocess.Popen(["sleep", "1000"]) for _ in range(32)]
    pids = [child.pid for child in children]
    ends = {pid: threading.Event() for pid in pids}
    together = threading.Barrier(32)

    def connect_each(pids: list[int], borrows: bool) -> Iterator[tuple[int, Process]]:
        return ((pid, Process(pid, LocalRemote())) for pid in pids)

    def act(process: Process) -> int:
        at = pids.index(process.pid)
        processes.message(process, f"process {process.pid}: begins")
        processes.output.text(process.pid, "a\nb\n")
        together.wait(60)
        if at + 1 < len(pids):
            assert ends[pids[at + 1]].wait(60)
        ends[process.pid].set()
        if at % 2:
            raise OSError(5, "odd")
        return at

    monkeypatch.setattr(_processes, "_connect", connect_each)
    args = argparse.Namespace(processes=[",".join(map(str, pids))], children=False)
    try:
        with _processes.Processes(args) as processes:
            assert list(processes.each(act).values()) == list(range(0, 32, 2))
            assert [process.pid for process in processes.refused] == pids[1::2]
            processes.output.flush()
    finally:
        for child in children:
            child.kill()
            child.wait()
    captured = capfd.readouterr()
    assert captured.out.splitlines() == [f"{pid}: {text}" for pid in pids for text in "ab"]
    lines = [
        [f"funcgraph: process {pid}: begins", *[f"funcgraph: process {pid}: odd"] * (at % 2)]
        for at, pid in enumerate(pids)
    ]
    assert captured.err.splitlines() == [line for its in lines for line in its]


def test_what_is_interrupted_is_abandoned_only_if_it_does_not_end() -> None:
    abandoned, never = [], threading.Event()

    def act(item: int) -> int:
        if item == 2:
            never.wait(60)
        return item

    answers = at_once([0, 1, 2, 3], act, abandon=abandoned.append)
    assert next(answers) == (0, 0)
    answers.close()
    never.set()
    assert abandoned == [2]


@pytest.mark.one_python
def test_one_that_does_not_end_keeps_none_of_a_thousand_waiting() -> None:
    """Broken: the next 256 began when all of the first 256 were done."""
    others, all_done = set(range(1, 1000)), threading.Event()

    def act(item: int) -> int:
        if item == 0:
            assert all_done.wait(60)
        others.discard(item)
        if not others:
            all_done.set()
        return item

    assert list(at_once(range(1000), act)) == [(item, item) for item in range(1000)]


def test_what_nobody_waits_for_does_not_begin() -> None:
    begun, go = [], threading.Event()

    def act(item: int) -> None:
        begun.append(item)
        if item:
            assert go.wait(60)

    asked = at_once(range(1000), act, abandon=lambda item: go.set())
    next(asked)
    asked.close()
    assert len(begun) < 300


def test_without_a_further_thread_they_are_asked_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> NoReturn:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert list(at_once([3, 1, 2], str)) == [(3, "3"), (1, "1"), (2, "2")]


def test_all_are_connected_to_at_once_and_those_without_a_socket_attached_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    together = threading.Barrier(4)

    def meet(pid: int) -> SimpleNamespace:
        together.wait(60)
        if pid % 2:
            raise NotServedError
        return SimpleNamespace(pid=pid)

    def refuse(pid: int, borrows: bool, within: object) -> NoReturn:
        raise AttachError(pid, f"{borrows=}")

    monkeypatch.setattr(connecting, "connect", meet)
    monkeypatch.setattr(connecting, "_attached", refuse)
    made = dict(connecting.connect_all([4, 1, 2, 3], borrows=True))
    assert list(made) == [4, 1, 2, 3]
    assert [getattr(made[pid], "pid", None) for pid in made] == [4, 1, 2, 3]
    assert [str(made[pid]) for pid in (1, 3)] == [f"process {pid}: borrows=True" for pid in (1, 3)]


def test_a_process_that_ends_as_soon_as_it_is_attached_to_is_not_said_to_need_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(pid: int) -> NoReturn:
        raise NotServedError(errno.ECONNREFUSED, "attach to it")

    monkeypatch.setattr(serving, "attach", lambda pid, within: True)
    monkeypatch.setattr(connecting, "connect", refuse)
    with pytest.raises(NotServedError, match="process 4711 has closed its control socket again"):
        connecting.connected(4711, borrows=True)


def test_an_error_that_is_no_process_s_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(pid: int) -> NoReturn:
        raise AssertionError(pid)

    monkeypatch.setattr(connecting, "connect", fail)
    with pytest.raises(AssertionError):
        list(connecting.connect_all([1, 2], borrows=False))
