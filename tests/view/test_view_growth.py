"""Promise: a trace that is being recorded grows in the page, which follows its end or stands still; when the
recording ends, it is an ordinary trace."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from view.pages import ViewPage
from view.servers import Server
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
for number, line in enumerate(sys.stdin):
    thread = threading.Thread(target=work, args=(int(line),), name=f"thread-{number}")
    thread.start()  # one that ends hands over its part of the ring
    thread.join()
    print("done", flush=True)
"""


class Recording:
    """A recording that goes on as it is told."""

    def __init__(self, folder: Path) -> None:
        self.trace = folder / "t.fg"
        words = ["record", "-q", "-o", str(self.trace), "-l", "__main__.*", "-c", _PROGRAM]
        streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen([sys.executable, "-m", "funcgraph", *words], cwd=folder, **streams)
        assert self._line() == "begun\n"

    def call(self, times: int) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{times}\n")
        self.process.stdin.flush()
        assert self._line() == "done\n"

    def _line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline()

    def end(self) -> None:
        self.process.communicate()


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    one = Recording(tmp_path)
    yield one
    one.end()


def test_a_trace_grows_until_its_recording_ends(recording: Recording, start: Callable[..., Server]) -> None:
    """Numbers and times stay what they were. Broken by answering from the trace as it was opened."""
    server = start(f"{recording.trace}.part")
    page = server.watch()
    response = page.getresponse()
    recording.call(1)
    while not (first := events(response))["calls"]:
        pass
    assert first["growing"] and first["message"] == ""
    functions = [row["name"] for row in server.ask("functions")["functions"]]
    recording.call(1000)
    while (second := events(response))["calls"] != first["calls"] + 1001:
        assert second["growing"] and second["begin_ns"] == first["begin_ns"]
    assert second["version"] > first["version"] and second["duration_ns"] > first["duration_ns"]
    assert [row["name"] for row in server.ask("functions")["functions"]][: len(functions)] == functions
    assert [lane["name"] for lane in server.ask("lanes")["lanes"]] == ["thread-0", "thread-1"]
    assert server.ask("search", text="call")["count"] == 1001
    recording.end()
    while (last := events(response))["growing"] or not last["complete"]:
        pass
    assert (last["state"], last["message"], last["name"]) == ("ready", "", "t.fg")
    page.close()


def test_nothing_is_read_again_without_a_page(recording: Recording, start: Callable[..., Server]) -> None:
    server = start(f"{recording.trace}.part")
    before = server.ask("lanes")
    recording.call(10)
    recording.end()
    assert server.ask("lanes") == before and server.ask("traces")["traces"][0]["version"] == 0


def test_a_page_follows_the_end_or_stands_still(
    recording: Recording, start: Callable[..., Server], browser: Any
) -> None:
    server = start(f"{recording.trace}.part")
    context = browser.new_context(viewport={"width": 1100, "height": 720}, reduced_motion="reduce")
    recording.call(10)
    page = ViewPage(context.new_page(), server.address).open()
    live = page.page.get_by_role("button", name="Live")
    assert live.get_attribute("aria-pressed") == "true"
    _, end = page.part()
    recording.call(5000)
    page.until(f"Number(document.body.dataset.end) > {end}")
    page.until("document.getElementById('labels').textContent.includes('thread-1')")
    page.press("w", "w", "w", "a", "a", "a")  # into the middle
    assert live.get_attribute("aria-pressed") == "false"
    part = page.part()
    recording.call(300)
    page.until("/5,313 calls/.test(document.getElementById('facts').textContent)")
    page.settle()
    assert page.part() == part and page.state()["still"] == "1"
    page.screenshot("live")
    live.click()
    page.settle()
    assert page.part()[1] > part[1]
    recording.end()
    page.until("document.getElementById('growing').hidden")
    assert page.problems == []
    context.close()
