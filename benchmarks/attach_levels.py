"""The figures of attaching to programs that only compute, on each CPython of the machine.

No safe moment may be a matter of luck: of the stack's depth, of what earlier calls have left on it, or of how
the interpreter was compiled.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.harness import Bench, Figure
from funcgraph.attach.errors import AttachError
from funcgraph.attach.inject import run_in
from tools import pythons
from tools.layout import SID

_LEVELS = (0, 3, 10, 30, 50)
_TRIES = 10
_LIMIT_S = 2.0
#: Twice through C code at each level: map's, and list's.
_COMPUTES = """
def work(x):
    return x * 2
def go(level):
    if level == 0:
        print("ready", flush=True)
        while True:
            work(1)
    return list(map(go, [level - 1]))
go({level})
"""
#: The distribution's own, which others of the same version on PATH would hide.
_DISTRIBUTION = Path("/usr/bin/python3")


def _pythons() -> Iterator[tuple[str, Sequence[str | Path]]]:
    """Yield the name and the command of each CPython that is here."""
    found = list(pythons.find().values())
    for python in found:
        place = f" in {SID}" if python.inside else ""
        yield f"{python.release}, {python.executable}{place}", [*python.inside, python.executable]
    own = pythons.probe(_DISTRIBUTION)
    if own is not None and own.executable.resolve() not in {one.executable.resolve() for one in found}:
        yield f"{own.release}, {own.executable}", [own.executable]


def _seconds(pid: int) -> float | None:
    """Attach once; return how long it took, or None: it did not work in time."""
    begin = time.perf_counter()
    try:
        run_in(pid, "answer = 1", _LIMIT_S)
    except AttachError:
        return None
    return time.perf_counter() - begin


def _times(command: Sequence[str | Path], level: int) -> list[float]:
    """Return how long the attaches took that worked."""
    words = [*command, "-c", _COMPUTES.format(level=level)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        program.stdout.readline()
        try:
            return [seconds for _ in range(_TRIES) if (seconds := _seconds(program.pid)) is not None]
        finally:
            program.kill()


def computing(bench: Bench) -> Iterator[Figure]:
    """Measure whether each attach works, and the longest."""
    del bench  # the number of tries is part of the promise
    for name, command in _pythons():
        times = {level: _times(command, level) for level in _LEVELS}
        longest = max((max(found, default=0.0) for found in times.values()), default=0.0)
        worked = " ".join(str(len(found)) for found in times.values())
        yield Figure(
            f"attaches to a program that computes at {', '.join(map(str, _LEVELS))} levels: {name}",
            f"{worked} of {_TRIES}, ≤ {longest:.2f} s",
            f"all, ≤ {_LIMIT_S:g} s",
            all(len(found) == _TRIES for found in times.values()) and longest <= _LIMIT_S,
        )


ALL: dict[str, Callable[[Bench], Iterator[Figure]]] = {"computing": computing}
