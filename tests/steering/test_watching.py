"""The verbs that watch processes which run, until Ctrl-C, the end of a command, or of the processes."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from progress import wait_for_progress

from funcgraph import cli
from funcgraph.command_support.messages import CommandError
from funcgraph.control.processes import running
from steering.conftest import Run, Shops

pytestmark = pytest.mark.one_python


def lines_until(watching: subprocess.Popen[str], expected: Callable[[list[str]], bool]) -> list[str]:
    """Return the lines of a command until they are as wanted; then end it as Ctrl-C does."""
    assert watching.stdout is not None
    lines: list[str] = []
    while not expected(lines):
        line = watching.stdout.readline()
        assert line, watching.communicate()
        lines.append(line)
    watching.send_signal(signal.SIGINT)
    lines += watching.stdout  # communicate() would lose what readline() has read ahead
    _, err = watching.communicate(timeout=60)
    assert watching.returncode == 0, err
    return lines


def test_trace_prints_calls_as_they_come_and_leaves_nothing(fg: Any, shop: Shops, run: Run) -> None:
    child = shop()
    run("set", "-P", child.pid, "-l", "json.*")
    before = run("settings", "-P", child.pid)
    watching = fg.start("trace", "-P", str(child.pid), "-l", "shop.pay", "--args")
    lines = lines_until(watching, lambda lines: len(lines) >= 5)
    amounts = [int(line.partition("amount=")[2].partition(")")[0]) for line in lines]
    assert amounts == list(range(amounts[0], amounts[0] + len(lines)))  # each call once, in order
    assert run("settings", "-P", child.pid) == before
    assert run("list", "-P", child.pid, "-B") == "No buffer instances defined\n"


def test_lines_of_several_processes_are_told_apart(fg: Any, shop: Shops) -> None:
    pids = [shop().pid, shop().pid]
    watching = fg.start("trace", "-P", str(pids[0]), "-P", str(pids[1]), "-l", "shop.pay")
    lines = lines_until(watching, lambda lines: len({line.partition(":")[0] for line in lines}) == 2)
    assert {line.partition(":")[0] for line in lines} == set(map(str, pids))


def test_trace_removes_its_instance_when_its_reader_ends(fg: Any, shop: Shops, run: Run) -> None:
    child = shop()
    watching = fg.start("trace", "-P", str(child.pid), "-l", "shop.*")
    assert watching.stdout.readline()
    watching.stdout.close()
    watching.wait(60)
    watching.stdin.close()
    assert "Broken pipe" not in watching.stderr.read()
    watching.stderr.close()
    assert run("list", "-P", child.pid, "-B") == "No buffer instances defined\n"


def test_when_a_process_ends_the_others_go_on(fg: Any, shop: Shops) -> None:
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


def test_trace_with_b_removes_an_instance_that_it_made_and_resets_another(shop: Shops, run: Run) -> None:
    """As `stream`, which it was called before."""
    child = shop()
    words = ("-P", child.pid, "-B", "mine", "-l", "shop.price", *wait_for_progress(child.pid))
    assert "shop.price();" in run("stream", *words)
    assert run("list", "-P", child.pid, "-B") == "No buffer instances defined\n"
    run("set", "-P", child.pid, "-B", "mine", "-l", "json.*")
    assert "shop.price();" in run("trace", *words)
    left = run("settings", "-P", child.pid, "-B", "mine")
    assert "Tracer" not in left and "Filter" not in left
    run("set", "-P", child.pid, "-v", "-B", "mine")


def test_trace_takes_one_instance(shop: Shops) -> None:
    with pytest.raises(CommandError, match="one instance at a time"):
        cli.run(["trace", "-P", "1", "-l", "shop.*", "-B", "mine"])


def test_show_p_follows_the_pipe(fg: Any, shop: Shops, run: Run) -> None:
    child = shop()
    run("start", "-P", child.pid, "-p", "function", "-l", "shop.pay")
    watching = fg.start("show", "-P", str(child.pid), "-p")
    assert all("shop.pay" in line for line in lines_until(watching, lambda lines: len(lines) >= 3))
    assert run("show", "-P", child.pid, "--tracing_on") == "1\n"


def test_profile_prints_what_was_counted(fg: Any, shop: Shops, run: Run) -> None:
    child = shop()
    text = run("profile", "-P", child.pid, "-l", "shop.*", *wait_for_progress(child.pid))
    rows = {line.split()[0]: int(line.split()[1]) for line in text.splitlines()[2:]}
    assert rows.keys() == {"shop.pay", "shop.price"} and min(rows.values()) > 0
    run("profile", "-P", child.pid, "-l", "shop.*", "-o", "profile.txt", *wait_for_progress(child.pid))
    assert "shop.pay" in (fg.folder / "profile.txt").read_text()


def test_top_in_batch_mode_prints_pages(shop: Shops, run: Run) -> None:
    pids = [shop().pid, shop().pid]
    on = [word for pid in pids for word in ("-P", pid)]
    text = run("top", *on, "-b", "-n", 2, "-d", "0.4", "-s", "name", "-l", "shop.*")
    pages = text.strip().split("\n\nfuncgraph top")
    assert len(pages) == 2
    assert "2 processes" in pages[1].splitlines()[0]
    rows = [line.split() for line in pages[1].splitlines()[3:]]
    assert [row[-1] for row in rows] == ["shop.pay", "shop.price"]  # one row for both processes
    assert all(float(row[0]) > 0 for row in rows)
    text = run("top", *on, "-b", "-n", 1, "-d", "0.4", "-s", "name", "-l", "shop.*", "--by-process")
    rows = [line.split() for line in text.splitlines()[3:] if line]
    assert [(row[-1], int(row[0])) for row in rows] == [
        (name, pid) for name in ("shop.pay", "shop.price") for pid in sorted(pids)
    ]
    for pid in pids:
        assert run("list", "-P", pid, "-B") == "No buffer instances defined\n"


def test_top_shows_own_time_without_waiting(fg: Any, run: Run) -> None:
    """The program sleeps in pay(), after price() has computed for a while."""
    script = fg.script("""
        import time

        def price():
            return sum(range(20000))

        def pay():
            price()
            time.sleep(0.002)

        print("runs", flush=True)
        while True:
            pay()
    """)
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, env=fg.env) as child:
        assert child.stdout is not None and child.stdout.readline() == b"runs\n"

        def averages(*more: str) -> dict[str, float]:
            text = run("top", "-P", child.pid, "-b", "-n", 1, "-d", "0.5", "-l", "__main__.*", *more)
            assert ("own ms/s" in text) == ("graph-time" not in more)
            return {line.split()[-1]: float(line.split()[2]) for line in text.splitlines()[3:] if line}

        own = averages()
        assert own["__main__.pay"] < own["__main__.price"]  # neither its callee nor its sleep
        whole = averages("-O", "graph-time")
        assert whole["__main__.pay"] > whole["__main__.price"]
        assert averages("-O", "sleep-time")["__main__.pay"] > 2000  # microseconds
        child.kill()


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

    def read_until(self, expected: str) -> str:
        """Read until the text is shown after what was read before; return what was shown until then."""
        while expected not in self._shown:
            self._shown += os.read(self._master, 4096).decode()
        found, _, self._shown = self._shown.partition(expected)
        return found

    def press(self, key: str) -> None:
        """Press a key."""
        os.write(self._master, key.encode())

    def close(self) -> tuple[int, str]:
        """Wait for the command's end; return its status, and what it said on standard error."""
        _, err = self.child.communicate(timeout=60)
        os.close(self._master)
        return self.child.returncode, err


