"""Promise: `funcgraph view -P` shows what a process does, in bounded space, and leaves it as it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import funcgraph
from view.servers import AT_A_TERMINAL, Server
from view.test_view_server import events

pytestmark = pytest.mark.one_python

_PROGRAM = """
import sys, threading
def call(n):
    return n
def work(times):
    for n in range(times):
        call(n)
print("begun", flush=True)
for line in sys.stdin:
    thread = threading.Thread(target=work, args=(int(line),))
    thread.start()
    thread.join()
    print("done", flush=True)
"""


class Program:
    """A program that runs, and works as it is told."""

    def __init__(self, folder: Path, program: str = _PROGRAM) -> None:
        streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen([sys.executable, "-c", program], cwd=folder, **streams)
        self._read("begun")

    def call(self, times: int) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{times}\n")
        self.process.stdin.flush()
        self._read("done")

    def _read(self, expected: str) -> None:
        assert self.process.stdout
        assert self.process.stdout.readline() == f"{expected}\n"

    def end(self) -> int:
        self.process.communicate()
        return self.process.returncode


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    one = Program(tmp_path)
    yield one
    assert one.end() == 0


def settings(folder: Path) -> dict[str, Any]:
    return {**AT_A_TERMINAL, "env": {**os.environ, "DISPLAY": "", "TMPDIR": str(folder)}}


def test_a_process_is_shown_live_and_left_as_it_was(
    tmp_path: Path, program: Program, start: Callable[..., Server]
) -> None:
    """Two pages; one is closed. Broken by a recording that does not end with the server."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    server = start("-P", program.process.pid, "-l", "__main__.*", "-o", "kept.fg", **settings(folder))
    pages = [server.watch(), server.watch()]
    responses = [page.getresponse() for page in pages]
    for times in (500, 700):
        program.call(times)
        for response in responses:
            while (trace := events(response))["calls"] is None or trace["calls"] < times:
                assert trace["growing"]
        pages.pop().close()
        responses.pop()
    assert trace["name"] == f"process {program.process.pid}" and trace["calls"] == 1202
    assert [path.name for path in folder.glob("funcgraph-view-*/*")] == ["live.fg.part"]
    server.process.send_signal(signal.SIGINT)
    _, errors = server.process.communicate(timeout=60)
    assert server.process.returncode == 0 and errors.startswith("funcgraph: kept.fg: ")
    assert list(folder.glob("funcgraph-view-*")) == []
    program.call(10)
    with funcgraph.open(tmp_path / "kept.fg") as kept:
        assert sum(function.calls for function in kept.index().functions()) == 1202


def test_old_events_are_dropped(tmp_path: Path, program: Program, start: Callable[..., Server]) -> None:
    """The newest file and the one before are shown as one trace. Broken by showing the newest alone."""
    server = start(
        "-P", program.process.pid, "-l", "__main__.*", "--size", "64K", "--once", **settings(tmp_path)
    )
    page = server.watch()
    response = page.getresponse()
    last: dict[str, Any] = {}
    while not last.get("first_ns"):
        program.call(150_000)
        last = events(response)
    assert last["state"] == "ready" and last["growing"] and 0 < last["first_ns"] < last["duration_ns"]
    lanes = server.ask("lanes")["lanes"]
    assert max(lane["end_ns"] for lane in lanes) == last["duration_ns"]
    response.close()
    page.close()
    assert server.process.wait(60) == 0


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["-P", "1", "t.fg"], "a trace or -P, not both: got 't.fg'"),
        (["--size", "1M"], "--size: only with -P"),
        (["-o", "t.fg"], "-o: only with -P"),
    ],
)
def test_options_that_do_not_fit_are_one_line(
    words: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from funcgraph import cli

    assert cli.main(["view", "--no-browser", *words]) == 2
    assert capsys.readouterr().err == f"funcgraph: {error}\n"


def test_a_process_that_cannot_be_recorded_is_an_error(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "funcgraph", "view", "--no-browser", "-P", "999999999"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert "999999999" in done.stderr and done.stderr.splitlines()[-1] == "funcgraph: nothing is recorded"
