"""Opens a trace in the page of `funcgraph view`, in a browser without a GPU, and prints figures as JSON.

Usage: open_page.py TRACE
"""

import json
import math
import subprocess
import sys
import time

from chromium import Memory, blank_page, peak_mib

_MOVE_S, _BOXES = 3, 10_000
_LIMIT_MS = 600_000
_COMPLETE = "body[data-picture=complete]"
#: Zooms in until at most so many boxes are drawn, and once at least: the whole cannot be moved.
_ZOOM = """async (most) => {
    const stage = document.getElementById("stage"), {left, width, top} = stage.getBoundingClientRect(),
        frame = () => new Promise(requestAnimationFrame);
    do {
        const at = {clientX: left + width / 2, clientY: top + 5};
        stage.dispatchEvent(new WheelEvent("wheel", {...at, deltaY: -50, ctrlKey: true, cancelable: true}));
        for (let n = 0; n < 5 || document.body.dataset.picture !== "complete"; n++) await frame();
    } while (Number(document.body.dataset.drawn) > most);
    return Number(document.body.dataset.drawn);
}"""
#: Moves the time line a little for each frame; returns the frames a second in which something else was drawn.
_MOVE = """(seconds) => new Promise((done) => {
    const stage = document.getElementById("stage"), begin = performance.now(), {dataset} = document.body;
    let turns = 0, frames = 0, before = dataset.begin;
    const move = () => {
        if (dataset.begin !== before) frames += 1;
        before = dataset.begin;
        const deltaX = turns++ % 40 < 20 ? 2 : -2;
        stage.dispatchEvent(new WheelEvent("wheel", {deltaX, deltaY: 0, bubbles: true, cancelable: true}));
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
        page.wait_for_selector(_COMPLETE, timeout=_LIMIT_MS)
        found = {
            "first_s": first_s,
            "together_mib": sum(memory.peaks_mib()),
            "most_boxes": page.evaluate(_ZOOM, math.inf),
            "most_frames_per_s": page.evaluate(_MOVE, _MOVE_S),
            "boxes": page.evaluate(_ZOOM, _BOXES),
            "frames_per_s": page.evaluate(_MOVE, _MOVE_S),
            "server_mib": peak_mib(server.pid),
        }
        server.terminate()
    return found


print(json.dumps(measure(sys.argv[1])))
