"""The verbs on processes that run: over their control sockets, from other processes."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.one_python

SHOP = """
    import sys, threading

    def price(amount):
        return 2 * amount

    def pay(amount):
        return price(amount)

    if __name__ == "__main__":
        import funcgraph, shop
        funcgraph.serve()
        print("serves", flush=True)
        done = threading.Event()
        threading.Thread(target=lambda: (sys.stdin.read(), done.set())).start()
        amount = 0
        while not done.wait(0.002):
            amount += 1
            shop.pay(amount)
        print(len(funcgraph.instances()), flush=True)
"""

Shop = subprocess.Popen[str]
Verb = Callable[..., Any]
Run = Callable[..., str]


@pytest.fixture
def shop(fg: Any) -> Iterator[Callable[[], Shop]]:
    """Return a function that starts a process which can be steered, and pays all the time."""
    fg.script(SHOP, "shop.py")
    started: list[Shop] = []

    def start() -> Shop:
        child = subprocess.Popen(
            [sys.executable, "shop.py"],
            cwd=fg.folder,
            env=fg.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(child)
        assert child.stdout is not None and child.stdout.readline() == "serves\n"
        return child

    yield start
    for child in started:
        child.kill()
        child.communicate()


def ends_well(child: Shop) -> None:
    """Have a process end by itself; it has no instance that somebody forgot, but for the top one."""
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 0
    assert int(out) <= 1


@pytest.fixture
def run(in_process: Verb) -> Run:
    """Return a function that runs a command that does what it should, and returns what it prints."""

    def run(*words: object) -> str:
        done = in_process(*words)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    return run


def lines_until(watching: subprocess.Popen[str], wanted: Callable[[list[str]], bool]) -> list[str]:
    """Return the lines of a command until they are as wanted; then end it as Ctrl-C does."""
    assert watching.stdout is not None
    lines: list[str] = []
    while not wanted(lines):
        line = watching.stdout.readline()
        assert line, watching.communicate()
        lines.append(line)
    watching.send_signal(signal.SIGINT)
    lines += watching.stdout  # communicate() would lose what readline() has read ahead
    _, err = watching.communicate(timeout=60)
    assert watching.returncode == 0, err
    return lines


def test_start_stop_show_extract_and_reset(fg: Any, shop: Callable[[], Shop], run: Run) -> None:
    child = shop()
    on = ("-P", child.pid)
    run("start", *on, "-l", "shop.*", "--args", sys.executable, "-c", "import time; time.sleep(0.1)")
    run("stop", *on)
    text = run("show", *on)
    assert "shop.pay(amount=" in text
    assert "Tracing is disabled" in run("stat", *on)
    assert run("extract", *on, "-o", "found.fg") == "found.fg\n"
    calls = fg.calls(fg.folder / "found.fg")
    assert calls["shop.pay"] == text.count("shop.pay(amount=") and calls["shop.price"] == calls["shop.pay"]
    run("extract", *on, "-o", "found.dat")
    assert fg.calls(fg.folder / "found.dat") == calls
    run("reset", *on)
    assert "shop" not in run("show", *on) and "Tracer" not in run("stat", *on)
    ends_well(child)


def test_a_snapshot_is_extracted(fg: Any, shop: Callable[[], Shop], run: Run, in_process: Verb) -> None:
    child = shop()
    on = ("-P", child.pid)
    run("start", *on, "-l", "shop.pay", "sleep", "0.05")
    assert in_process("extract", *on, "-s").returncode == 2  # none was taken
    run("snapshot", *on, "-s")
    run("extract", *on, "-s", "-o", "snap.fg")
    assert fg.calls(fg.folder / "snap.fg")["shop.pay"] == run("snapshot", *on).count("shop.pay();") > 0


def test_trace_prints_calls_as_they_come_and_leaves_nothing(
    fg: Any, shop: Callable[[], Shop], run: Run
) -> None:
    child = shop()
    run("set", "-P", child.pid, "-l", "json.*")
    before = run("stat", "-P", child.pid)
    watching = fg.start("trace", "-P", str(child.pid), "-l", "shop.pay", "--args")
    lines = lines_until(watching, lambda lines: len(lines) >= 5)
    amounts = [int(line.partition("amount=")[2].partition(")")[0]) for line in lines]
    assert amounts == list(range(amounts[0], amounts[0] + len(lines)))  # each call once, in order
    assert run("stat", "-P", child.pid) == before
    assert run("list", "-P", child.pid, "-B") == "No buffer instances defined\n"
    ends_well(child)


def test_lines_of_several_processes_are_told_apart(fg: Any, shop: Callable[[], Shop]) -> None:
    pids = [shop().pid, shop().pid]
    watching = fg.start("trace", "-P", str(pids[0]), "-P", str(pids[1]), "-l", "shop.pay")
    lines = lines_until(watching, lambda lines: len({line.partition(":")[0] for line in lines}) == 2)
    assert {line.partition(":")[0] for line in lines} == set(map(str, pids))


def test_trace_removes_its_instance_when_its_reader_ends(fg: Any, shop: Callable[[], Shop], run: Run) -> None:
    child = shop()
    watching = fg.start("trace", "-P", str(child.pid), "-l", "shop.*")
    assert watching.stdout.readline()
    watching.stdout.close()
    watching.wait(60)
    watching.stdin.close()
    assert "Broken pipe" not in watching.stderr.read()
    watching.stderr.close()
    assert run("list", "-P", child.pid, "-B") == "No buffer instances defined\n"


def test_when_a_process_ends_the_others_go_on(fg: Any, shop: Callable[[], Shop]) -> None:
    first, second = shop(), shop()
    watching = fg.start("trace", "-P", str(first.pid), "-P", str(second.pid), "-l", "shop.pay")
    for _ in range(3):
        assert watching.stdout.readline()
    first.kill()
    first.wait()
    assert watching.stderr.readline() == f"funcgraph: process {first.pid}: has ended\n"
    seen = 0
    while seen < 3:
        seen += watching.stdout.readline().startswith(f"{second.pid}: ")
    watching.send_signal(signal.SIGINT)
    watching.communicate(timeout=60)
    assert watching.returncode == 1


def test_stream_traces_until_the_command_ends_and_resets(shop: Callable[[], Shop], run: Run) -> None:
    child = shop()
    text = run("stream", "-P", child.pid, "-l", "shop.price", "sleep", "0.1")
    assert "shop.price();" in text
    stat = run("stat", "-P", child.pid)
    assert "Tracer" not in stat and "Filter" not in stat
    run("stream", "-P", child.pid, "-B", "mine", "-l", "shop.price", "sleep", "0.05")
    assert run("list", "-P", child.pid, "-B") == "No buffer instances defined\n"


def test_show_p_follows_the_pipe(fg: Any, shop: Callable[[], Shop], run: Run) -> None:
    child = shop()
    run("start", "-P", child.pid, "-p", "function", "-l", "shop.pay")
    watching = fg.start("show", "-P", str(child.pid), "-p")
    assert all("shop.pay" in line for line in lines_until(watching, lambda lines: len(lines) >= 3))
    assert run("show", "-P", child.pid, "--tracing_on") == "1\n"


def test_profile_prints_what_was_counted(fg: Any, shop: Callable[[], Shop], run: Run) -> None:
    child = shop()
    text = run("profile", "-P", child.pid, "-l", "shop.*", "sleep", "0.1")
    rows = {line.split()[0]: int(line.split()[1]) for line in text.splitlines()[2:]}
    assert rows.keys() == {"shop.pay", "shop.price"} and min(rows.values()) > 0
    run("profile", "-P", child.pid, "-l", "shop.*", "-o", "profile.txt", "sleep", "0.05")
    assert "shop.pay" in (fg.folder / "profile.txt").read_text()
    ends_well(child)


def test_top_in_batch_mode_prints_pages(shop: Callable[[], Shop], run: Run) -> None:
    pids = [shop().pid, shop().pid]
    on = [word for pid in pids for word in ("-P", pid)]
    text = run("top", *on, "-b", "-n", 2, "-d", "0.1", "-s", "name", "-l", "shop.*")
    pages = text.strip().split("\n\nfuncgraph top")
    assert len(pages) == 2
    rows = [line.split() for line in pages[1].splitlines()[3:]]
    assert [(row[-1], int(row[0])) for row in rows] == [
        (name, pid) for name in ("shop.pay", "shop.price") for pid in sorted(pids)
    ]
    assert all(float(row[1]) > 0 for row in rows)
    for pid in pids:
        assert run("list", "-P", pid, "-B") == "No buffer instances defined\n"


def test_a_name_pattern_finds_the_processes(shop: Callable[[], Shop], run: Run) -> None:
    child = shop()
    assert run("show", "-P", f"^{sys.executable} shop.p[y]$", "--tracing_on").endswith("1\n")
    assert run("show", "-P", child.pid, "--tracing_on") == "1\n"


def test_without_p_all_with_a_socket_are_meant(shop: Callable[[], Shop], run: Run) -> None:
    pids = sorted(shop().pid for _ in range(2))
    lines = run("show", "--tracing_on").splitlines()
    assert [f"{pid}: 1" for pid in pids] == [line for line in lines if int(line.partition(":")[0]) in pids]


def test_what_is_asked_of_a_process_that_ended_is_said(
    shop: Callable[[], Shop], run: Run, in_process: Verb
) -> None:
    child, other = shop(), shop()
    child.kill()
    child.wait()
    done = in_process("stop", "-P", child.pid, "-P", other.pid)
    assert (done.returncode, done.stderr) == (1, f"funcgraph: process {child.pid}: has ended\n")
    assert run("show", "-P", other.pid, "--tracing_on") == "0\n"
    done = in_process("stop", "-P", child.pid)
    assert done.returncode == 2


def test_a_bad_value_is_one_line_and_changes_nothing(
    shop: Callable[[], Shop], run: Run, in_process: Verb
) -> None:
    child = shop()
    before = run("stat", "-P", child.pid, "-o")
    done = in_process("start", "-P", child.pid, "-l", "shop.*", "-B", "mine", "-l", "x", "-p", "nonsense")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and "-p nonsense" in done.stderr
    assert run("stat", "-P", child.pid, "-o") == before
    assert "mine" not in run("list", "-P", child.pid, "-B")


def test_output_that_cannot_be_written_is_told(
    shop: Callable[[], Shop], run: Run, in_process: Verb, tmp_path: Path
) -> None:
    child = shop()
    run("start", "-P", child.pid, "-l", "shop.*", "sleep", "0.02")
    done = in_process("extract", "-P", child.pid, "-o", str(tmp_path / "no" / "x.fg"))
    assert done.returncode == 2 and os.fspath(tmp_path / "no") in done.stderr


class Terminal:
    """A command on a terminal of its own.

    Args:
        command: the command, with its environment.
        rows: how many lines the terminal has.
    """

    def __init__(self, fg: Any, *words: str, rows: int = 12) -> None:
        self._master, slave = pty.openpty()
        termios.tcsetwinsize(self._master, (rows, 80))
        self.child = fg.start(*words, stdin=slave, stdout=slave)
        os.close(slave)
        self._shown = ""

    def read_until(self, wanted: str) -> str:
        """Read until the text is shown after what was read before; return what was shown until then."""
        while wanted not in self._shown:
            self._shown += os.read(self._master, 4096).decode()
        found, _, self._shown = self._shown.partition(wanted)
        return found

    def press(self, key: str) -> None:
        """Press a key."""
        os.write(self._master, key.encode())

    def close(self) -> tuple[int, str]:
        """Wait for the command's end; return its status, and what it said on standard error."""
        _, err = self.child.communicate(timeout=60)
        os.close(self._master)
        return self.child.returncode, err


