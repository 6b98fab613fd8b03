"""Each signal reaches the program once. The trace is completed whatever ends the program."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pyte
import pytest
from conftest import Funcgraph

pytestmark = pytest.mark.one_python

# Prints "ready", then each signal that it gets; exits 0.5 s after the first.
COUNTS = """
import signal, sys, time

got = []

def handler(number, frame):
    got.append(signal.Signals(number).name)

def main():
    for name in ("INT", "TERM", "HUP", "QUIT", "USR1", "USR2"):
        signal.signal(signal.Signals["SIG" + name], handler)
    print("ready", flush=True)
    deadline = time.monotonic() + 20
    while not got and time.monotonic() < deadline:
        time.sleep(0.01)
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        time.sleep(0.01)
    print(*got)

main()
"""
FORWARDED = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2]


def started(fg: Funcgraph, *words: str | Path) -> subprocess.Popen[str]:
    """Start a recording in its own process group and wait for the program's "ready"."""
    process = fg.start("record", *words, start_new_session=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("number", FORWARDED)
def test_signal_to_the_recorder_alone_reaches_the_program_once(fg: Funcgraph, number: signal.Signals) -> None:
    process = started(fg, fg.script(COUNTS))
    process.send_signal(number)
    output, errors = process.communicate(timeout=30)
    assert (output, process.returncode) == (f"{number.name}\n", 0), errors
    assert fg.calls()["__main__.main"] == 1


@pytest.mark.parametrize("number", FORWARDED)
def test_signal_to_the_group_reaches_the_program_once(fg: Funcgraph, number: signal.Signals) -> None:
    process = started(fg, fg.script(COUNTS))
    os.killpg(process.pid, number)
    output, errors = process.communicate(timeout=30)
    assert (output, process.returncode) == (f"{number.name}\n", 0), errors
    assert fg.calls()["__main__.main"] == 1


def test_programs_signal_to_its_own_group_comes_back_once(fg: Funcgraph) -> None:
    script = fg.script(COUNTS.replace('print("ready", flush=True)', "import os; os.kill(0, signal.SIGTERM)"))
    result = fg.record("-q", script, start_new_session=True)
    assert (result.stdout, result.returncode) == ("SIGTERM\n", 0)


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        signal.SIGTERM,
        signal.SIGKILL,
        signal.SIGUSR1,
        signal.SIGABRT,
        signal.SIGSEGV,
        signal.SIGPIPE,
    ],
)
def test_recorder_dies_of_the_programs_signal(fg: Funcgraph, number: signal.Signals) -> None:
    script = fg.script(
        f"""
        import os, signal
        def main():
            if {int(number)} != signal.SIGKILL:
                signal.signal({int(number)}, signal.SIG_DFL)
            os.kill(os.getpid(), {int(number)})
        main()
        """
    )
    result = fg.record("-q", script)
    assert (result.returncode, result.stderr) == (-number, "")
    assert fg.calls()["__main__.main"] == 1
    assert fg.sessions() == []


def test_keyboard_interrupt_has_its_traceback_and_status(fg: Funcgraph) -> None:
    script = fg.script(
        "import time\ndef main():\n    print('ready', flush=True)\n    time.sleep(20)\nmain()\n"
    )
    process = started(fg, "-q", script)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT
    assert errors.count("Traceback") == 1
    assert errors.splitlines()[-1] == "KeyboardInterrupt"
    assert fg.calls()["__main__.main"] == 1


@pytest.mark.parametrize(
    "ignored", [signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM, signal.SIGCHLD]
)
def test_signals_ignored_by_whoever_starts_us_stay_ignored(fg: Funcgraph, ignored: signal.Signals) -> None:
    code = "from signal import *\ndef f(): print([n for n in range(1, 32) if getsignal(n) == SIG_IGN])\nf()"
    reset = {"preexec_fn": lambda: signal.signal(ignored, signal.SIG_IGN)}
    expected = fg.plain(sys.executable, "-c", code, **reset)
    result = fg.record("-q", "-c", code, **reset)
    assert (result.stdout, result.returncode) == (expected.stdout, 0)
    assert str(int(ignored)) in re.findall(r"\d+", result.stdout)


def test_blocked_signals_stay_blocked(fg: Funcgraph) -> None:
    code = "import signal\ndef f(): print(signal.pthread_sigmask(signal.SIG_BLOCK, []))\nf()"
    mask = {"preexec_fn": lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGCHLD])}
    assert fg.record("-q", "-c", code, **mask).stdout == fg.plain(sys.executable, "-c", code, **mask).stdout


