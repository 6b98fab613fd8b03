"""The figures of attaching: how long it takes, how long the program is stopped, and what another user costs.

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

# Serves a control socket as the user of its argument, who may be unable to read our modules.
_SERVES = """
import ctypes, importlib, os, pkgutil, sys, time
import funcgraph._environ, funcgraph._system
for package in ("control", "events", "instance", "session", "tracefs"):
    folder = importlib.import_module(f"funcgraph.{package}")
    for module in pkgutil.iter_modules(folder.__path__):
        importlib.import_module(f"funcgraph.{package}.{module.name}")
user = int(sys.argv[1])
if user:
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: its /proc files are its own
funcgraph.serve()
def work():
    time.sleep(0.001)
print("ready", flush=True)
while True:
    work()
"""
_ANOTHER_USER, _HELPER_MS, _PAIRS = 12_399, 20, 3


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


def _wait_for_record(process: Connection, name: bytes) -> None:
    pipe = process.open("trace_pipe", os.O_RDONLY)
    try:
        while True:
            try:
                if name in pipe.read(0, 4096):
                    return
            except BlockingIOError:
                time.sleep(0.0005)
    finally:
        pipe.close()


@contextmanager
def _running(bench: Bench, text: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A program that has printed its first line."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([bench.python, "-c", text, *words], **pipes) as program:
        assert program.stdout is not None
        program.stdout.readline()
        try:
            yield program
        finally:
            program.kill()


def _detach(pid: int) -> None:
    with connect(pid) as process:
        process.call("detach")


def times(bench: Bench, text: str, pattern: str, name: str) -> tuple[float, float, float]:
    """Attach to a busy program; return the seconds until its first record, of its stops, and of detaching.

    Args:
        text: the program, which prints a line before it is busy.
        pattern: what is recorded.
        name: what is in each record.
    """
    with _running(bench, text) as program:
        begin = time.perf_counter()
        with _Stops(program.pid) as stops:
            attach(program.pid)
        with connect(program.pid) as process:
            process.write_text("set_ftrace_filter", pattern)
            process.write_text("current_tracer", "function_graph")
            _wait_for_record(process, name.encode())
        recorded = time.perf_counter()
        _detach(program.pid)
        return recorded - begin, stops.seconds, time.perf_counter() - recorded


def attaching(bench: Bench) -> Iterator[Figure]:
    """Measure attaching to a program that calls a function all the time, and detaching from it."""
    programs = {"service": _SERVICE + _BUSY, "program that has loaded nothing": _BUSY}
    for name, text in programs.items():
        rounds = [times(bench, text, "*work", "work") for _ in range(bench.rounds)]
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


def another_user(bench: Bench) -> Iterator[Figure]:
    """Compare recordings of another user's process with those of an own one: root alone makes them."""
    if os.geteuid() != 0:
        return

    def record_s(pid: int) -> float:
        words = ["record", "-q", "-P", str(pid), "-l", "*work", "-o", "another.fg", "--", "true"]
        return bench.cost([bench.python, "-m", "funcgraph", *words]).cpu_s

    with _running(bench, _SERVES, "0") as own, _running(bench, _SERVES, str(_ANOTHER_USER)) as other:
        more = [record_s(other.pid) - record_s(own.pid) for _ in range(_PAIRS * bench.rounds)]
    name = "recording a process of another user, start to end: processor time more than of an own one"
    yield at_most(name, statistics.median(more) * 1000, _HELPER_MS, " ms", 0)


ALL: dict[str, Callable[[Bench], Iterator[Figure]]] = {
    "attaching": attaching,
    "attached": attached,
    "another-user": another_user,
}
