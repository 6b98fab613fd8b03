"""A pending call that was queued is called or taken back before its code goes."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from types import SimpleNamespace

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
from funcgraph.attach.target import find_target

SPINS = """
import ctypes
library = ctypes.PyDLL({library!r})
library.spin()
while True:
    sum(range(50))
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_a_call_that_is_still_queued_is_taken_back_when_the_text_was_started_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken: from CPython 3.14 on the debugger's request may start the text first. The call was taken for
    done, its code was removed, and the main thread called it: the program died of SIGSEGV."""
    enter, places = _inject.enter, []

    def note(*arguments: object) -> tuple[bool, str]:
        places.append(enter(*arguments))  # type: ignore[arg-type]
        return places[-1]

    monkeypatch.setattr(_inject, "enter", note)
    library = compile_library(tmp_path, Path(__file__).parent / "spin.c")
    with Running(SPINS.format(library=str(library))) as program:
        code = code_pages(program.pid)
        deadline = Deadline(60)
        process = Process(program.pid, deadline)
        target = find_target(process)
        with (
            access_to(process.identity) as access,
            Exchange(process, access) as exchange,
            Injection(target, "raise SystemExit", exchange, LoaderLock(target), deadline) as injection,
        ):
            assert injection.run_until(lambda: (True, "queues") in places, deadline)
        process.close()
        assert code_pages(program.pid) == code
        os.kill(program.pid, signal.SIGUSR2)
        assert run_in(program.pid, "answer = 1", 60) == "1"
        assert program.end() == (7, "", "")


class SlowPlace:
    """A stub that the main thread leaves at the third look; `steps`: what was done, in order."""

    def __init__(self, looks: int) -> None:
        self.steps: list[str] = []
        self._looks = looks

    def is_in_use(self, threads: list[int]) -> bool:
        self._looks -= 1
        self.steps.append("in use" if self._looks > 0 else "left")
        return self._looks > 0

    def unqueue(self) -> None:
        self.steps.append("unqueue")

    def clear(self, content: bytes) -> bool:
        self.steps.append("clear")
        return True


def test_a_call_is_taken_back_only_after_the_main_thread_has_queued_it() -> None:
    """Broken: on a loaded machine the main thread had not run yet since it was sent into the stub. The call
    was not in the queue when it was looked for, came there afterwards, and led into code that was gone."""
    injection = Injection.__new__(Injection)
    injection._queued_at, injection._content = 1.0, b""
    injection._entered, injection._before = set(), set()
    injection._deadline = Deadline(60)
    process = SimpleNamespace(threads=lambda: [1])
    injection._target = SimpleNamespace(process=process)  # type: ignore[assignment]
    injection._place = place = SlowPlace(3)  # type: ignore[assignment]
    injection._restore()
    assert place.steps == ["in use", "in use", "left", "unqueue", "left", "clear"]
