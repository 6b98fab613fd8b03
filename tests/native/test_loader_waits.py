"""Whoever loads an object waits until its functions are hooked: not for ever, and is told of a long wait.

The helper that makes plans is planted: a script that waits before it becomes the real one.

Broken by hand: without a limit, the program hung; without its SIGKILL, the helper was left; without errno's
old value, it was EINTR; with notes that replace each other, one of two libraries was told of.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from conftest import Funcgraph
from counter import COUNTER, program
from planned import build, needs_plans

pytestmark = needs_plans

WAITED = r"libcounter: its loader waited (\d+\.\d\d) s for the hooks"


@pytest.fixture(autouse=True)
def _fresh_cache(fg: Funcgraph, tmp_path: Path) -> None:
    fg.env["XDG_CACHE_HOME"] = str(tmp_path / "cache")  # a helper must run


def helper_that(folder: Path, begins: str) -> str:
    """Return the path of a helper that begins with a command of the shell."""
    path = folder / "helper"
    path.write_text(f'#!/bin/sh\n{begins}\nexec {sys.executable} "$@"\n')
    path.chmod(0o755)
    return str(path)


def told_in_program(fg: Funcgraph, folder: Path, planted: str) -> list[str]:
    """Run a program that loads a library twice, and has planted something.

    Returns:
        how many functions were hooked and what the library computed, and what the program was told.
    """
    printed = program(
        fg,
        folder,
        f"""
    import os, signal, types, warnings
    from funcgraph.native import hooking
    {planted}
    signals = []
    signal.signal(signal.SIGCHLD, lambda *args: signals.append(args))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with Instance("x", tracer="function_graph", filter=["walk:mod:*counter"]) as instance:
            library = load()
            load()
            print(sum(state[2] for state in _engine.native_functions()), library.walk(5))
    print(*(f"{{warning.category.__name__}}: {{warning.message}}" for warning in told), sep="\\n")
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        print("no child", signals)
    """,
    )
    *told, after = printed.splitlines()
    assert after == "no child []"
    return [line for line in told if line]


def test_a_helper_that_takes_150_ms_is_told_once(fg: Funcgraph, tmp_path: Path) -> None:
    helper = helper_that(tmp_path, "sleep 0.15")
    hooked, told = told_in_program(fg, tmp_path, f"sys.executable = {helper!r}")
    assert hooked == "1 5"
    waited = re.fullmatch(f"RuntimeWarning: funcgraph: {WAITED}", told)
    assert waited and float(waited[1]) >= 0.15


@pytest.mark.parametrize(("waited_s", "is_told"), [(0.1, False), (0.11, True)])
def test_up_to_100_ms_nothing_is_said(fg: Funcgraph, tmp_path: Path, waited_s: float, is_told: bool) -> None:
    clock = f"hooking.time = types.SimpleNamespace(monotonic=iter([0.0, {waited_s}]).__next__)"
    hooked, *told = told_in_program(fg, tmp_path, clock)
    assert hooked == "1 5"
    assert (
        told
        == [f"RuntimeWarning: funcgraph: libcounter: its loader waited {waited_s:.2f} s for the hooks"][
            : int(is_told)
        ]
    )


def test_a_helper_that_never_ends_is_killed(fg: Funcgraph, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    helper = helper_that(tmp_path, f"read word < {pipe}")  # nobody writes
    planted = f"sys.executable = {helper!r}; hooking._LIMIT_S = 0.3"
    hooked, told = told_in_program(fg, tmp_path, planted)
    assert hooked == "0 5"
    refusal = "libcounter: no plan within 0.3 s: `funcgraph plan` makes it ahead"
    assert told == f"RuntimeWarning: funcgraph: {refusal}"
    assert not [words for words in command_lines() if helper in words]


def command_lines() -> list[str]:
    """Return the words of each process, of those that have not ended."""
    found = []
    for path in Path("/proc").glob("[1-9]*/cmdline"):
        try:
            found.append(path.read_text(errors="replace"))
        except OSError:
            pass  # it has ended
    return found


def test_an_interrupted_wait_keeps_errno(fg: Funcgraph, tmp_path: Path) -> None:
    printed = program(
        fg,
        tmp_path,
        """
    import signal
    location = ctypes.CDLL(None).__errno_location
    location.restype = ctypes.POINTER(ctypes.c_int)
    errno = location()
    hits = []
    signal.signal(signal.SIGALRM, lambda *args: hits.append(errno[0]))
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    errno[0] = 77
    status = _engine.native_run((b"/bin/sh", b"-c", b"sleep 0.2; exit 5"), (b"PATH=/usr/bin:/bin",), 60.0)
    kept = errno[0]
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(status, kept, bool(hits))
    """,
    )
    assert printed == "5 77 True\n"


def test_a_recording_tells_of_each_object(fg: Funcgraph, tmp_path: Path) -> None:
    """Behind the notes that a process has left before: each says what it has to say."""
    paths = [
        build(tmp_path, COUNTER, "-Wl,--build-id", f"-Wl,-soname,{name}", language="c", name=name)
        for name in ("libcounter.so", "libother.so")
    ]
    helper = helper_that(tmp_path, "sleep 0.15")
    script = fg.script(f"""
    import ctypes, sys
    sys.executable = {helper!r}
    for path in sys.argv[1:]:
        print(ctypes.CDLL(path).walk(5))
    """)
    done = fg.record("-l", "__main__.*", "-l", "walk:mod:libcounter", "-l", "walk:mod:lib*r", script, *paths)
    assert done.stdout == "5\n5\n"
    (line,) = [line for line in done.stderr.splitlines() if "waited" in line]
    other = WAITED.replace("counter", "other")
    assert re.fullmatch(rf"funcgraph: process \d+: {WAITED}; {other}", line)
    report = fg.run("report").stdout
    assert "walk [libcounter]" in report and "walk [libother]" in report


def test_a_recording_tells_of_a_helper_that_never_ends(fg: Funcgraph, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    path = build(tmp_path, COUNTER, "-Wl,--build-id", language="c", name="libcounter.so")
    script = fg.script(f"""
    import ctypes, sys
    from funcgraph.native import hooking
    hooking._LIMIT_S = 0.3
    sys.executable = {helper_that(tmp_path, f"read word < {pipe}")!r}
    print(ctypes.CDLL(sys.argv[1]).walk(5))
    """)
    done = fg.record("-l", "__main__.*", "-l", "walk:mod:libcounter", script, path)
    assert (done.returncode, done.stdout) == (0, "5\n")
    refusal = "libcounter: no plan within 0.3 s: `funcgraph plan` makes it ahead"
    assert re.search(rf"^funcgraph: process \d+: {refusal}$", done.stderr, re.MULTILINE)
    assert "libcounter" not in fg.run("report").stdout
