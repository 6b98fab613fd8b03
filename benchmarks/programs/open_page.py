"""Opens a trace in the page of `funcgraph view`, in a browser without a GPU, and prints figures as JSON.

Usage: open_page.py TRACE
"""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

_ARGUMENTS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
_MOVE_S = 3
#: Moves the time line a little for each frame; returns the frames a second.
_MOVE = """(seconds) => new Promise((done) => {
    const stage = document.getElementById("stage"), begin = performance.now();
    let frames = 0;
    const move = () => {
        const wheel = {deltaX: frames % 200 < 100 ? 2 : -2, deltaY: 0, bubbles: true, cancelable: true};
        stage.dispatchEvent(new WheelEvent("wheel", wheel));
        frames += 1;
        const passed = performance.now() - begin;
        if (passed < seconds * 1000) requestAnimationFrame(move);
        else done((1000 * frames) / passed);
    };
    move();
})"""


def peak_mib(pid: int) -> float:
    """Return the largest memory that a process had."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def measure(trace: str) -> dict[str, float]:
    """Open the trace, and move in it."""
    command = [sys.executable, "-m", "funcgraph", "view", "--no-browser", trace]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=_ARGUMENTS)
        page = browser.new_page(viewport={"width": 1600, "height": 1000})
        page.goto("about:blank")
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout
            address = server.stdout.readline().strip()
            begin = time.perf_counter()
            page.goto(address)
            page.wait_for_selector("body[data-ready]", timeout=600_000)
            first_s = time.perf_counter() - begin
            page.wait_for_selector("body[data-picture=complete]", timeout=600_000)
            boxes = page.evaluate("Number(document.body.dataset.drawn)")
            frames = page.evaluate(_MOVE, _MOVE_S)
            memory = peak_mib(server.pid)
            server.terminate()
        browser.close()
    return {"first_s": first_s, "boxes": boxes, "frames_per_s": frames, "server_mib": memory}


print(json.dumps(measure(sys.argv[1])))
