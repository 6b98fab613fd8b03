"""Long work has a bar with its share and the time left on a terminal, and none elsewhere."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pyte
import pytest

from funcgraph import _tracedata
from funcgraph.command_support import trace as trace_support
from funcgraph.command_support.progress_bar import FIRST_S, INTERVAL_S, ProgressBar
from funcgraph.command_support.trace import after_bar
from funcgraph.merge import merge
from funcgraph.recorder.progress import ProgressLine
from funcgraph.tracedata.opened import Trace
from funcgraph.tracedata.selection import Selection
from funcgraph.tracedata.trace_file import TraceFile

pytestmark = pytest.mark.one_python

COLUMNS = 80
PROGRAM = """
import threading
def leaf(): pass
def work(times):
    for _ in range(times): leaf()
other = threading.Thread(target=work, args=(20_000,), name="other")
other.start()
work(20_000)
other.join()
"""


class Clock:
    """A clock that stands still until a test moves it."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal:
    """A terminal: a bar writes to `fd`; `draws` counts how often it was drawn, `screen` is what is seen."""

    def __init__(self) -> None:
        self.main, self.fd = pty.openpty()
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
        self.screen = pyte.Screen(COLUMNS, 24)
        self._stream = pyte.ByteStream(self.screen)
        self.data = b""

    def read(self) -> str:
        """Return the lines that are seen now."""
        while select.select([self.main], [], [], 0)[0]:
            data = os.read(self.main, 65536)
            self.data += data
            self._stream.feed(data)
        return "\n".join(line.rstrip() for line in self.screen.display if line.strip())

    @property
    def draws(self) -> int:
        self.read()
        return self.data.count(b"%")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    monkeypatch.setenv("TERM", "xterm")
    made = Terminal()
    yield made
    os.close(made.main)
    os.close(made.fd)


def test_work_that_ends_soon_has_no_bar(terminal: Terminal) -> None:
    clock = Clock()
    with ProgressBar("reading trace.fg", fd=terminal.fd, clock=clock) as bar:
        bar(0.1)
        clock.now += FIRST_S * 0.99
        bar(0.9)
    assert terminal.read() == ""
    assert terminal.data == b""


def test_the_bar_tells_the_share_and_the_time_left_and_is_erased(terminal: Terminal) -> None:
    clock = Clock()
    with ProgressBar("reading trace.fg", fd=terminal.fd, clock=clock) as bar:
        bar(0.0)
        clock.now += 20
        bar(0.25)
        assert terminal.read() == ("funcgraph: reading trace.fg [######..................]  25%  1:00 left")
        bar(0.25)
        assert terminal.draws == 1  # it is too soon for another
        clock.now += INTERVAL_S
        bar(0.5)
        assert terminal.draws == 2
        bar.clear()
        assert terminal.read() == ""
        clock.now += 7200 * 2
        bar(0.5)
        assert terminal.read().endswith(" 50%  4:00:20 left")
    assert terminal.read() == ""
    assert (terminal.screen.cursor.x, terminal.screen.cursor.y) == (0, 0)
    clock.now += 10
    bar(0.9)  # a thread that comes late
    assert terminal.read() == ""


