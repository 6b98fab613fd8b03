"""Where a stopped thread is, is known: dead addresses on its stack mean nothing, true callers are found."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from extension import compile_library
from running import PROGRAMS, Running

from funcgraph import _inject
from funcgraph.attach.errors import AttachError
from funcgraph.attach.inject import run_in

HERE = Path(__file__).parent
DEBIAN = "/usr/bin/python3"
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")

#: At the depth that follows, `go()`: compute, or wait.
_GO = {
    "computing": "while True: pass",
    "waiting": "import time; time.sleep(1000)",
}
_LEVELS = """
def go(level):
    if level == 0:
        ready()
        while True:
            work(1)
    return list(map(go, [level - 1]))
def work(x):
    return x * 2
go({})
"""
_SHORT_CALLS = """
import os
ready()
while True:
    os.getppid()
"""
_DEAD_WORDS = """
import ctypes, os
signal.signal(signal.SIGUSR1, lambda *_: os._exit(7))  # ctypes drops exceptions
library = ctypes.PyDLL({library!r})
assert library.nr_dead_words() > 100
kind = ctypes.PYFUNCTYPE(None)
def go(level):
    if level == 0:
        ready()
        {go}
    library.call_over_dead_words(kind(lambda: go(level - 1)))
go({level})
"""
_HELD = """
import ctypes
library = ctypes.CDLL(None)
library.{call}
ready()
while True:
    sum(range(50))
"""


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the places where threads were stopped, as the test goes on."""
    places: list[str] = []
    enter = _inject.enter

    def note(*arguments: Any) -> tuple[bool, str]:
        entered, place = enter(*arguments)
        places.append(place)
        return entered, place

    monkeypatch.setattr(_inject, "enter", note)
    return places


def _check(places: list[str], *others: str) -> None:
    """Check the places of a program that is in the loader only for a moment: when it binds a function.

    On a busy machine several stops find it in the same moment. One that is taken to be there for ever is
    stopped thousands of times.
    """
    assert set(places) <= {"waits", "lock", "queues", "kernel", "code", "loader", *others}
    assert places.count("loader") < 100


def _is_attachable(python: str) -> bool:
    check = "import sys; sys.exit(sys.version_info < (3, 11))"
    return Path(python).exists() and subprocess.run([python, "-c", check]).returncode == 0


@pytest.mark.parametrize("level", [0, 3, 10, 30, 50])
@pytest.mark.parametrize(
    "python",
    [
        pytest.param("", id="this"),
        pytest.param(
            DEBIAN,
            id="static",
            marks=[
                pytest.mark.one_python,
                pytest.mark.skipif(not _is_attachable(DEBIAN), reason="no python3 of the distribution"),
            ],
        ),
    ],
)
def test_a_program_that_computes_is_never_taken_to_be_in_the_loader(
    python: str, level: int, places: list[str]
) -> None:
    """The native levels move the stack over what the program's start has left there."""
    with Running(_LEVELS.format(level), command=(python or sys.executable,)) as program:
        assert [run_in(program.pid, "answer = 1", 30) for _ in range(10)] == ["1"] * 10
        assert program.end() == (7, "", "")
    _check(places)


def test_a_program_that_makes_short_system_calls_without_a_pause_is_attached_to() -> None:
    """Broken by calls that have ended: each stop finds such a thread there. 9 of 20 attaches failed."""
    with Running(_SHORT_CALLS) as program:
        assert [run_in(program.pid, "answer = 1", 30) for _ in range(10)] == ["1"] * 10
        assert program.end() == (7, "", "")


@needs_gcc
@pytest.mark.parametrize("level", [1, 4, 20])
@pytest.mark.parametrize("go", _GO)
def test_dead_addresses_in_live_frames_do_not_block(
    go: str, level: int, places: list[str], tmp_path: Path
) -> None:
    """Functions and return addresses of the loader and of malloc fill a frame at each level."""
    library = str(compile_library(tmp_path, HERE / "dead_words.c"))
    text = _DEAD_WORDS.format(library=library, level=level, go=_GO[go])
    with Running(text) as program:
        assert run_in(program.pid, "answer = 1", 30) == "1"
        assert program.end() == (7, "", "")
    _check(places)


@needs_gcc
@pytest.mark.parametrize(
    ("held", "call"),
    [
        pytest.param("loader", "dlopen({library!r}.encode(), 2)", id="loader"),
        pytest.param("loader-jit", "dlopen({library!r}.encode(), 2)", id="loader, under unknown code"),
        pytest.param("allocator", "malloc(54321)", id="malloc"),
    ],
)
def test_a_thread_inside_the_loader_or_malloc_is_never_taken(
    held: str, call: str, places: list[str], tmp_path: Path
) -> None:
    """It waits there in read(), with the GIL free: elsewhere it would be the best of places."""
    library = str(compile_library(tmp_path, HERE / "held.c"))
    variables = [f"HELD={held}", *([f"LD_PRELOAD={library}"] if held == "allocator" else [])]
    text = _HELD.format(call=call.format(library=library))
    command = ("env", *variables, sys.executable)
    with Running(text, command=command, first="held\n") as program:
        with pytest.raises(AttachError, match=r"in the dynamic loader|in malloc"):
            run_in(program.pid, "answer = 1", 1.0)
        assert set(places) <= {held.partition("-")[0], "kernel"}
        assert places.count("kernel") <= 3  # before it slept again
        assert program.process.stdin is not None
        assert program.process.stdout is not None
        program.process.stdin.write("x")
        program.process.stdin.flush()
        assert program.process.stdout.readline() == "ready\n"
        assert run_in(program.pid, "answer = 1", 30) == "1"
        assert program.end() == (7, "", "")


_LAYOUTS = {
    "fixed": ("setarch", "-R"),
    "large environment": ("env", f"FILL={'x' * 100_000}"),
    "bound at start": ("env", "LD_BIND_NOW=1"),
}


@pytest.mark.parametrize("name", ["busy", "allocating", "in C code", "sleeping", "in a lock"])
@pytest.mark.parametrize("layout", _LAYOUTS)
def test_no_layout_of_the_stack_matters(layout: str, name: str, places: list[str]) -> None:
    command = (*_LAYOUTS[layout], sys.executable)
    if shutil.which(command[0]) is None or subprocess.run([*_LAYOUTS[layout], "true"]).returncode:
        pytest.skip(f"{command[0]} is not there, or not allowed")
    with Running(PROGRAMS[name], command=command) as program:
        assert [run_in(program.pid, "answer = 1", 30) for _ in range(3)] == ["1"] * 3
        assert program.end() == (7, "", "")
    _check(places, "allocator")
