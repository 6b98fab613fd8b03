"""Starts tests/session/answering_server.py and asks it without a pause, while a test does something to it."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).resolve().parent.parent / "session" / "answering_server.py"
TIMEOUT_S = 60.0


def _answer() -> Callable[[int], int]:
    spec = importlib.util.spec_from_file_location("answering_server", PROGRAM)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function: Callable[[int], int] = module.answer
    return function


class Line:
    """A connection to a socket of the server, a line at a time."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(TIMEOUT_S)
        self._socket.connect(str(path))
        self._file = self._socket.makefile("rw")

    def exchange(self, text: str) -> str:
        self._file.write(f"{text}\n")
        self._file.flush()
        return self._file.readline().rstrip("\n")

    def close(self) -> None:
        self._file.close()
        self._socket.close()


class Clients:
    """Threads that ask the server without a pause and compare each answer.

    Attributes:
        wrong: what was not answered as it must be.
    """

    def __init__(self, folder: Path, threads: int, loops: int) -> None:
        self.wrong: list[str] = []
        self._answered = [0] * (threads + loops)
        self._ending = threading.Event()
        paths = [folder / "threads"] * threads + [folder / "asyncio"] * loops
        self._threads = [
            threading.Thread(target=self._exchange_until_end, args=place) for place in enumerate(paths)
        ]
        for thread in self._threads:
            thread.start()

    def _exchange_until_end(self, number: int, path: Path) -> None:
        answer = _answer()
        try:
            line = Line(path)
            while not self._ending.is_set():
                question = self._answered[number]
                if (got := line.exchange(str(question))) != (right := f"{question} {answer(question)}"):
                    self.wrong.append(f"{path.name}: {got!r}, not {right!r}")
                    return
                self._answered[number] += 1
            line.close()
        except Exception as error:
            self.wrong.append(f"{path.name}: {error!r}")

    def wait_for(self, more: int) -> None:
        """Wait until each of them has got so many further answers."""
        before = list(self._answered)
        deadline = time.monotonic() + TIMEOUT_S
        while any(now < then + more for now, then in zip(self._answered, before, strict=True)):
            assert not self.wrong, self.wrong
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.005)

    def end(self) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join()


class Server:
    """The server's process.

    Attributes:
        pid: its id.
        folder: where its sockets are.
        workers: the ids of its forked workers.
    """

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self.process = process
        self.pid = process.pid
        self.folder = folder

    @property
    def workers(self) -> list[int]:
        with open(f"/proc/{self.pid}/task/{self.pid}/children") as file:
            return [int(word) for word in file.read().split()]

    def line(self, name: str) -> Line:
        """Connect to one of its sockets."""
        return Line(self.folder / name)

    def state(self) -> dict[str, Any]:
        """Ask what it holds (of forked workers, one of them)."""
        line = self.line("threads")
        try:
            state: dict[str, Any] = json.loads(line.exchange("state"))
            return state
        finally:
            line.close()

    def state_like(self, before: dict[str, Any]) -> dict[str, Any]:
        """Ask what it holds until it holds as much as `before` says: threads of connections may end late."""
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            state = self.state()
            if before.items() <= state.items() or time.monotonic() > deadline:
                return {name: state[name] for name in before}
            time.sleep(0.01)

    @contextmanager
    def under_load(self, threads: int = 4, loops: int = 2) -> Iterator[Clients]:
        """Ask it during a block: every answer must be right."""
        clients = Clients(self.folder, threads, loops)
        try:
            clients.wait_for(1)
            yield clients
            clients.wait_for(1)
        finally:
            clients.end()
        assert clients.wrong == []
        assert self.process.poll() is None


@contextmanager
def serving(folder: Path, *, workers: int = 0, control: bool = True) -> Iterator[Server]:
    """Run the server for a block, with its sockets in `folder`; `control`: it has a control socket."""
    environment = {**os.environ, "FUNCGRAPH": "control" if control else "", "XDG_RUNTIME_DIR": str(folder)}
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), str(folder), str(workers)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=folder,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield Server(process, folder)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