ROWS, COLUMNS = 24, 200


class Terminal:
    """A recording on its own pseudo-terminal, as in a terminal window."""

    def __init__(self, fg: Funcgraph, command: list[str]) -> None:
        self.output = b""
        self.status: int | None = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                termios.tcsetwinsize(0, (ROWS, COLUMNS))
                os.chdir(fg.folder)
                os.execve(command[0], command, fg.env)
            finally:
                os._exit(127)

    def read_until(self, expected_value: bytes, timeout_s: float = 20.0) -> None:
        deadline = time.monotonic() + timeout_s
        while expected_value not in self.output:
            assert time.monotonic() < deadline, self.output
            self._read(0.1)

    def wait(self, timeout_s: float = 20.0) -> int:
        """Read to the end; return the exit status, or minus the signal."""
        deadline = time.monotonic() + timeout_s
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                while self._read(0.0):
                    pass
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
            assert time.monotonic() < deadline, self.output
            self._read(0.05)

    def lines(self) -> list[str]:
        """Return what a person sees in the end, without blanks at the ends of lines and empty lines below."""
        screen = pyte.Screen(COLUMNS, ROWS)
        pyte.ByteStream(screen).feed(self.output)
        return "\n".join(line.rstrip() for line in screen.display).rstrip("\n").split("\n")

    def type(self, text: bytes) -> None:
        os.write(self.fd, text)

    def _read(self, wait_s: float) -> bool:
        if not select.select([self.fd], [], [], wait_s)[0]:
            return False
        try:
            piece = os.read(self.fd, 65536)
        except OSError:  # EIO: all others have closed it
            return False
        self.output += piece
        return bool(piece)


def test_ctrl_c_on_a_terminal(fg: Funcgraph) -> None:
    script = fg.script(COUNTS)
    terminal = Terminal(fg, [*fg.command, "record", str(script)])
    terminal.read_until(b"ready")
    terminal.type(b"\x03")
    assert terminal.wait() == 0, terminal.output
    assert b"SIGINT\r\n" in terminal.output.replace(b"\x1b[K", b"")
    assert b"SIGINT SIGINT" not in terminal.output
    assert fg.calls()["__main__.main"] == 1


def test_ctrl_c_twice_on_a_terminal_ends_a_stubborn_program_by_ctrl_backslash(fg: Funcgraph) -> None:
    script = fg.script(
        """
        import signal, time
        def main():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            print("ready", flush=True)
            time.sleep(30)
        main()
        """
    )
    terminal = Terminal(fg, [*fg.command, "record", "-q", str(script)])
    terminal.read_until(b"ready")
    terminal.type(b"\x03")
    terminal.type(b"\x03")
    time.sleep(0.2)
    terminal.type(b"\x1c")
    assert terminal.wait() == -signal.SIGQUIT
    assert fg.calls()["__main__.main"] == 1


def test_a_second_sigterm_ends_the_recorder_of_a_program_that_ignores_it(fg: Funcgraph) -> None:
    """Broken: it recorded for as long as the program ran."""
    script = fg.script(
        """
        import os, signal, time
        def main():
            signal.signal(signal.SIGTERM, lambda *_: print("ignored", flush=True))
            print("ready", flush=True)
            print(os.getpid(), flush=True)
            while True:
                time.sleep(1)
        main()
        """
    )
    process = started(fg, script)
    assert process.stdout is not None
    program = int(process.stdout.readline())
    try:
        for _ in range(2):
            process.terminate()
            assert process.stdout.readline() == "ignored\n"
        assert process.wait(60) == -signal.SIGTERM
        os.kill(program, 0)
        assert fg.calls()["__main__.main"] == 1
    finally:
        os.kill(program, signal.SIGKILL)


TICKS = """
import sys, time
def tick(): pass
def run(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(1000):
            tick()
        time.sleep(0.01)
"""


def test_progress_line_on_a_terminal_is_replaced_by_new_figures(fg: Funcgraph) -> None:
    """While the program is silent there is one such line, at the bottom."""
    script = fg.script(f"{TICKS}run(2)\n")
    terminal = Terminal(fg, [*fg.command, "record", str(script)])
    assert terminal.wait() == 0
    shown = re.findall(rb"funcgraph: ([\d,]+) events, [\d.]+ \w+, 0 lost", terminal.output)
    assert len(shown) >= 3
    counts = [int(count.replace(b",", b"")) for count in shown]
    assert counts == sorted(counts)
    assert counts[-1] > 0
    figures = [line for line in terminal.lines() if " events, " in line and "0 lost" in line]
    assert len(figures) <= 2  # the program's end is seen as a use of the terminal
    assert all(line.startswith("funcgraph: ") for line in terminal.lines())


