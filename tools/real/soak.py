"""`make soak`: a real server under load for hours, with everything that can be done to a running process.

Two aiohttp servers answer the same requests without a pause. One is left alone. To the other, one action
after the other is done, in random order: recordings, killed recorders, events, histograms, the profiler,
native functions, attach and detach. Each answer must be that of the server that is left alone. At the end the
server must have as many threads and descriptors as the other one, and about as much memory.

`--write` writes the table into docs/reference/soak.md.
"""

from __future__ import annotations

import argparse
import http.client
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tools.console import CommandFailedError, print_message, table
from tools.layout import ROOT
from tools.pythons import choose
from tools.real.servers import PROGRAMS, request
from tools.venvs import installed
from tools.written_pages import after_marker

PAGE = ROOT / "docs" / "reference" / "soak.md"
MARKER = "<!-- written by make soak -->"
#: Threads that ask, requests that differ, and how much more memory than the other server one may have.
THREADS, REQUESTS, MOST_GROWTH_KB = 3, 500, 16 * 1024
_TIMEOUT_S = 120
_SAMPLES = 12


@dataclass(frozen=True)
class Size:
    """What a process holds: its own memory in KiB, threads, file descriptors."""

    memory_kb: int
    threads: int
    files: int

    @classmethod
    def of(cls, pid: int) -> Size:
        status = dict(
            line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line
        )
        return cls(
            int(status["RssAnon"].split()[0]), int(status["Threads"]), len(os.listdir(f"/proc/{pid}/fd"))
        )


@dataclass
class Seen:
    """What happened so far."""

    requests: int = 0
    wrong: list[str] = field(default_factory=list)
    actions: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


class Server:
    """A server, and a connection to it for each thread that asks."""

    def __init__(self, python: Path) -> None:
        self.process = subprocess.Popen(
            [str(python), str(PROGRAMS / "aiohttp_app.py")],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())
        self.pid = self.process.pid

    def end(self) -> int:
        """Have it end by itself, and return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(self.pid, signal.SIGKILL)
            return self.process.wait()


def ask(connection: http.client.HTTPConnection, number: int) -> str:
    """Return the answer to a request as text."""
    method, path, body = request(number)
    try:
        connection.request(method, path, body or None)
        response = connection.getresponse()
        return f"{response.status} {response.read()!r}"
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        return f"{type(error).__name__}: {error}"


class Load:
    """Threads that ask both servers the same, and compare."""

    def __init__(self, watched: Server, alone: Server, seen: Seen) -> None:
        self._servers, self._seen = (watched, alone), seen
        self._ending, self._lock = threading.Event(), threading.Lock()
        self._threads = [threading.Thread(target=self._run, args=(first,)) for first in range(THREADS)]

    def _run(self, first: int) -> None:
        connections = [
            http.client.HTTPConnection("127.0.0.1", server.port, timeout=_TIMEOUT_S)
            for server in self._servers
        ]
        number = first
        while not self._ending.is_set():
            got, right = (ask(connection, number) for connection in connections)
            with self._lock:
                self._seen.requests += 1
                if got != right:
                    self._seen.wrong.append(f"request {number}: {got[:200]}, not {right[:200]}")
            number = (number + THREADS) % REQUESTS
        for connection in connections:
            connection.close()

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Ask during a block."""
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._ending.set()
            for thread in self._threads:
                thread.join()


