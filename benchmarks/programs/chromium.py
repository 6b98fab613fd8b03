"""A chromium without a GPU, and the memory of the page in it: what the programs that open pages share."""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

SIZE = {"width": 1600, "height": 1000}
_ARGUMENTS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--no-first-run",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]
_SAMPLE_S, _SCAN_TURNS = 0.01, 20


#: Has the browser draw by WebGL once, and wait for it.
_DRAW = """() => {
    const canvas = document.body.appendChild(document.createElement("canvas")),
        gl = canvas.getContext("webgl2");
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
    return new Promise(requestAnimationFrame);
}"""


@contextmanager
def blank_page() -> Iterator[Any]:
    """Return an empty page of a browser that ends with it. It has drawn before: its start is not counted."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=_ARGUMENTS)
        page = browser.new_page(viewport=SIZE)
        page.goto("about:blank")
        page.evaluate(_DRAW)
        page.goto("about:blank")
        yield page
        browser.close()


def peak_mib(pid: int) -> float:
    """Return the largest memory that a process had, with all that it shares."""
    return _mib(pid, "VmHWM")


class Memory(threading.Thread):
    """Watches the memory of processes as chromium's task manager counts it: what is anonymous, without
    programs and libraries, which processes share.

    Args:
        pids: the processes. Beside them, the renderers of this process's browser are watched: a page, its
            workers and WebAssembly live in one of them, the others are empty.
    """

    def __init__(self, *pids: int) -> None:
        super().__init__(daemon=True)
        self._pids = pids
        self._peaks: dict[int, float] = {}
        self._is_over = threading.Event()
        self.start()

    def run(self) -> None:
        """Look at all of them, and now and then for new renderers."""
        renderers: list[int] = []
        turn = 0
        while not self._is_over.wait(_SAMPLE_S):
            if turn % _SCAN_TURNS == 0:
                renderers = [pid for pid in _descendants(os.getpid()) if b"--type=renderer" in _command(pid)]
            turn += 1
            for pid in (*self._pids, *renderers):
                with suppress(OSError, IndexError):  # it has ended
                    self._peaks[pid] = max(self._peaks.get(pid, 0), _mib(pid, "RssAnon"))

    def peaks_mib(self) -> list[float]:
        """Return the most that each of `pids`, and at last the largest renderer, had at once."""
        self._is_over.set()
        self.join()
        own = [self._peaks.pop(pid) for pid in self._pids]
        return [*own, max(self._peaks.values())]


def _descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(folder.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found[1:]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _mib(pid: int, field: str) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split(f"{field}:")[1].split()[0]) / 1024
