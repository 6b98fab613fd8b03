"""Promise: `funcgraph view` serves traces until it is stopped; a file that changes meanwhile is no crash;
several pages do not disturb each other; each answer is bounded."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import pytest
from tracefile import Trace

from funcgraph.view import served
from funcgraph.view.application import Application
from funcgraph.view.open_pages import OpenPages
from funcgraph.view.parameters import Parameters
from funcgraph.view.questions import QUESTIONS, Question
from funcgraph.view.request_error import RequestError
from funcgraph.view.served import Served
from view.servers import AT_A_TERMINAL, BEGIN, Server, small_trace

pytestmark = pytest.mark.one_python


def events(response: HTTPResponse) -> dict[str, Any]:
    """Return the first trace of the next event of a stream."""
    while True:
        line = response.readline()
        assert line, "the stream ended"
        if line.startswith(b"data: "):
            traces: list[dict[str, Any]] = json.loads(line[6:])
            return traces[0]


def states(page: HTTPConnection, state: str) -> dict[str, Any]:
    """Read a page's stream until the first trace is in a state."""
    response = page.getresponse()
    while (trace := events(response))["state"] != state:
        pass
    return trace


def test_one_line_is_printed_and_several_traces_are_served(
    tmp_path: Path, start: Callable[..., Server]
) -> None:
    for name in ("a.dat", "b.dat"):
        small_trace().save(tmp_path / name)
    server = start("a.dat", "b.dat")
    assert server.address == f"http://127.0.0.1:{server.port}/?token={server.token}"
    assert len(server.ask("lanes", trace=1)["lanes"]) == 2
    server.ask("lanes")
    found = server.ask("traces")
    assert [trace["path"] for trace in found["traces"]] == [str(tmp_path / "a.dat"), str(tmp_path / "b.dat")]
    first = found["traces"][0]
    assert [first[key] for key in ("begin_ns", "state", "progress", "calls")] == [
        str(BEGIN),
        "ready",
        1.0,
        22,
    ]
    page = server.request(f"/?token={server.token}", authorization=None)
    assert page.status == 200 and page.headers["content-type"].startswith("text/html")