class Actions:
    """What is done to the server. Each leaves it as it was, but for what `detach` then takes back."""

    def __init__(self, python: Path, pid: int, folder: Path) -> None:
        self._command = [str(python), "-m", "funcgraph"]
        self._pid, self._folder = str(pid), folder
        self._environment = {**os.environ, "XDG_RUNTIME_DIR": str(folder)}

    def _run(self, *words: str) -> None:
        """Run a command. CommandFailedError if it fails."""
        done = subprocess.run(
            [*self._command, *words],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
        )
        if done.returncode != 0:
            raise CommandFailedError([*words, done.stderr.strip()[-400:]], done.returncode)

    def record(self) -> None:
        """Record everything for a moment, with all values, and read the trace."""
        self._run(
            "record", "-q", "-P", self._pid, "--args", "--retval", "--c-calls", "-o", "a.fg", "--", *_SLEEP
        )
        self._run("summary", "-i", "a.fg")

    def record_native(self) -> None:
        """Record functions of the C library under Python's."""
        patterns = ("-l", "answers.*", "-l", "*alloc:mod:libc", "-l", "free:mod:libc")
        self._run("record", "-q", "-P", self._pid, *patterns, "-o", "n.fg", "--", *_SLEEP)

    def kill_recorder(self) -> None:
        """Kill a recorder in the middle, and recover what it left."""
        words = [*self._command, "record", "-q", "-P", self._pid, "-o", "k.fg"]
        for old in self._folder.glob("k.fg*"):
            old.unlink()
        with subprocess.Popen(
            words,
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as recorder:
            deadline = time.monotonic() + 60
            while not _has_events(self._folder / "k.fg.part") and time.monotonic() < deadline:
                time.sleep(0.1)
            recorder.kill()
        self._run("recover", "-o", "k.fg")

    def events(self) -> None:
        """Have an event with a histogram and a trigger for a moment, in an instance."""
        event = "f:soak/answer answers.answer%return size=path:len"
        self._run("attach", self._pid)
        self._run("start", "-P", self._pid, "-B", "soak", "-e", event, "-R", "hist:keys=size", "--", *_SLEEP)
        self._run("hist", "-P", self._pid, "-B", "soak", "soak:answer")
        self._run("reset", "-P", self._pid, "-a", "-d")

    def profile(self) -> None:
        """Profile its functions for a moment."""
        self._run("profile", "-P", self._pid, "--", *_SLEEP)

    def detach(self) -> None:
        """Take all of it back."""
        self._run("attach", self._pid)
        self._run("detach", "-P", self._pid)

    def all(self) -> dict[str, Callable[[], None]]:
        """Return each of them by its name."""
        actions = (
            self.record,
            self.record_native,
            self.kill_recorder,
            self.events,
            self.profile,
            self.detach,
        )
        return {action.__name__: action for action in actions}


#: As the page names them.
_ACTIONS = ("record", "record native", "kill recorder", "events", "profile", "detach")
_USUAL_HOURS = 8
_SLEEP = ("sleep", "1")
#: A spool that is longer has events.
_SPOOL_BYTES = 100_000


def _has_events(spool: Path) -> bool:
    return spool.exists() and spool.stat().st_size > _SPOOL_BYTES


def soak(python: Path, hours: float, seed: int) -> tuple[Seen, list[tuple[float, Size, Size]], int]:
    """Run it.

    Args:
        python: the CPython that funcgraph and aiohttp are installed in.
        hours: how long.
        seed: of the order of the actions.

    Returns:
        What happened; the sizes of the server and of the other one after so many seconds; the exit status.
    """
    seen, order = Seen(), random.Random(seed)
    sizes: list[tuple[float, Size, Size]] = []
    watched, alone = Server(python), Server(python)
    folder = Path(tempfile.mkdtemp(prefix="fg-soak-"))
    actions = Actions(python, watched.pid, folder)
    begun = time.monotonic()
    try:
        with Load(watched, alone, seen).going_on():
            actions.detach()  # what an attach leaves for ever is not growth
            while (passed := time.monotonic() - begun) < hours * 3600:
                if passed >= len(sizes) * hours * 3600 / _SAMPLES:
                    sizes.append((passed, Size.of(watched.pid), Size.of(alone.pid)))
                    print_message(_line(passed, seen, *sizes[-1][1:]))
                name, action = order.choice([*actions.all().items()])
                seen.actions[name] += 1
                try:
                    action()
                except (CommandFailedError, subprocess.TimeoutExpired) as error:
                    seen.failures.append(f"{name}: {error}")
                    print_message(f"soak: {seen.failures[-1]}")
            actions.detach()
        sizes.append((time.monotonic() - begun, *settled(watched.pid, alone.pid)))
    finally:
        status = watched.end()
        alone.end()
        shutil.rmtree(folder, ignore_errors=True)
    return seen, sizes, status


def settled(watched: int, alone: int) -> tuple[Size, Size]:
    """Return what both servers hold when all connections are closed, which they may be late to notice."""
    deadline = time.monotonic() + 20
    while True:
        one, other = Size.of(watched), Size.of(alone)
        if (one.threads, one.files) == (other.threads, other.files) or time.monotonic() > deadline:
            return one, other
        time.sleep(0.1)


def _line(passed: float, seen: Seen, watched: Size, alone: Size) -> str:
    return (
        f"{passed / 60:6.1f} min  {seen.requests:,} requests, {len(seen.wrong)} wrong, "
        f"{sum(seen.actions.values())} actions; {watched.memory_kb:,} KiB beside {alone.memory_kb:,}"
    )


def faults(seen: Seen, sizes: Sequence[tuple[float, Size, Size]], status: int) -> list[str]:
    """Return what is not as it must be."""
    _, watched, alone = sizes[-1]
    found = [*seen.wrong[:5], *seen.failures[:5]]
    if status != 5:
        found.append(f"the server's exit status is {status}, not 5")
    if (watched.threads, watched.files) != (alone.threads, alone.files):
        found.append(
            f"{watched.threads} threads and {watched.files} descriptors, and "
            f"{alone.threads} and {alone.files} of the other one"
        )
    growth = watched.memory_kb - sizes[0][1].memory_kb - (alone.memory_kb - sizes[0][2].memory_kb)
    if growth > MOST_GROWTH_KB:
        found.append(f"memory grew by {growth:,} KiB more than the other one's")
    return found


def report(seen: Seen, sizes: Sequence[tuple[float, Size, Size]], release: str, seed: int) -> str:
    """Return the page's tables."""
    hours = sizes[-1][0] / 3600
    day = time.strftime("%Y-%m-%d", time.gmtime())
    rows = [
        f"{hours:.1f} hours on CPython {release}, {day}, `--seed {seed}`, {os.cpu_count()} processors.",
        "",
        "| what | number |",
        "|---|---:|",
        f"| requests | {seen.requests:,} |",
        f"| wrong answers | {len(seen.wrong)} |",
        *(f"| {name.replace('_', ' ')} | {count:,} |" for name, count in sorted(seen.actions.items())),
        f"| actions that failed | {len(seen.failures)} |",
        "",
        "| minutes | memory | of the other server | threads | files |",
        "|---:|---:|---:|---:|---:|",
    ]
    rows += [
        f"| {passed / 60:.0f} | {watched.memory_kb:,} KiB | {alone.memory_kb:,} KiB | "
        f"{watched.threads} and {alone.threads} | {watched.files} and {alone.files} |"
        for passed, watched, alone in sizes
    ]
    tables = "\n".join(rows) + "\n"
    return f"{tables}\n{conclusion(tables)}\n"


def conclusion(tables: str) -> str:
    """Return what the tables of a run say of its length, and of the memory that it took."""
    (hours,) = re.findall(r"^([\d.]+) hours on", tables, re.MULTILINE)
    counts = dict(re.findall(r"^\| ([a-z ]+) \| ([\d,]+) \|$", tables, re.MULTILINE))
    actions = sum(_number(counts[name]) for name in _ACTIONS if name in counts)
    rows = re.findall(r"^\| (\d+) \| ([\d,]+) KiB \| ([\d,]+) KiB ", tables, re.MULTILINE)
    minutes, memory, others = zip(*rows, strict=True)
    begin, warm, end = map(_number, (memory[0], memory[min(1, len(memory) - 1)], memory[-1]))
    other = _number(others[-1]) - _number(others[0])
    lines = [
        f"These were {actions:,} actions.",
        f"Memory grew by {warm - begin:,} KiB in the first {minutes[min(1, len(minutes) - 1)]} minutes,",
        f"and by {end - warm:,} KiB from there to minute {minutes[-1]};",
        f"that of the other server by {other:,} KiB.",
    ]
    if float(hours) < _USUAL_HOURS:
        expected = round(actions / float(hours) * _USUAL_HOURS, -3)
        lines += [
            f"{_USUAL_HOURS} hours at this rate would be some {expected:,.0f} actions.",
            f"This is no run of {_USUAL_HOURS} hours: what memory does later is not known from it.",
        ]
    return "\n".join(lines)


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.real.soak", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", default="", metavar="TAG", help="the CPython (the newest here)")
    parser.add_argument("--hours", type=float, default=_USUAL_HOURS, help=f"how long ({_USUAL_HOURS})")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the order of the actions")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args(argv)
    python = choose(options.python)
    environment = installed(f"real-{python.tag}", python, "real")
    print_message(f"soak: {options.hours:g} hours, --seed {options.seed}")
    seen, sizes, status = soak(environment.python, options.hours, options.seed)
    print_message(
        table([["action", "times"], *([name, str(n)] for name, n in seen.actions.items())], right=(1,))
    )
    if options.write:
        text = report(seen, sizes, python.release, options.seed)
        PAGE.write_text(after_marker(PAGE.read_text(), MARKER, text))
    found = faults(seen, sizes, status)
    for fault in found:
        print_message(f"FAULT: {fault}")
    print_message(
        f"{'FAILED' if found else 'ok'}: {seen.requests:,} requests, {len(seen.wrong)} wrong answers"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
