"""A program that serves its control socket, started by a test, and raw talk with that socket."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from funcgraph.control import wire
from funcgraph.control.client import Connection, connect

#: What a program prints when it can be asked.
READY = "ready"
#: The first line of most programs: they serve, say so, and wait until their standard input ends.
SERVE = "import funcgraph, sys; path = funcgraph.serve(); print('ready', path, flush=True)"
WAIT = f"{SERVE}; sys.stdin.read()"


class Served:
    """A running program.

    Attributes:
        process: it; standard input and output are pipes, standard error is a file.
        path: of its socket, as it printed it.
    """

    def __init__(self, code: str, folder: Path, **environment: str) -> None:
        self.errors = folder / "stderr"
        with open(self.errors, "w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-c", textwrap.dedent(code)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, "XDG_RUNTIME_DIR": str(folder), **environment},
            )
        line = self.line()
        assert line.startswith(READY), (line, self.errors.read_text())
        self.path = line.removeprefix(READY).strip()

    @property
    def pid(self) -> int:
        return self.process.pid

    def line(self) -> str:
        """Return the next line that it prints."""
        assert self.process.stdout
        return self.process.stdout.readline().rstrip("\n")

    def send_line(self, text: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{text}\n")
        self.process.stdin.flush()

    def end(self) -> int:
        """Let it end as it wants; return its status."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        status = self.process.wait(60)
        self.process.stdout.close()
        return status

    def connect(self, **keywords: Any) -> Connection:
        return connect(self.pid, **keywords)

    def raw(self) -> socket.socket:
        """Return a connection that has said nothing yet."""
        connection = socket.socket(socket.AF_UNIX)
        folder, name = os.path.split(self.path)
        directory = os.open(folder, os.O_PATH)  # an address has 107 bytes: the folder's path may be longer
        try:  # it waits while the queue is full, as it would not with a timeout
            connection.connect(f"/proc/self/fd/{directory}/{name}")
        finally:
            os.close(directory)
        connection.settimeout(60)
        return connection

    def descriptors(self) -> list[str]:
        return os.listdir(f"/proc/{self.pid}/fd")

    def thread(self) -> str:
        """Return the id of its native thread."""
        self.connect().close()  # it has begun, and has its name
        for task in os.listdir(f"/proc/{self.pid}/task"):
            if Path(f"/proc/{self.pid}/task/{task}/comm").read_text() == "funcgraph\n":
                return task
        raise AssertionError("no thread is named funcgraph")


@contextmanager
def served(folder: Path, code: str = WAIT, **environment: str) -> Iterator[Served]:
    """Yield a running program; afterwards it is killed, unless it has ended."""
    program = Served(code, folder, **environment)
    try:
        yield program
    finally:
        if program.process.poll() is None:
            program.process.send_signal(signal.SIGKILL)
            program.process.wait()
        for stream in (program.process.stdin, program.process.stdout):
            if stream:
                stream.close()


def exchange(connection: socket.socket, message: bytes) -> tuple[dict[str, Any], bytes]:
    """Send a message as a frame; return the answer's header and body.

    Raises:
        EOFError: the other side has closed the connection.
    """
    connection.sendall(wire.framed(message))
    return answer(connection)


def answer(connection: socket.socket) -> tuple[dict[str, Any], bytes]:
    return wire.unpack(_exactly(connection, wire.LENGTH.unpack(_exactly(connection, 4))[0]))


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        try:
            part = connection.recv(size - len(data))
        except ConnectionError:
            part = b""
        if not part:
            raise EOFError
        data += part
    return data


HELLO = wire.pack({"op": "hello", "version": wire.VERSION})