def test_the_default_is_the_trace_of_report(tmp_path: Path, start: Callable[..., Server]) -> None:
    small_trace().save(tmp_path / "trace.dat")
    assert start().ask("traces")["traces"][0]["name"] == "trace.dat"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["nothing.fg"], "nothing.fg: No such file or directory"),
        (["app.py"], "app.py: a program, not a trace: 'funcgraph record app.py' makes one of it"),
        (["--port", "70000", "t.dat"], "argument --port: must be a port from 0 to 65535, got '70000'"),
        (["--port", "x", "t.dat"], "argument --port: must be a port from 0 to 65535, got 'x'"),
        (["--port", "BUSY", "t.dat"], "--port BUSY: Address already in use"),
    ],
)  # fmt: skip
def test_what_cannot_be_served_is_one_line(tmp_path: Path, words: list[str], error: str) -> None:
    small_trace().save(tmp_path / "t.dat")
    (tmp_path / "app.py").write_text("print()\n")
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = str(busy.getsockname()[1])
        command = [sys.executable, "-m", "funcgraph", "view", "--no-browser"]
        command += [word.replace("BUSY", port) for word in words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0].startswith(f"funcgraph: {error.replace('BUSY', port)}")


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    """uvicorn is hidden. Broken by importing it where the command begins."""
    program = (
        "import sys; from importlib import util; found = util.find_spec\n"
        "util.find_spec = lambda name, *a: None if name == 'uvicorn' else found(name, *a)\n"
        "from funcgraph import cli; sys.exit(cli.main(['view', 't.dat']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "funcgraph: view needs starlette and uvicorn: pip install 'funcgraph[view]'\n"


def test_the_page_is_three_files(trace_path: Path, start: Callable[..., Server]) -> None:
    """Each request of a browser takes milliseconds. Broken by a module
    that the page names by itself."""
    server = start(trace_path)

    def text(path: str) -> str:
        response = server.request(path, authorization=None)
        assert response.status == 200
        return response.body.decode()

    page = text(f"/?token={server.token}")
    assert re.findall(r'/(?:page|api)/[^"]*', page) == ["/page/all.css", "/page/all.js"]
    styles, script = text("/page/all.css"), text("/page/all.js")
    assert "/page/" not in styles and "#minimap" in styles and ".tabs" in styles
    assert "/page/" not in script and not re.search(r"^(?:import|export)\b", script, re.MULTILINE)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_at_once(
    trace_path: Path, start: Callable[..., Server], number: signal.Signals
) -> None:
    """Pages are open, and their streams would never end by themselves."""
    server = start(trace_path, **AT_A_TERMINAL)
    pages = [server.watch() for _ in range(3)]
    for page in pages:
        states(page, "ready")
    server.process.send_signal(number)
    assert server.process.wait(30) == -number
    assert server.process.communicate() == ("", "")


def test_once_ends_with_the_last_page(trace_path: Path, start: Callable[..., Server]) -> None:
    """Two pages are open; one is closed and nothing happens to the other, which then is closed, too."""
    server = start("--once", trace_path)
    pages = [server.watch(), server.watch()]
    responses = [page.getresponse() for page in pages]
    for response in responses:
        events(response)
    responses[0].close()
    pages[0].close()
    for _ in range(3):
        assert server.get("traces").status == 200
    assert server.process.poll() is None
    responses[1].close()
    pages[1].close()
    assert server.process.wait(60) == 0
    assert server.process.communicate() == ("", "")


def test_without_once_it_outlives_its_pages(trace_path: Path, start: Callable[..., Server]) -> None:
    server = start(trace_path)
    page = server.watch()
    states(page, "ready")
    page.close()
    small = Served(0, str(trace_path))
    small.close()
    assert server.get("traces").status == 200 and server.process.poll() is None


def test_a_replaced_file_is_told_and_the_trace_stays_as_it_was(
    tmp_path: Path, start: Callable[..., Server]
) -> None:
    path = small_trace().save(tmp_path / "t.dat")
    server = start(path)
    calls = server.ask("lanes")["lanes"][0]["calls"]
    page = server.watch()
    response = page.getresponse()
    assert events(response)["state"] in ("index", "ready")
    other = Trace(["m.a"]).save(tmp_path / "other.dat")
    os.replace(other, path)
    while (trace := events(response))["state"] != "replaced":
        pass
    assert "replaced" in trace["message"]
    assert server.ask("lanes")["lanes"][0]["calls"] == calls
    assert server.ask("tree")["nodes"]
    path.unlink()
    assert "removed" in server.ask("traces")["traces"][0]["message"]
    page.close()


def test_a_truncated_file_is_told_and_questions_get_a_sentence(
    tmp_path: Path, start: Callable[..., Server]
) -> None:
    path = small_trace().save(tmp_path / "t.dat")
    server = start(path)
    server.ask("lanes")
    os.truncate(path, 100)
    trace = server.ask("traces")["traces"][0]
    assert trace["state"] == "damaged" and "truncated to 100 of" in trace["message"]
    for question, parameters in (
        ("tree", {}),
        ("text", {"lane": 0, "begin": 0, "end": 1000}),
        ("search", {"text": "7", "values": 1}),
        ("call", {"lane": 0, "time": 0}),
    ):
        answer = server.get(question, **parameters)
        assert answer.status in (200, 409), answer
        assert answer.status == 200 or "error" in answer.json()
    assert server.process.poll() is None
    assert server.get("traces").status == 200


def test_a_question_before_the_index_is_there_is_503(
    trace_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index is never begun here."""
    one = Served(0, str(trace_path))
    try:
        monkeypatch.setattr(served, "_PATIENCE_S", 0.0)
        with pytest.raises(RequestError) as caught:
            one.lane(0)
        assert (caught.value.status, caught.value.progress) == (503, 0.0)
        assert one.state()[0] == "index"
    finally:
        one.close()


def many_calls(path: Path) -> Path:
    """A trace of 30,000 calls side by side, and 5,000 within each other."""
    trace = Trace(["m.a", "m.b"])
    task, now = trace.task(7), BEGIN
    for _ in range(30_000):
        task.enter(now, 0, 0)
        task.leave(now + 10, 0, 0, calltime=now)
        now += 20
    for depth in range(5000):
        task.enter(now + depth, 1, depth)
    for depth in range(4999, -1, -1):
        task.leave(now + 20_000 - depth, 1, depth, calltime=now + depth)
    return trace.save(path)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return many_calls(tmp_path_factory.mktemp("large") / "large.dat")


def test_each_answer_is_bounded(large: Path, start: Callable[..., Server]) -> None:
    """Rows are counted, not memory. Broken by sending all that there is."""
    server = start(large)
    server.ask("lanes")
    for pixels in (1, 10, 1000):
        data = server.get("spans", lane=0, begin=0, end=10**6, pixels=pixels).body
        assert data[:4] == b"FGS1"
        assert int.from_bytes(data[4:8], "little") <= 64 * (pixels + 2) * 512
    assert server.ask("search", text="m.a", most=10)["count"] == 30_000
    assert len(server.ask("search", text="m.a", most=10)["hits"]) == 10
    assert len(server.ask("text", lane=0, begin=0, end=10**6, most=25)["lines"]) == 25
    assert len(server.ask("longest", function=0, most=5)["calls"]) == 5
    nodes = server.ask("tree")["nodes"]
    assert len(nodes) == 5001 and max(node[2] for node in nodes) == 30_000
    begin, end = 30_000 * 20 + 2000, 30_000 * 20 + 17_500
    part = server.ask("tree", begin=begin, end=end)["nodes"]
    assert sum(node[4] for node in part) == end - begin and len(part) > 2000
    inverted = server.ask("tree", invert=1)
    assert len(inverted["nodes"]) <= 20_000
    merged = server.ask("tree", merge="recursion")["nodes"]
    assert sorted(node[2] for node in merged) == [5000, 30_000]
    deep = server.ask("call", lane=0, time=30_000 * 20 + 5000)["call"]
    assert deep["depth"] == 4999 and len(deep["parents"]) == 1000


def test_many_questions_at_the_same_time(large: Path, start: Callable[..., Server]) -> None:
    """Long ones do not hold up short ones for ever, and all are answered."""
    server = start(large)
    server.ask("lanes")
    connections = []
    for number in range(40):
        connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
        question = ("tree", "traces", f"spans?lane=0&begin=0&end={1000 + number}&pixels=100")[number % 3]
        connection.request("GET", f"/api/{question}", headers={"Authorization": f"Bearer {server.token}"})
        connections.append(connection)
    assert {connection.getresponse().status for connection in connections} == {200}
    for connection in connections:
        connection.close()


def test_a_long_question_that_nobody_waits_for_is_not_answered(
    trace_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that has moved on closes its request. Broken by answering each request in its turn."""
    texts: list[str] = []

    def answer(_served: Served, parameters: Parameters) -> dict[str, Any]:
        texts.append(parameters.text("text"))
        return {}

    monkeypatch.setitem(QUESTIONS, "search", Question(answer, ("text",), is_long=True))
    one = Served(0, str(trace_path))
    application = Application([one], OpenPages())
    statuses = []

    async def request(text: str, *, is_there: bool) -> None:
        path = {"path": "/api/search", "raw_path": b"/api/search", "root_path": ""}
        query = {"query_string": f"text={text}".encode(), "headers": [], "http_version": "1.1"}
        scope = {"type": "http", "method": "GET", **path, **query}

        async def receive() -> dict[str, Any]:
            if is_there:
                await asyncio.sleep(3600)
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            statuses.append(message.get("status"))

        await application.router(scope, receive, send)

    async def requests() -> None:
        await request("gone", is_there=False)
        await request("there", is_there=True)

    asyncio.run(requests())
    application.close()
    one.close()
    assert texts == ["there"]
    assert [status for status in statuses if status] == [204, 200]


def test_progress_is_how_much_of_the_index_is_there(large: Path) -> None:
    """It only grows, and is whole when the index can be asked."""
    one = Served(0, str(large))
    seen: list[float] = []
    note = one._note_progress
    one._note_progress = lambda part: (note(part), seen.append(one.progress()))  # type: ignore[method-assign]
    try:
        assert one.progress() == 0.0
        one.start()
        one.index()
        assert one.progress() == 1.0
        assert seen == sorted(seen)
        assert all(0 <= part <= 0.99 for part in seen)
    finally:
        one.close()


def test_the_browser_gets_a_ticket_that_is_good_once(
    tmp_path: Path, trace_path: Path, start: Callable[..., Server]
) -> None:
    """Other users see the browser's command line. Broken by giving it the token."""
    shown = tmp_path / "shown"
    os.mkfifo(shown)
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {shown}\n')
    browser.chmod(0o755)
    settings = {"env": {**os.environ, "DISPLAY": ":9", "BROWSER": f"{browser} %s"}}
    server = start(trace_path, browser=True, **settings)
    address = shown.read_text().strip()
    path = address.removeprefix(f"http://127.0.0.1:{server.port}")
    assert path.startswith("/?ticket=") and server.token not in address
    assert server.request("/?ticket=x", authorization=None).status == 403
    assert server.request(path, authorization=None, host="evil.example").status == 421
    assert server.request(path, authorization=None, sec_fetch_site="cross-site").status == 403
    answer = server.request(path, authorization=None)
    assert (answer.status, answer.headers["location"], answer.body) == (303, f"/?token={server.token}", b"")
    assert server.request(path, authorization=None).status == 403
    ticket = path.partition("=")[2]
    assert server.request("/api/traces", authorization=f"Bearer {ticket}").status == 403
