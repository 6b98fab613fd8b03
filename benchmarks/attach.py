"""The figures of attaching: how long it takes, and how long the program is stopped for it.

The program is stopped only inside the functions of funcgraph._inject. Their time is an upper bound.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.harness import Bench, Figure, at_most
from funcgraph import _inject
from funcgraph.attach.serving import attach
from funcgraph.control.client import Connection, connect

_FIRST_RECORD_MS, _STOPPED_MS, _DETACH_MS = 150, 10, 50
# What most services have loaded.
_SERVICE = "import asyncio, http.server, json, logging\n"
_BUSY = """
def work(n):
    return n + 1
print("ready", flush=True)
while True:
    for number in range(1000):
        work(number)
"""


# For each line that it reads: makes so many times 20,000 calls, and prints the least processor time of
# 20,000, which is that of an undisturbed moment.
_CALLS = """
import time
def work(n):
    return n + 1
def calls():
    begin = time.thread_time_ns()
    for number in range(20_000):
        work(number)
    return time.thread_time_ns() - begin
print("ready", flush=True)
while line := input():
    print(min(calls() for _ in range(int(line))), flush=True)
"""
_TIMES = 300


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
            setattr(_inject, name, self._timed(name, self._functions[name]))
        return self

    def __exit__(self, *exception: object) -> None:
        for name, function in self._functions.items():
            setattr(_inject, name, function)

    def _timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*words: Any) -> Any:
            begin = time.perf_counter()
            try:
                return function(*words)
            finally:
                if name != "is_inside" or words[1] == self.pid:  # enter() stops the main thread, too
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


@contextmanager
def _running(bench: Bench, text: str) -> Iterator[subprocess.Popen[str]]:
    """A program that has printed its first line."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([bench.python, "-c", text], **pipes) as program:
        assert program.stdout is not None
        program.stdout.readline()
        try:
            yield program
        finally:
            program.kill()


def _detach(pid: int) -> None:
    with connect(pid) as process:
        process.call("detach")


def _times(bench: Bench, text: str) -> tuple[float, float, float]:
    """Attach to a busy program; return the seconds until its first record, of its stops, and of detaching."""
    with _running(bench, text) as program:
        begin = time.perf_counter()
        with _Stops(program.pid) as stops:
            attach(program.pid)
        with connect(program.pid) as process:
            process.write_text("set_ftrace_filter", "*work")
            process.write_text("current_tracer", "function_graph")
            _wait_for_record(process)
        recorded = time.perf_counter()
        _detach(program.pid)
        return recorded - begin, stops.seconds, time.perf_counter() - recorded


def attaching(bench: Bench) -> Iterator[Figure]:
    """Measure attaching to a program that calls a function all the time, and detaching from it."""
    programs = {"service": _SERVICE + _BUSY, "program that has loaded nothing": _BUSY}
    for name, text in programs.items():
        rounds = [_times(bench, text) for _ in range(bench.rounds)]
        first, stopped, detached = (statistics.median(column) * 1000 for column in zip(*rounds, strict=True))
        yield at_most(
            f"attaching to a busy {name}, until its first record", first, _FIRST_RECORD_MS, " ms", 0
        )
        yield at_most("  of which it is stopped, at most", stopped, _STOPPED_MS, " ms", 1)
        yield at_most("detaching from it while it records", detached, _DETACH_MS, " ms", 0)


def attached(bench: Bench) -> Iterator[Figure]:
    """Compare a program that is attached to, with nothing selected, with itself when it is not."""
    with _running(bench, _CALLS) as program:

        def processor_ns() -> int:
            assert program.stdin is not None
            assert program.stdout is not None
            program.stdin.write(f"{bench.sized(_TIMES)}\n")
            program.stdin.flush()
            return int(program.stdout.readline())

        ratios = []
        for _ in range(bench.rounds):
            without = processor_ns()
            attach(program.pid)
            ratios.append(processor_ns() / without)
            _detach(program.pid)
    ratio = round(statistics.median(ratios), 2)
    yield at_most("attached, nothing selected: time of calls, of just before", ratio, 1.00, " x")


ALL: dict[str, Callable[[Bench], Iterator[Figure]]] = {"attaching": attaching, "attached": attached}