def test_progress_line_and_what_the_program_prints_never_share_a_line(fg: Funcgraph) -> None:
    script = fg.script(
        f"""{TICKS}
run(1.2)
print("a line", flush=True)
run(1.2)
print("no end of", "a line", end="", flush=True)
run(0.6)
"""
    )
    terminal = Terminal(fg, [*fg.command, "record", str(script)])
    assert terminal.wait() == 0
    lines = terminal.lines()
    assert "a line" in lines
    assert "no end of a line" in lines
    assert {line for line in lines if not line.startswith("funcgraph: ")} == {"a line", "no end of a line"}
    assert lines.count("") == 0


def test_quiet_shows_nothing_on_a_terminal(fg: Funcgraph) -> None:
    script = fg.script("import time\ndef f(): time.sleep(1.2)\nf()\n")
    terminal = Terminal(fg, [*fg.command, "record", "-q", str(script)])
    assert terminal.wait() == 0
    assert terminal.output == b""


def test_no_progress_line_over_a_program_that_owns_the_screen(fg: Funcgraph) -> None:
    script = fg.script(
        """
        import sys, time, tty
        def f():
            tty.setraw(0)
            time.sleep(1.5)
        f()
        """
    )
    terminal = Terminal(fg, [*fg.command, "record", str(script)])
    assert terminal.wait() == 0
    assert b"\x1b[K" not in terminal.output


# A shell with job control, and the recording as its job. The prompts do not appear in the output.
SHELL = ["/bin/bash", "--norc", "--noprofile", "-i"]


def test_ctrl_z_and_fg_in_a_shell(fg: Funcgraph) -> None:
    script = fg.script(
        """
        import time
        def main():
            print("rea" + "dy", flush=True)
            end = time.monotonic() + 1.5
            while time.monotonic() < end:
                time.sleep(0.01)
            print("do" + "ne", flush=True)
        main()
        """
    )
    fg.env["PS1"] = "$ "
    terminal = Terminal(fg, SHELL)
    terminal.type(f"{sys.executable} -m funcgraph record -q {script}\n".encode())
    terminal.read_until(b"ready")
    terminal.type(b"\x1a")
    terminal.read_until(b"Stopped")
    terminal.type(b"fg\n")
    terminal.read_until(b"done")
    terminal.type(b"echo status $?\n")
    terminal.read_until(b"status 0")
    terminal.type(b"exit\n")
    terminal.wait()
    assert fg.calls()["__main__.main"] == 1


def test_program_that_stops_itself_gives_the_shell_back(fg: Funcgraph) -> None:
    script = fg.script(
        """
        import os, signal
        def main():
            os.kill(os.getpid(), signal.SIGSTOP)
            print("do" + "ne", flush=True)
        main()
        """
    )
    fg.env["PS1"] = "$ "
    terminal = Terminal(fg, SHELL)
    terminal.type(f"{sys.executable} -m funcgraph record -q {script}\n".encode())
    terminal.read_until(b"Stopped")
    terminal.type(b"fg\n")
    terminal.read_until(b"done")
    terminal.type(b"exit\n")
    terminal.wait()
    assert fg.calls()["__main__.main"] == 1


def test_recording_that_is_stopped_and_continued_again_and_again(fg: Funcgraph) -> None:
    script = fg.script(COUNTS)
    process = started(fg, script)
    for number in range(100):
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(number % 10 / 1000)
        os.kill(process.pid, signal.SIGCONT)
        time.sleep(number % 7 / 1000)
    process.terminate()
    output, errors = process.communicate(timeout=30)
    assert (output, process.returncode) == ("SIGTERM\n", 0), errors


def test_recorder_that_is_killed_leaves_no_witness_behind(fg: Funcgraph) -> None:
    script = fg.script(
        "import time\ndef main():\n    print('ready', flush=True)\n    time.sleep(3)\nmain()\n"
    )
    process = started(fg, "-q", script)
    process.kill()
    process.communicate(timeout=30)  # would hang if a process still held the pipes
    deadline = time.monotonic() + 10
    while True:
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            break
        assert time.monotonic() < deadline
        time.sleep(0.05)
