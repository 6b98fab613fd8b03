"""`funcgraph attach` and `funcgraph detach`, on a program that never heard of funcgraph."""

from __future__ import annotations

import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from running import PROGRAMS, Running

import funcgraph
from funcgraph.control.client import connect
from funcgraph.version import installed_version


def command(*words: object) -> tuple[int, str, str]:
    """Run funcgraph with these words; return its exit status and output."""
    done = subprocess.run(
        [sys.executable, "-m", "funcgraph", *map(str, words)], capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stdout, done.stderr


def test_a_program_is_attached_to_once_and_can_be_steered() -> None:
    with Running(PROGRAMS["busy"]) as program:
        assert command("attach", program.pid) == (0, f"process {program.pid}: attached\n", "")
        message = f"process {program.pid}: was attached already\n"
        assert command("attach", program.pid) == (0, message, "")
        with connect(program.pid) as process:
            process.write_text("set_ftrace_filter", "*squares")
            assert process.read_text("set_ftrace_filter") == "__main__.squares\n"
        assert program.end() == (7, "", "")


def test_what_attaches_is_none_of_the_functions_of_the_program() -> None:
    """Broken: the code that was sent had a module name of its own, which was not taken for ours."""
    with Running(PROGRAMS["busy"]) as program:
        assert command("attach", program.pid)[0] == 0
        with connect(program.pid) as process:
            names = process.read_text("available_filter_functions").splitlines()
    assert "__main__.squares" in names
    assert not [name for name in names if "funcgraph" in name]


def test_an_attached_program_that_forks_gets_no_warning_of_threads() -> None:
    """It forks all the time, also while it is attached to, and imports what has functions around forks."""
    program = """
import os, warnings
warned = []
warnings.showwarning = lambda *words: warned.append(words)
warnings.simplefilter("always")
def fork():
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
def check(*_):
    warned.clear()
    import logging
    for _ in range(30):
        fork()
    os._exit(len(warned))  # an exception may be lost in a function around a fork
signal.signal(signal.SIGUSR2, check)
ready()
while True:
    fork()
"""
    with Running(program) as running:
        assert command("attach", running.pid) == (0, f"process {running.pid}: attached\n", "")
        running.process.send_signal(signal.SIGUSR2)
        assert running.process.wait(60) == 0


def test_what_cannot_be_attached_to_is_said_and_the_others_are() -> None:
    with Running(PROGRAMS["sleeping"]) as program:
        sleep = subprocess.Popen(["sleep", "1000"])
        try:
            status, output, errors = command("attach", sleep.pid, program.pid)
        finally:
            sleep.kill()
            sleep.wait()
        assert (status, output) == (2, f"process {program.pid}: attached\n")
        assert errors.count("\n") == 1
        assert errors.startswith(f"funcgraph: process {sleep.pid}: ")
        assert program.end() == (7, "", "")


@pytest.mark.one_python
def test_a_process_that_is_not_there_is_told_once() -> None:
    none = 2**22 + 1
    for verb in ("attach", "detach"):
        assert command(verb, none) == (2, "", f"funcgraph: process {none}: there is no such process\n")
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # a zombie
        assert command("attach", child.pid) == (2, "", f"funcgraph: process {child.pid}: it has ended\n")


@pytest.mark.one_python
@pytest.mark.parametrize("seconds", ["nan", "inf", "0", "-1", "x"])
def test_a_time_that_is_none_is_refused(seconds: str) -> None:
    """Broken by `nan`, which no time is later than: the command would try for ever."""
    status, _, error = command("attach", "--timeout", seconds, 2**22 + 1)
    assert (status, error.count("\n")) == (2, 1)
    assert "--timeout" in error and seconds in error


@pytest.mark.one_python
def test_detach_takes_patterns_and_children_as_other_verbs_do() -> None:
    program = """
import os, time
mark = "detach-me-{mark}"
child = os.fork()
if child == 0:
    time.sleep(1000)
def end(number, frame):
    os.kill(child, signal.SIGKILL)
    sys.exit(7)
signal.signal(signal.SIGUSR1, end)
ready()
time.sleep(1000)
"""
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    with Running(program.format(mark=mark)) as running:
        (child,) = map(int, Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split())
        for words in (["-P", str(running.pid), "--children"], ["-P", f"detach-me-{mark}"]):
            assert command("attach", running.pid, child)[0] == 0
            lines = {f"process {pid}: detached" for pid in (running.pid, child)}
            status, output, errors = command("detach", *words)
            assert (status, set(output.splitlines()), errors) == (0, lines, "")
        assert command("detach") == (2, "", "funcgraph: from which processes? Give their ids, or -P\n")
        assert running.end() == (7, "", "")


def test_detaching_from_a_program_that_is_not_attached_does_nothing() -> None:
    with Running(PROGRAMS["sleeping"]) as program:
        assert command("detach", program.pid) == (0, f"process {program.pid}: is not attached\n", "")
        assert program.end() == (7, "", "")


@pytest.mark.one_python
def test_a_python_without_funcgraph_gets_ours_and_keeps_its_path() -> None:
    """`-S -I`: its site-packages are not on sys.path. The module is found all the same."""
    program = """
import sys
before = list(sys.path)
def end(number, frame):
    sys.exit(7 if sys.path == before else str(sys.path))
signal.signal(signal.SIGUSR1, end)
ready()
while True:
    sum(range(50))
"""
    base = Path(getattr(sys, "_base_executable", sys.executable))
    with Running(program, command=(str(base), "-S", "-I")) as running:
        assert command("attach", running.pid) == (0, f"process {running.pid}: attached\n", "")
        with connect(running.pid) as process:
            assert json.loads(json.dumps(process.call("info")))["funcgraph"] == funcgraph.__version__
        assert running.end() == (7, "", "")


@pytest.mark.one_python
def test_what_is_missing_is_named_with_the_command_that_helps(tmp_path: Path) -> None:
    """A funcgraph of another Python lies where ours would be: nothing of it is loaded."""
    (tmp_path / "funcgraph").mkdir()
    (tmp_path / "funcgraph" / "__init__.py").write_text("raise AssertionError('loaded')")
    from funcgraph.attach.inject import run_in
    from funcgraph.attach.serving import LOADING

    base = Path(getattr(sys, "_base_executable", sys.executable))
    with Running(PROGRAMS["sleeping"], command=(str(base), "-S", "-I")) as running:
        error = run_in(running.pid, f"{LOADING}\nanswer = serve_with({str(tmp_path)!r})", 30)
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        assert error.startswith(f"its CPython {version}")
        assert error.endswith("-m pip install funcgraph'")
        assert running.end() == (7, "", "")


#: What costs a command milliseconds that need not import it.
_HEAVY = {
    "dataclasses", "inspect", "importlib.metadata", "email.message", "concurrent.futures", "subprocess",
    "funcgraph.events.recording_events", "funcgraph.definitions.definition",
}  # fmt: skip


def _imported(*words: object) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}


def test_recording_a_running_program_imports_little(tmp_path: Path) -> None:
    """Most of the time until the first record went into imports."""
    python = _imported("-c", "import argparse; argparse.ArgumentParser().format_help()")
    with Running(PROGRAMS["sleeping"]) as program:
        options = ("-q", "-P", program.pid, "-o", tmp_path / "t.fg")
        found = _imported("-m", "funcgraph", "record", *options, "--", "true")
        assert "funcgraph.attach.inject" in found
        assert not _HEAVY & (found - python)
        assert program.end() == (7, "", "")


def test_the_version_is_that_of_the_installed_distribution() -> None:
    assert installed_version() == importlib.metadata.version("funcgraph")
