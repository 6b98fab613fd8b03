"""A pending call that was queued is called or taken back before its code goes."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest
from extension import compile_library
from running import Running, code_pages

from funcgraph import _inject
from funcgraph.attach.access import access_to
from funcgraph.attach.by_ptrace import Injection
from funcgraph.attach.deadline import Deadline
from funcgraph.attach.exchange import Exchange
from funcgraph.attach.inject import run_in
from funcgraph.attach.loader_lock import LoaderLock
from funcgraph.attach.process import Process
from funcgraph.attach.stub_place import StubPlace
from funcgraph.attach.target import find_target

SPINS = """
import ctypes
library = ctypes.PyDLL({library!r})
library.spin()
while True:
    sum(range(50))
"""


@pytest.fixture
def spin(tmp_path: Path) -> Path:
    """Return the library of spin.c."""
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    return compile_library(tmp_path, Path(__file__).parent / "spin.c")


def queue_and_leave(pid: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the main thread of a process queue a call, and leave it as if something else had run the text."""
    enter, places = _inject.enter, []

    def note(*arguments: object) -> tuple[bool, str]:
        places.append(enter(*arguments))  # type: ignore[arg-type]
        return places[-1]

    monkeypatch.setattr(_inject, "enter", note)
    deadline = Deadline(60)
    process = Process(pid, deadline)
    target = find_target(process)
    with (
        access_to(process.identity) as access,
        Exchange(process, access) as exchange,
        Injection(target, "raise SystemExit", exchange, LoaderLock(target), deadline) as injection,
    ):
        assert injection.run_until(lambda: (True, "queues") in places, deadline)
    process.close()


def test_a_call_that_is_still_queued_is_taken_back_when_the_text_was_started_otherwise(
    spin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken: from CPython 3.14 on the debugger's request may start the text first. The call was taken for
    done, its code was removed, and the main thread called it: the program died of SIGSEGV."""
    with Running(SPINS.format(library=str(spin))) as program:
        code = code_pages(program.pid)
        queue_and_leave(program.pid, monkeypatch)
        assert code_pages(program.pid) == code
        os.kill(program.pid, signal.SIGUSR2)
        assert run_in(program.pid, "answer = 1", 60) == "1"
        assert program.end() == (7, "", "")


def test_a_call_is_not_taken_back_before_its_thread_has_queued_it(
    spin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken: on a loaded machine the thread had not run yet. Nothing was in the queue, the thread put the
    call there, and the main thread called what was no longer there."""
    is_in_use, unqueue = StubPlace.is_in_use, StubPlace.unqueue
    steps: list[str] = []

    def is_still_in_use(place: StubPlace, threads: list[int] | None = None) -> bool:
        steps.append("look")
        return len(steps) < 3 or is_in_use(place, threads)

    def note_unqueue(place: StubPlace) -> None:
        steps.append("unqueue")
        unqueue(place)

    monkeypatch.setattr(StubPlace, "is_in_use", is_still_in_use)
    monkeypatch.setattr(StubPlace, "unqueue", note_unqueue)
    with Running(SPINS.format(library=str(spin))) as program:
        queue_and_leave(program.pid, monkeypatch)
        os.kill(program.pid, signal.SIGUSR2)
        assert program.end() == (7, "", "")
    assert steps.index("unqueue") >= 3
