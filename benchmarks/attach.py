"""The figures of attaching: how long it takes, and how long the program is stopped for it.

The program is stopped only inside the functions of funcgraph._inject. Their time is an upper bound.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.harness import Bench, Figure, at_most
from funcgraph import _inject
from funcgraph.attach.serving import attach
from funcgraph.control.client import Connection, connect

_FIRST_RECORD_MS, _STOPPED_MS = 150, 10
_BUSY = """
def work(n):
    return n + 1
print("ready", flush=True)
while True:
    for number in range(1000):
        work(number)
"""


class _Stops:
    """Adds up the time in the functions that stop a program's main thread.

    Args:
        pid: the program.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.seconds = 0.0

    def __enter__(self) -> _Stops:
        self._functions: dict[str, Callable[..., Any]] = {}
        for name in ("enter", "is_inside", "replace"):
            self._functions[name] = getattr(_inject, name)
            setattr(_inject, name, self._timed(self._functions[name]))
        return self

    def __exit__(self, *exception: object) -> None:
        for name, function in self._functions.items():
            setattr(_inject, name, function)

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*words: Any) -> Any:
            begin = time.perf_counter()
            try:
                return function(*words)
            finally:
                if words[0] == self.pid:  # the thread, or the process whose main thread is stopped, too
                    self.seconds += time.perf_counter() - begin

        return timed


def _wait_for_record(process: Connection) -> None:
    pipe = process.open("trace_pipe", os.O_RDONLY)
    try:
        while True:
            try:
                if b"work" in pipe.read(0, 4096):
                    return
            except BlockingIOError:
                time.sleep(0.0005)
    finally:
        pipe.close()


def _first_record(bench: Bench) -> tuple[float, float]:
    """Attach to a busy program; return the seconds until its first record, and those of its stops."""
    program = subprocess.Popen([bench.python, "-c", _BUSY], stdout=subprocess.PIPE, text=True)
    try:
        assert program.stdout is not None
        program.stdout.readline()
        begin = time.perf_counter()
        with _Stops(program.pid) as stops:
            attach(program.pid)
        with connect(program.pid) as process:
            process.write_text("set_ftrace_filter", "*work")
            process.write_text("current_tracer", "function_graph")
            _wait_for_record(process)
        return time.perf_counter() - begin, stops.seconds
    finally:
        program.kill()
        program.wait()


def attaching(bench: Bench) -> Iterator[Figure]:
    """Measure attaching to a program that calls a function all the time."""
    rounds = [_first_record(bench) for _ in range(bench.rounds)]
    first, stopped = (statistics.median(column) * 1000 for column in zip(*rounds, strict=True))
    yield at_most("attaching to a busy program, until its first record", first, _FIRST_RECORD_MS, " ms", 0)
    yield at_most("  of which the program is stopped, at most", stopped, _STOPPED_MS, " ms", 1)


ALL: dict[str, Callable[[Bench], Iterator[Figure]]] = {"attaching": attaching}
