"""Promise: the live table is made again with each look; it is sorted, filtered and stopped by keys; it ends
with the last process, and leaves the process as it was."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

pytest.importorskip("textual", reason="textual is not there for this CPython")

from funcgraph.control.processes import running
from funcgraph.steering.rates import Rate
from funcgraph.tui.live_viewer import LiveViewer, RecordingError
from funcgraph.view.served import Served
from tui.running import lines_of, settle, trace_of


def nothing() -> Served:
    """What a viewer begins that records nothing."""
    raise RecordingError("it ended")


def test_the_table_is_made_again_and_again() -> None:
    rounds = count(1)

    def look() -> list[Rate] | None:
        number = next(rounds)
        return [Rate(1, "shop.pay", 10.0 * number, 1.0, 5.0), Rate(1, "shop.add", 1.0, 7.0, 9.5)]

    async def run() -> None:
        app = LiveViewer("process 1", "own ms/s", look, lambda: False, 3600.0, nothing)
        async with app.run_test(size=(80, 12)) as pilot:
            for number in (1, 2):
                app._begin_look()
                await settle(app, pilot)
                lines = lines_of(app)
                assert lines[2].split() == ["shop.add", "1.0", "7.000", "9.500"]
                assert lines[3].split() == ["shop.pay", f"{10 * number}.0", "1.000", "5.000"]
            await pilot.press("j", "S")  # by calls: the cursor stays on its function
            await settle(app, pilot)
            assert lines_of(app)[2].startswith("shop.pay") and "by calls  1/2" in lines_of(app)[-1]
            await pilot.press("ampersand", *"add", "enter", "p")
            app._begin_look()
            await settle(app, pilot)
            assert next(rounds) == 3  # it was stopped
            assert lines_of(app)[3] == "" and "stopped" in lines_of(app)[-1]

    asyncio.run(run())


def test_it_ends_with_the_last_process_and_at_a_signal() -> None:
    for look, has_ended in ((lambda: None, lambda: False), (list, lambda: True)):

        async def run(app: LiveViewer) -> None:
            async with app.run_test() as pilot:
                while app.is_running:
                    await pilot.pause(0.01)

        asyncio.run(run(LiveViewer("process 1", "ms/s", look, has_ended, 0.01, nothing)))


def test_what_cannot_be_recorded_is_told_and_a_recording_fills_the_other_views(tmp_path: Path) -> None:
    served = Served(0, str(trace_of(tmp_path / "trace.dat")))
    served.start()
    answers = iter([nothing, lambda: served])

    def record() -> Served:
        return next(answers)()

    async def run() -> None:
        app = LiveViewer("process 1", "ms/s", list, lambda: False, 3600.0, record)
        async with app.run_test(size=(80, 12)) as pilot:
            await pilot.press("2")
            await settle(app, pilot)
            assert "nothing is recorded: it ended" in lines_of(app)[-1]
            await pilot.press("1", "2")  # it is tried again
            await settle(app, pilot)
            assert lines_of(app)[1].startswith("call tree") and "app.main" in lines_of(app)[2]
            await pilot.press("enter")
            await settle(app, pilot)
            assert lines_of(app)[0].startswith(" 1 functions   2 tree   3 callers")
            assert lines_of(app)[1].startswith("callers")
            await pilot.press("4")
            await settle(app, pilot)
            assert "app.main() {" in "\n".join(lines_of(app))
            await pilot.press("1")
            assert "calls/s" in lines_of(app)[-1]

    asyncio.run(run())


# ---- a real terminal

TMUX = shutil.which("tmux")
SPIN = textwrap.dedent(
    """
    import time
    def leaf(): pass
    def spin():
        leaf(); time.sleep(0.001)
    print("ready", flush=True)
    while True: spin()
    """
)


class Terminal:
    """A tmux of our own, in which a command runs."""

    def __init__(self, folder: Path, width: int, *words: object) -> None:
        self._socket = folder / f"tmux-{width}"
        command = [sys.executable, "-m", "funcgraph", *map(str, words)]
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", "24", *command)

    def _tmux(self, *words: str) -> str:
        assert TMUX
        done = subprocess.run([TMUX, "-S", str(self._socket), *words], capture_output=True, text=True)
        return done.stdout

    def wait_for(self, text: str) -> list[str]:
        while text not in (screen := self._tmux("capture-pane", "-p")):
            assert self.is_there(), screen
            time.sleep(0.02)
        return screen.splitlines()

    def press(self, key: str) -> None:
        self._tmux("send-keys", key)

    def is_there(self) -> bool:
        return bool(self._tmux("list-sessions"))

    def quit(self) -> None:
        self.press("q")
        while self.is_there():
            time.sleep(0.02)


@pytest.mark.one_python
@pytest.mark.skipif(TMUX is None, reason="tmux is not installed")
@pytest.mark.parametrize("width", [80, 200])
def test_a_terminal_shows_a_trace(tmp_path: Path, width: int) -> None:
    terminal = Terminal(tmp_path, width, "tui", trace_of(tmp_path / "trace.dat"))
    lines = terminal.wait_for("  1/4")
    assert lines[0].startswith(" 1 table   2 tree   3 callers   4 text   5 call   ? help")
    assert lines[-1].strip().startswith("trace.dat")
    assert lines[2].startswith("app.")
    assert max(map(len, lines)) <= width
    terminal.press("2")
    assert "call tree" in terminal.wait_for("call tree")[1]
    terminal.quit()


@pytest.fixture
def spinning() -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", SPIN], stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline() == b"ready\n"
        yield process.pid
        assert process.poll() is None
        process.kill()


def calls_of(lines: list[str]) -> str:
    """Return how many calls of `leaf` a tree shows."""
    return next(line.split()[-4] for line in lines if "__main__.leaf" in line)


@pytest.mark.one_python
@pytest.mark.skipif(TMUX is None, reason="tmux is not installed")
def test_a_running_process_is_shown_and_left_as_it_was(tmp_path: Path, spinning: int) -> None:
    terminal = Terminal(tmp_path, 80, "tui", "-P", spinning, "-d", "0.1")
    terminal.wait_for("__main__.spin")
    assert spinning in running()
    terminal.press("2")
    terminal.wait_for("call tree")
    terminal.wait_for("__main__.leaf")
    first = calls_of(terminal.wait_for("__main__.leaf"))
    while calls_of(terminal.wait_for("__main__.leaf")) == first:  # it grows
        time.sleep(0.05)
    terminal.press("4")
    terminal.wait_for("__main__.leaf();")
    terminal.quit()
    assert spinning not in running()
