"""Opens a trace in the page of `funcgraph view`, in a browser without a GPU, and prints figures as JSON.

Usage: open_page.py TRACE
"""

import json
import subprocess
import sys
import time

from chromium import Memory, blank_page, peak_mib

_MOVE_S = 3
_LIMIT_MS = 600_000
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


def measure(trace: str) -> dict[str, float]:
    """Open the trace, and move in it."""
    command = [sys.executable, "-m", "funcgraph", "view", "--no-browser", trace]
    with blank_page() as page, subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        address = server.stdout.readline().strip()
        memory = Memory(server.pid)
        begin = time.perf_counter()
        page.goto(address)
        page.wait_for_selector("body[data-ready]", timeout=_LIMIT_MS)
        first_s = time.perf_counter() - begin
        page.wait_for_selector("body[data-picture=complete]", timeout=_LIMIT_MS)
        found = {
            "first_s": first_s,
            "boxes": page.evaluate("Number(document.body.dataset.drawn)"),
            "together_mib": sum(memory.peaks_mib()),
            "frames_per_s": page.evaluate(_MOVE, _MOVE_S),
            "server_mib": peak_mib(server.pid),
        }
        server.terminate()
    return found


print(json.dumps(measure(sys.argv[1])))