def test_top_sorts_by_the_key_that_is_pressed_and_q_quits(
    fg: Any, shop: Callable[[], Shop], run: Run
) -> None:
    child = shop()
    terminal = Terminal(fg, "top", "-P", str(child.pid), "-l", "shop.*", "-d", "0.05")
    assert "\x1b[?1049h" in terminal.read_until("by time")  # the other screen
    terminal.read_until("shop.p")
    for key, name in (("c", "calls"), ("a", "average"), ("n", "name")):
        terminal.press(key)
        terminal.read_until(f"by {name}")
    terminal.read_until("shop.pay")
    terminal.read_until("shop.price")
    terminal.press("q")
    terminal.read_until("\x1b[?25h\x1b[?1049l")  # the first screen, with its cursor
    assert terminal.close() == (0, "")
    assert run("list", "-P", child.pid, "-B") == "No buffer instances defined\n"


def test_top_ends_with_the_last_process(fg: Any, shop: Callable[[], Shop]) -> None:
    child = shop()
    terminal = Terminal(fg, "top", "-P", str(child.pid), "-d", "0.05")
    terminal.read_until("by time")
    child.kill()
    child.wait()
    terminal.read_until("\x1b[?1049l")
    assert terminal.close() == (2, f"funcgraph: process {child.pid}: has ended\n")
