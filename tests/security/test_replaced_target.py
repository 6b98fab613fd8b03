"""A process that executes a setuid program while it is attached to gets nothing of what was meant for it."""

from __future__ import annotations

import itertools
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from compiled import link
from extension import compile_library
from sizes import HELD_CALLS

from funcgraph.rights.proc_facts import stat_fields

HERE = Path(__file__).parent
STRANGER = 65534
pytestmark = [
    pytest.mark.one_python,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root makes setuid programs"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc"),
]

#: Runs Python as root, as sudo does: the same file as before, with other rights.
_SETUID = """
#include <unistd.h>
int main(int count, char **words)
{
    (void)count;
    if (setresuid(0, 0, 0) == 0)
        execv(words[1], words + 1);
    return 1;
}
"""
_ROOT = """
import signal, sys, time
signal.signal(signal.SIGUSR1, lambda *_: sys.exit(7))
print("root", flush=True)
while True:
    time.sleep(1000)
"""
_USER = f"""
import os, signal, sys, threading, time
os.setgroups([])
os.setresgid({STRANGER}, {STRANGER}, {STRANGER})  # when it runs: Python may lie where only root gets
os.setresuid({STRANGER}, {STRANGER}, {STRANGER})
def execute(*_):
    os.execv(sys.argv[1], [sys.argv[1], sys.executable, "-c", {_ROOT!r}])
signal.signal(signal.SIGUSR2, execute)
print("user", flush=True)
while True:
    time.sleep(1000)
"""


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder that others can reach, in which setuid programs work."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def program(folder: Path) -> Path:
    source, program = folder / "setuid.c", folder / "setuid"
    source.write_text(_SETUID)
    link(program, ["gcc"], [source])
    program.chmod(0o4755)
    return program


@pytest.fixture(scope="module")
def library(folder: Path) -> Path:
    return compile_library(folder, HERE.parent / "session" / "kill_at.c")


def _wait(process: subprocess.Popen[str], states: str) -> None:
    """Wait until a process has ended, or is in one of these states."""
    until = time.monotonic() + 60
    while process.poll() is None and stat_fields(process.pid)[0].decode() not in states:
        assert time.monotonic() < until
        time.sleep(0.002)


def _execute_soon(target: subprocess.Popen[str]) -> None:
    """Have it execute the setuid program; a thread that is stopped by ptrace will do so when it goes on."""
    target.send_signal(signal.SIGUSR2)
    until = time.monotonic() + 60
    while not select.select([target.stdout], [], [], 0.01)[0] and stat_fields(target.pid)[0] != b"t":
        assert time.monotonic() < until


def test_at_each_step_of_the_attacher_the_new_program_gets_nothing(program: Path, library: Path) -> None:
    """The attacher is held after each of its calls in turn, and the target executes the program meanwhile."""
    refused = 0
    for call in itertools.count(1, HELD_CALLS):
        with subprocess.Popen(
            [sys.executable, "-c", _USER, str(program)], stdout=subprocess.PIPE, text=True
        ) as target:
            assert target.stdout is not None
            assert target.stdout.readline() == "user\n"
            attacher = subprocess.Popen(
                [sys.executable, str(HERE / "held_attacher.py"), str(library), str(target.pid), str(call)],
                stdout=subprocess.PIPE, text=True, env={**os.environ, "LD_PRELOAD": str(library)},
            )  # fmt: skip
            _wait(attacher, "T")
            if attacher.poll() is None:
                _execute_soon(target)
                attacher.send_signal(signal.SIGCONT)
            held, _, answer = attacher.communicate(timeout=60)[0].rstrip("\n").partition(" ")
            refused += answer != str(STRANGER)
            assert answer != "0", f"call {call}: the code ran as root"
            assert answer == str(STRANGER) or "process" in answer, f"call {call}: {answer}"
            if not held:
                target.kill()
                break
            assert target.stdout.readline() == "root\n"
            assert len(os.listdir(f"/proc/{target.pid}/task")) == 1
            target.send_signal(signal.SIGUSR1)
            assert target.wait(60) == 7
    assert call > 10
    assert refused
