"""A small trace with hostile names and values, and servers of traces as a person starts them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote, urlsplit

from tracefile import RAISE, Trace, values

US = 1000
BEGIN = 10**9
HOSTILE = "<script>alert(1)</script>\x1b]0;x\x07\u202e\udc80&'\""
FUNCTIONS = [
    ("app", "main", "/nowhere/app.py", 1, 0, []),
    ("app", HOSTILE, "/nowhere/app.py", 5, 0, ["value"]),
    ("app", "leaf", "/nowhere/app.py", 9, 0, []),
    ("time", "sleep", "", 0, 0, []),
]
MAIN, EVIL, LEAF, SLEEP = range(4)


def small_trace() -> Trace:
    """Two threads: `main` calls EVIL thrice, which calls `leaf` twice and raises at last; then it sleeps."""
    trace = Trace(FUNCTIONS)
    for number, name in enumerate(("main", HOSTILE)):
        task, now = trace.task(100 + number, name, pid=100), BEGIN
        task.enter(now, MAIN, 0)
        for place in range(3):
            now += US
            begin = now
            task.enter(now, EVIL, 1, args=values(f"<script>{place}\x1b"), caller=(MAIN, 3))
            for _ in range(2):
                task.enter(now + US, LEAF, 2)
                task.leave(now + 3 * US, LEAF, 2, calltime=now + US)
                now += 3 * US
            now += US
            if place == 2:
                task.leave(now, EVIL, 1, calltime=begin, kind=RAISE, result=values(KeyError))
            else:
                task.leave(now, EVIL, 1, calltime=begin, result=values(7))
        task.enter(now, SLEEP, 1)
        task.leave(now + 50 * US, SLEEP, 1, calltime=now)
        task.leave(now + 51 * US, MAIN, 0, calltime=BEGIN)
    return trace


class Answer(NamedTuple):
    """What a server answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Server:
    """A server that runs, as a person starts it.

    Args:
        folder: its working directory.
        words: the arguments of `funcgraph view`.
        browser: whether it may open one.
        settings: as of Popen.
    """

    def __init__(
        self, folder: Path, words: tuple[object, ...], *, browser: bool = False, **settings: Any
    ) -> None:
        command = [sys.executable, "-m", "funcgraph", "view", *map(str, words)]
        command += [] if browser else ["--no-browser"]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, cwd=folder, **{**streams, **settings})
        assert self.process.stdout
        self.address = self.process.stdout.readline().strip()
        assert self.address, self.process.communicate()
        parts = urlsplit(self.address)
        self.port = parts.port or 0
        self.token = parse_qs(parts.query)["token"][0]

    def send(self, path: str, body: bytes, *, host: str | None = None, **headers: str | None) -> Answer:
        """Send a request that has a body."""
        length = {"content_length": str(len(body))}
        return self.request(path, method="POST", host=host, body=body, **{**length, **headers})

    def request(
        self,
        path: str,
        *,
        method: str = "GET",
        host: str | None = None,
        body: bytes = b"",
        **headers: str | None,
    ) -> Answer:
        """Send a request with the token, unless `headers` have another `authorization`; None: without one."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        sent = {"authorization": f"Bearer {self.token}", **headers}
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            connection.putheader("Host", host or f"127.0.0.1:{self.port}")
            for name, value in sent.items():
                if value is not None:
                    connection.putheader(name.replace("_", "-"), value)
            connection.endheaders(body or None)
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    def ask(self, question: str, **parameters: object) -> Any:
        """Return the JSON of an answer to a question, which must not be refused; ask again while the index is
        being made."""
        while (answer := self.get(question, **parameters)).status == 503:
            pass
        assert answer.status == 200, answer.body
        return answer.json()

    def get(self, question: str, **parameters: object) -> Answer:
        query = "&".join(f"{name}={quote(str(value))}" for name, value in parameters.items())
        return self.request(f"/api/{question}?{query}")

    def watch(self) -> HTTPConnection:
        """Open a page's stream of events."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", "/api/events", headers={"Authorization": f"Bearer {self.token}"})
        return connection

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.communicate()


def default_signals() -> None:
    """In a child: let Ctrl-C do what it does at a terminal, however the tests were started."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


#: As settings of a server.
AT_A_TERMINAL: dict[str, Any] = {"preexec_fn": default_signals, "env": {**os.environ, "DISPLAY": ""}}
