"""Servers under load: the same requests, from several threads at once, get the same answers.

A server (programs/) prints its port and serves until SIGTERM, which `funcgraph record` must hand on. Requests
are numbered: what each asks for follows from its number, and so does the answer.
"""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools.real import compare
from tools.real.compare import Seen, Verdict

PROGRAMS = Path(__file__).resolve().parent / "programs"
THREADS, REQUESTS = 8, 60
_TIMEOUT_S = 120


@dataclass(frozen=True)
class Server:
    """A server of programs/, and whether it speaks HTTP or answers a line with a line."""

    name: str
    speaks_http: bool = True
    folder: Path = PROGRAMS


SERVERS = (
    Server("http_threads"),
    Server("asyncio_lines", speaks_http=False),
    Server("socketserver_lines", speaks_http=False),
    Server("wsgiref_app"),
    Server("flask_app"),
    Server("aiohttp_app"),
)


def request(number: int) -> tuple[str, str, bytes]:
    """Return method, path and body of a request."""
    if number % 10 == 7:
        return "GET", f"/missing/{number}", b""
    if number % 10 == 8:
        return "GET", f"/boom/{number}", b""
    if number % 10 == 9:
        return "POST", "/echo", f"{number} ".encode() * (number % 50)
    return "GET", f"/work/{number}", b""


def _send_http(port: int, numbers: range, answers: dict[str, str]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_S)
    for number in numbers:
        method, path, body = request(number)
        try:
            connection.request(method, path, body or None)
            response = connection.getresponse()
            answers[f"{number} {path}"] = f"{response.status} {response.read()!r}"
        except (OSError, http.client.HTTPException) as error:
            answers[f"{number} {path}"] = type(error).__name__
            connection.close()
    connection.close()


def _send_lines(port: int, numbers: range, answers: dict[str, str]) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=_TIMEOUT_S) as connection:
        file = connection.makefile("rwb")
        for number in numbers:
            _, path, body = request(number)
            file.write(f"{path} {body.decode()}\n".encode())
            file.flush()
            answers[f"{number} {path}"] = repr(file.readline())


def load(port: int, send: Callable[[int, range, dict[str, str]], None]) -> dict[str, str]:
    """Send all requests, from THREADS threads at once; return the answers."""
    answers: dict[str, str] = {}
    threads = [
        threading.Thread(target=send, args=(port, range(first, THREADS * REQUESTS, THREADS), answers))
        for first in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def judge(server: Server, python: Path, folder: Path) -> Verdict:
    """Load a server untraced, twice, and traced."""
    folder.mkdir(parents=True)
    plain = [_run(server, python, folder, traced=False) for _ in range(2)]
    return compare.judge(server.name, plain, _run(server, python, folder, traced=True))


def _run(server: Server, python: Path, folder: Path, *, traced: bool) -> Seen:
    trace, errors = folder / "trace.fg", folder / "errors"
    record = [python, "-m", "funcgraph", *compare.RECORD, "-o", trace] if traced else []
    command = [*record, python, server.folder / f"{server.name}.py"]
    begun = time.monotonic()
    with errors.open("w") as stderr:
        process = subprocess.Popen(
            [str(word) for word in command],
            cwd=folder,
            env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,
        )
    outcomes: dict[str, str] = {}
    try:
        assert process.stdout is not None
        port = process.stdout.readline()
        if port:
            outcomes |= load(int(port), _send_http if server.speaks_http else _send_lines)
            process.send_signal(signal.SIGTERM)
        rest = process.communicate(timeout=_TIMEOUT_S)[0]
        if port:
            outcomes["standard output"] = rest
    finally:
        compare.kill_group(process)
        process.wait()
    events, notes = compare.recorder_notes(errors.read_text(errors="replace")) if traced else (0, ())
    return Seen(outcomes, process.returncode, time.monotonic() - begun, events, notes)
