"""Says how far what runs side by side has come: on a terminal in its last line, elsewhere a line a minute."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.console import Stopwatch, print_message

_PERCENT = re.compile(rb"\[ *(\d+)%\]")
_COUNT = re.compile(rb"\b(\d+)/(\d+) Test +#")
_TAIL = 4096
MINUTE_S = 60.0
#: Before so much is done, the end cannot be estimated.
_LEAST_SHARE = 0.04
_NINJA = re.compile(rb"^ *\[(\d+)/(\d+)\]", re.MULTILINE)
_BUILD_PAUSE_S = 10.0


def done_percent(log: Path) -> int | None:
    """Return how much of its tests pytest or ctest has run, as its log says; None before the first."""
    try:
        with log.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - _TAIL))
            tail = file.read()
    except OSError:
        return None
    if percents := _PERCENT.findall(tail):
        return int(percents[-1])
    if counts := _COUNT.findall(tail):
        number, total = map(int, counts[-1])
        return 100 * number // total
    return None


def time_left(seconds: float, share: float) -> str:
    """Return how long the rest takes, as ", about 7 min left": as the share `share` took `seconds`."""
    if share < _LEAST_SHARE:
        return ""
    left = seconds * (1 - share) / share
    return f", about {left / 60:.0f} min left" if left >= 60 else ", less than 1 min left"


class Progress:
    """What runs now, and when all will have ended. Its methods may be called by any thread.

    Args:
        usual_s: the sum of what the parts usually take, in seconds.
        total: the number of parts.
    """

    def __init__(self, usual_s: float, total: int) -> None:
        self._usual_s = usual_s
        self._total = total
        self._ended = 0
        self._ended_s = 0.0
        self._running: dict[str, tuple[Path, float]] = {}
        self._lock = threading.Lock()
        self._watch = Stopwatch()
        self._live = sys.stdout.isatty()
        self._over = threading.Event()

    @contextmanager
    def part(self, name: str, log: Path, usual_s: float) -> Iterator[None]:
        """Run a part that writes to `log`, and usually takes `usual_s` seconds."""
        with self._lock:
            self._running[name] = log, usual_s
        try:
            yield
        finally:
            with self._lock:
                del self._running[name]
                self._ended += 1
                self._ended_s += usual_s

    def line(self) -> str:
        """Return what can be said now."""
        with self._lock:
            running = dict(self._running)
            ended, done_s = self._ended, self._ended_s
        parts = []
        for name, (log, usual_s) in running.items():
            percent = done_percent(log)
            done_s += usual_s * (percent or 0) / 100
            parts.append(f"{name}: {'building' if percent is None else f'{percent}%'}")
        left = time_left(self._watch.seconds, done_s / self._usual_s if self._usual_s else 0.0)
        what = ", ".join(parts) or "none runs"
        return f"[{self._watch}{left}] {ended} of {self._total} suites ended; {what}"

    def print_message(self, text: str) -> None:
        """Print lines, in place of the line that tells how far things are."""
        if self._live:
            sys.stdout.write("\r\033[K")
        print_message(text)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Say how far things are, until the block ends."""
        reporter = threading.Thread(target=self._report, daemon=True)
        reporter.start()
        try:
            yield
        finally:
            self._over.set()
            reporter.join()

    def _report(self) -> None:
        _report_until(self._over, self.line, self._live, MINUTE_S)


def _report_until(over: threading.Event, line: Callable[[], str], live: bool, pause_s: float) -> None:
    """Say a line until `over` is set: on a terminal (`live`) each second in its place, else after pauses."""
    while not over.wait(1 if live else pause_s):
        if live:
            sys.stdout.write(f"\r\033[K{line()}")
            sys.stdout.flush()
        else:
            print_message(line())
    if live:
        sys.stdout.write("\r\033[K")


def build_line(log: Path, since: float, watch: Stopwatch) -> str:
    """Return how far a build is, as ninja counts in its log.

    Args:
        since: the time at which it began: an older log is of another build.
    """
    try:
        counts = _NINJA.findall(log.read_bytes()) if log.stat().st_mtime >= since else []
    except OSError:
        counts = []
    if not counts:
        return f"[{watch}] preparing: the environment, what the build needs"
    number, total = map(int, counts[-1])
    return f"[{watch}] compiling: {number} of {total} files, {100 * number // total}%"


@contextmanager
def build_shown(log: Path) -> Iterator[None]:
    """Say how far the build is that writes to `log`, until the block ends."""
    over, since, watch = threading.Event(), time.time(), Stopwatch()
    arguments = (over, lambda: build_line(log, since, watch), sys.stdout.isatty(), _BUILD_PAUSE_S)
    reporter = threading.Thread(target=_report_until, args=arguments, daemon=True)
    reporter.start()
    try:
        yield
    finally:
        over.set()
        reporter.join()