def test_what_the_encoding_of_a_terminal_lacks_is_escaped_in_one_row(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names may have any characters, also halves of pairs."""
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(io.BytesIO(), "ascii"))
    name = "\u2588\xe4\udc80.fg"
    escaped = "\\u2588\\xe4\\udc80.fg"
    clock = Clock()
    with ProgressBar(f"reading {name}", fd=terminal.fd, clock=clock) as bar:
        bar(0.0)
        clock.now += 20
        bar(0.25)
        assert f"{escaped} [" in terminal.read()
    monkeypatch.setattr(os, "isatty", lambda fd: True)
    line = ProgressLine(True)
    line._fd = terminal.fd
    line.show(name)
    assert terminal.read() == f"funcgraph: {escaped}"
    line.show(100 * name)  # takes the place of the former: it has one row, too
    rows = terminal.read().splitlines()
    assert len(rows[-1]) == COLUMNS
    assert len(rows) <= 2


def test_a_second_pass_has_its_own_time(terminal: Terminal) -> None:
    clock = Clock()
    with ProgressBar("reading trace.fg", fd=terminal.fd, clock=clock) as bar:
        bar(0.0)
        clock.now += 100
        bar(1.0)
        bar(0.0)
        clock.now += 5
        bar(0.5)
        assert terminal.read().endswith(" 50%  0:05 left")


def test_the_bar_is_one_line_whatever_the_name(terminal: Terminal) -> None:
    clock = Clock()
    with ProgressBar(f"reading {'x' * 200}\n\x1b[31m", fd=terminal.fd, clock=clock) as bar:
        bar(0.0)
        clock.now += 2
        bar(0.5)
        (line,) = terminal.read().splitlines()
        assert line.endswith(" 50%  0:02 left")
        assert len(line) < COLUMNS
        assert terminal.data.count(b"\x1b") == 1  # what erases the line


@pytest.mark.parametrize("term", ["dumb", None])
def test_a_terminal_that_cannot_erase_a_line_has_none(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, term: str | None
) -> None:
    if term is None:
        monkeypatch.delenv("TERM")
    else:
        monkeypatch.setenv("TERM", term)
    clock = Clock()
    with ProgressBar("reading trace.fg", fd=terminal.fd, clock=clock) as bar:
        clock.now += 10
        bar(0.5)
    assert terminal.read() == ""


def test_a_pipe_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    read, write = os.pipe()
    clock = Clock()
    with ProgressBar("reading trace.fg", fd=write, clock=clock) as bar:
        clock.now += 10
        bar(0.5)
    os.close(write)
    assert os.read(read, 100) == b""
    os.close(read)


# ---- what reports progress


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a trace of 80,000 events in two threads, in some chunks each."""
    folder = tmp_path_factory.mktemp("progress")
    (folder / "app.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "funcgraph", "record", "-q", "-b", "256", "-l", "__main__.*", "app.py"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "trace.fg"


def assert_is_progress(shares: list[float], *, last: float = 0.6) -> None:
    assert shares
    assert all(0 <= share <= 1 for share in shares)
    assert all(before <= after for before, after in pairwise(shares)), shares
    assert shares[-1] > last


def test_each_way_of_reading_reports_its_share(trace: Path, tmp_path: Path) -> None:
    shares: list[float] = []
    with Trace(trace, progress=shares.append) as opened:
        for _ in opened.columns(size=256):
            pass
        assert_is_progress(shares, last=0.9)
        assert shares[0] < 0.5
        shares.clear()
        for _ in opened.call_columns(size=256):
            pass
        assert_is_progress(shares)
        shares.clear()
        opened.index(cached=False)
        assert_is_progress(shares, last=0.99)
    shares.clear()
    for _ in TraceFile(trace, progress=shares.append).report():
        pass
    assert_is_progress(shares)
    shares.clear()
    TraceFile(trace, progress=shares.append).summary()
    assert len(shares) == 1  # one for some millions of events
    dat = tmp_path / "trace.dat"
    shares.clear()
    _tracedata.convert(str(trace), str(dat), progress=shares.append)
    merge([trace], tmp_path / "merged.fg", progress=shares.append)
    assert len(shares) == 2  # each after its first bytes
    shares.clear()
    with Trace(dat, progress=shares.append) as opened:
        for _ in opened.columns(size=256):
            pass
    assert_is_progress(shares, last=0.9)


def test_the_pass_that_finds_calls_by_their_values_is_reported(trace: Path) -> None:
    counts = []
    for chosen in (None, ALL):
        shares: list[float] = []
        TraceFile(trace, progress=shares.append).summary(select=chosen)
        counts.append(len(shares))
    assert counts == [1, 2]


def test_what_is_not_read_counts_as_nothing(trace: Path) -> None:
    shares: list[float] = []
    with Trace(trace, progress=shares.append) as opened:
        for _ in opened.columns(size=256, tasks=[task for task in opened.tasks if task.name == "other"]):
            pass
        assert_is_progress(shares, last=0.9)
        shares.clear()
        left = opened.columns(size=256)
        next(left)
        del left
        shares.clear()
        for _ in opened.columns(size=256):
            pass
        assert_is_progress(shares, last=0.9)
        assert shares[0] < 0.5


def interrupt(share: float) -> None:
    raise KeyboardInterrupt


#: Calls that are chosen by their values are found in a pass of its own.
ALL = Selection(where="duration >= 0")
WORK: dict[str, Callable[[Path, Path], object]] = {
    "convert": lambda trace, output: _tracedata.convert(str(trace), str(output), progress=interrupt),
    "join": lambda trace, output: merge([trace], output, progress=interrupt),
    "columns": lambda trace, output: next(Trace(trace, progress=interrupt).columns()),
    "summary": lambda trace, output: TraceFile(trace, progress=interrupt).summary(),
    "where": lambda trace, output: TraceFile(trace, progress=interrupt).summary(select=ALL),
}


@pytest.mark.parametrize("work", WORK)
def test_what_the_callable_raises_ends_the_work(trace: Path, tmp_path: Path, work: str) -> None:
    output = tmp_path / "output"
    with pytest.raises(KeyboardInterrupt):
        WORK[work](trace, output)
    assert not output.exists()


# ---- commands

#: Runs commands, with a bar from the first report on. What they print goes to a file of their name.
EAGER = """
import json, os, sys
from funcgraph.command_support import progress_bar
from funcgraph.cli import main
progress_bar.FIRST_S = progress_bar.INTERVAL_S = 0
for name, words in json.loads(sys.argv[1]).items():
    if name.islower():
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), 1)
    try:
        main(words)
    except SystemExit:
        pass
    sys.stdout.flush()
    os.write(2, f"<{name}>\\n".encode())
"""
COMMANDS = {
    "export": ["export", "speedscope", "trace.fg", "-o", "trace.json"],
    "convert": ["export", "trace-dat", "trace.fg", "-o", "trace.dat"],
    "merge": ["merge", "trace.fg", "-o", "merged.fg"],
    "summary": ["summary", "trace.fg"],
    "why": ["why", "-i", "trace.fg", "__main__.leaf"],
    "values": ["values", "-i", "trace.fg", "__main__.leaf"],
    "exceptions": ["exceptions", "-i", "trace.fg"],
    "repeat": ["repeat", "-i", "trace.fg"],
    "diff": ["diff", "trace.fg", "trace.fg"],
    "report": ["report", "trace.fg"],
    "page": ["view", "--export", "trace.html", "trace.fg"],
    "where": ["report", "--where", "duration >= 0", "trace.fg"],
}
PLAN = {"plan": ["plan", "--afresh", "/bin/true", "/nowhere"]}
REPORT = {"Report": ["report", "-n", "40", "--color", "never", "trace.fg"]}
SQL = {"sql": ["sql", "trace.fg", "SELECT count(*) FROM calls"]}


def run(commands: dict[str, list[str]], trace: Path, terminal: Terminal, output: int) -> str:
    """Run commands with standard error on a terminal; return what is seen in the end."""
    environment = {**os.environ, "TERM": "xterm", "PAGER": "cat"}
    child = subprocess.Popen(
        [sys.executable, "-c", EAGER, json.dumps(commands)],
        cwd=trace.parent,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=terminal.fd,
    )
    while child.poll() is None:
        select.select([terminal.main], [], [], 0.05)
        terminal.read()
    assert child.returncode == 0
    return terminal.read()


def test_each_command_has_a_bar_and_leaves_nothing_of_it(trace: Path, terminal: Terminal) -> None:
    commands = dict(COMMANDS)
    if find_spec("duckdb"):
        commands.update(SQL)
    if find_spec("iced_x86"):
        commands.update(PLAN)
    seen = run(commands, trace, terminal, subprocess.DEVNULL)
    assert "%" not in seen
    if "plan" in commands:
        assert "funcgraph: /nowhere: No such file or directory\n<plan>" in seen
    data = terminal.data
    for name in commands:
        part, marker, data = data.partition(f"<{name}>".encode())
        assert marker, name
        assert b"%" in part, name
        printed = (trace.parent / name).read_bytes()
        assert b"\x1b" not in printed
        assert bool(printed) == (name not in ("export", "convert", "merge", "page")), name


def test_a_report_on_the_terminal_itself_has_a_bar_up_to_its_text(trace: Path, terminal: Terminal) -> None:
    seen = run(REPORT, trace, terminal, terminal.fd)
    assert "__main__.leaf()" in seen
    assert "%" not in seen
    bar, _, text = terminal.data.rpartition(b"\r\x1b[K")
    assert b"%" in bar
    assert b"__main__.leaf()" not in bar
    assert b"__main__.leaf()" in text


def test_a_report_into_a_pipe_has_a_bar_up_to_its_text(trace: Path, terminal: Terminal) -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as cat:
        assert cat.stdin is not None
        assert run(REPORT, trace, terminal, cat.stdin.fileno()) == "<Report>"
    assert terminal.draws == 1  # as the reading began


@pytest.mark.parametrize("is_file", [False, True])
def test_the_bar_ends_before_text_that_may_go_to_its_terminal(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, is_file: bool
) -> None:
    monkeypatch.setattr(trace_support, "_output_is_file", lambda: is_file)
    clock = Clock()
    bar = ProgressBar("reading trace.fg", fd=terminal.fd, clock=clock)

    def pieces() -> Iterator[bytes]:
        for share in (0.25, 0.5):
            clock.now += 10
            bar(share)
            yield b"text\n"

    text = after_bar(pieces(), bar)
    assert terminal.draws == 1
    assert ("25%" in terminal.read()) == is_file
    assert [*text] == [b"text\n", b"text\n"]
    assert terminal.draws == (2 if is_file else 1)


def test_rows_on_the_terminal_come_after_the_bar(trace: Path, terminal: Terminal) -> None:
    pytest.importorskip("duckdb")
    seen = run({"Sql": SQL["sql"]}, trace, terminal, terminal.fd)
    assert seen == "count_star()\n       40003\n<Sql>"
    assert terminal.draws >= 1