def test_top_sorts_by_the_key_that_is_pressed_and_q_quits(fg: Any, shop: Shops, run: Run) -> None:
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


def test_top_ends_with_the_last_process(fg: Any, shop: Shops) -> None:
    child = shop()
    terminal = Terminal(fg, "top", "-P", str(child.pid), "-d", "0.05")
    terminal.read_until("by time")
    child.kill()
    child.wait()
    terminal.read_until("\x1b[?1049l")
    assert terminal.close() == (2, f"funcgraph: process {child.pid}: has ended\n")


@pytest.fixture
def stranger(fg: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Start a Python process that never heard of funcgraph."""
    script = fg.script("""
        import time

        def pay():
            time.sleep(0.002)

        print("runs", flush=True)
        while True:
            pay()
    """)
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, env=fg.env) as child:
        assert child.stdout is not None and child.stdout.readline() == b"runs\n"
        yield child
        child.kill()


def test_a_process_without_a_socket_is_attached_and_left_as_before(
    stranger: subprocess.Popen[bytes], run: Run
) -> None:
    assert "__main__.pay" in run(
        "profile", "-P", stranger.pid, "-l", "__main__.pay", *wait_for_progress(stranger.pid)
    )
    run("trace", "-P", stranger.pid, "-p", "nop", "-e", "py:gc_start", *wait_for_progress(stranger.pid))
    assert stranger.pid not in running()
    run("start", "-P", stranger.pid, "-l", "__main__.pay", *wait_for_progress(stranger.pid))
    assert stranger.pid in running()
    run("trace", "-P", stranger.pid, "-l", "__main__.pay", *wait_for_progress(stranger.pid))
    assert "__main__.pay" in run("show", "-P", stranger.pid)  # start is still in force


def test_children_are_steered_with_their_parents(fg: Any, run: Run) -> None:
    script = fg.script("""
        import os, sys
        child = os.fork()
        os.write(1, b"runs\\n")
        sys.stdin.read()
        if child:
            os.wait()
    """)
    parent = subprocess.Popen(
        [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=fg.env
    )
    assert parent.stdout is not None
    assert [parent.stdout.readline() for _ in range(2)] == [b"runs\n"] * 2
    lines = run("show", "-P", parent.pid, "--children", "--tracing_on").splitlines()
    assert len(lines) == 2 and lines[0] == f"{parent.pid}: 1" and lines[1].endswith(": 1")
    parent.communicate()
    assert parent.returncode == 0


def test_show_p_follows_the_pipe_of_one_lane(fg: Any, shop: Shops, run: Run) -> None:
    child = shop()
    run("start", "-P", child.pid, "-p", "function", "-l", "shop.pay", *wait_for_progress(child.pid))
    watching = fg.start("show", "-P", str(child.pid), "-p", "-c", "0", "-f")
    lines = lines_until(watching, lambda lines: len(lines) >= 3)
    assert lines[0] == f"{child.pid}/per_cpu/cpu0/trace_pipe\n" and "shop.pay" in lines[1]


def test_the_instance_of_a_killed_reader_can_be_removed(fg: Any, shop: Shops, run: Run) -> None:
    child = shop()
    watching = fg.start("trace", "-P", str(child.pid), "-l", "shop.pay")
    assert watching.stdout.readline()
    watching.kill()
    watching.communicate()
    name = f"trace-{watching.pid}"
    assert run("list", "-P", child.pid, "-B") == f"{name}\n"
    run("reset", "-P", child.pid, "-B", name, "-d")
    assert run("list", "-P", child.pid, "-B") == "No buffer instances defined\n"
