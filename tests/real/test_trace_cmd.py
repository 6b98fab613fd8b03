"""Stock trace-cmd prints one entry for each call and resume that funcgraph counted, and as many exits.

FUNCGRAPH_TRACE_CMD may name another trace-cmd than that of PATH.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Funcgraph
from sizes import share
from tracereader import read_trace, trace_dat
from workloads import environment, key_of, read_counts, record, silent_closes, warm

TRACE_CMD = os.environ.get("FUNCGRAPH_TRACE_CMD", "trace-cmd")
pytestmark = [
    pytest.mark.one_python,
    pytest.mark.skipif(shutil.which(TRACE_CMD) is None, reason="trace-cmd is not installed"),
]

TRACED = ["recursion", "generators", "coroutines", "exceptions", "classes", "threads"]
OPTIONS = [[], ["--args", "--retval", "--c-calls"]]
PROCESSES = """
    import multiprocessing, os, subprocess, sys, threading, warnings
    warnings.simplefilter("ignore")

    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    def gen(n):
        for i in range(n):
            yield fib(i)

    def fails(n):
        raise LookupError(n)

    def work(n):
        for _ in gen(n):
            pass
        try:
            fails(n)
        except LookupError:
            pass

    def threads(n):
        all = [threading.Thread(target=work, args=(n + i,), name=f"worker {i}") for i in range(4)]
        for thread in all: thread.start()
        for thread in all: thread.join()

    if __name__ == "__main__":
        if len(sys.argv) == 1:
            work(5)
            threads(6)
            pid = os.fork()
            if pid == 0:
                threads(4)
                os._exit(0)
            os.waitpid(pid, 0)
            subprocess.run([sys.executable, __file__, "child"], check=True)
            process = multiprocessing.get_context("spawn").Process(target=threads, args=(3,))
            process.start()
            process.join()
        else:
            threads(5)
"""


def trace_cmd(trace: Path, *words: str) -> Iterator[str]:
    """Return the lines that stock trace-cmd prints for a trace; it must print no warning."""
    with subprocess.Popen(
        [TRACE_CMD, "report", *words, "-i", str(trace_dat(trace))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="surrogateescape",
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stdout:
            yield line.rstrip("\n")
        assert process.stderr.read() == ""
    assert process.returncode == 0


def check(fg: Funcgraph, trace: Path) -> None:
    """Compare trace-cmd's output of a whole trace with that of an independent reader."""
    summary = fg.summary(trace)
    expected: Counter[str] = Counter()
    for function in summary["functions"]:
        expected[function["name"].replace(" ", "_")] += function["calls"] + function["resumes"]
    entries: Counter[str] = Counter()
    exits: Counter[str] = Counter()
    for line in trace_cmd(trace, "-R"):
        _, found, rest = line.partition(" func=")
        if found:
            name = rest.split(" ", 1)[0]
            (entries if "funcgraph_entry:" in line else exits)[name] += 1
    assert entries == +expected
    assert exits == entries
    # trace-cmd's graph has one line per entry: a leaf `f();`, or `f() {` with its `}`.
    opened = closed = leaves = 0
    for line in trace_cmd(trace):
        if line.endswith("{"):
            opened += 1
        elif line.endswith("}") or "} /*" in line:
            closed += 1
        elif line.endswith(");"):
            leaves += 1
    assert opened == closed
    assert opened + leaves == entries.total()
    nested(trace)
    functions, _ = read_counts(fg, trace)
    ours: Counter[tuple[str, int, str]] = Counter()
    parsed = read_trace(trace)
    for event in parsed.events:
        if event.type == 11:
            func, _ = event.fields("II")
            key = key_of(parsed, func)
            if key[0]:
                ours[key] += 1
    ours.subtract(silent_closes(trace))
    assert ours == functions


def nested(trace: Path) -> None:
    """Assert that in each task every exit matches the newest open entry, in depth and time."""
    stacks: dict[int, list[tuple[int, int]]] = defaultdict(list)
    below: dict[int, int] = {}  # a forked child begins in the middle of its parent's calls
    for event in read_trace(trace).events:
        stack = stacks[event.tid]
        if event.type == 11:
            func, depth = event.fields("II")
            assert depth == len(stack) + below.setdefault(event.tid, depth)
            stack.append((func, event.time))
        elif event.type == 10:
            func, depth, calltime, rettime = event.fields("IIQQ")
            opened, time = stack.pop()
            assert (opened, len(stack) + below[event.tid]) == (func, depth)
            # A wait for the recorder counts in no call's time: calltime is moved by it.
            assert time <= calltime <= rettime == event.time
    assert not any(stacks.values())
    assert sum(depth > 0 for depth in below.values()) <= 1


@pytest.mark.parametrize(("program", "options"), share(TRACED, OPTIONS, of=2))
def test_program(fg: Funcgraph, program: str, options: list[str]) -> None:
    fg.env = environment(fg)
    warm(fg, program)  # from 3.14 on compiling it warns (PEP 765)
    check(fg, record(fg, program, "work", *options))


def test_threads_and_processes(fg: Funcgraph) -> None:
    script = fg.script(PROCESSES)
    result = fg.record("-q", sys.executable, "-B", script)
    assert result.returncode == 0, result.stderr
    check(fg, fg.trace)
    calls = fg.calls()
    # Work in: this process (1 + 4), its fork (4), a child (4), a spawned process (4, as module __mp_main__).
    assert calls["__main__.work"] == 1 + 4 + 4 + 4
    assert calls["__mp_main__.work"] == 4
    fib = [1, 1, 3, 5, 9, 15, 25, 41, 67, 109]
    total = sum(sum(fib[:n]) for n in (5, *range(6, 10), *range(4, 8), *range(5, 9)))
    assert calls["__main__.fib"] == total
    tasks = fg.summary()["tasks"]
    assert len({task["pid"] for task in tasks}) >= 4
    names = Counter(task["name"] for task in tasks)
    assert all(names[f"worker {i}"] == 4 for i in range(4)), names
    # trace-cmd prints "NAME-TID"; it knows no space in a name.
    assert sum("worker" in line for line in trace_cmd(fg.trace)) > total


def test_short_lived_threads_in_few_lanes(fg: Funcgraph) -> None:
    script = fg.script(
        """
        import threading
        def work(n):
            return n and work(n - 1)
        for i in range(500):
            thread = threading.Thread(target=work, args=(i % 5,))
            thread.start()
            thread.join()
        """
    )
    assert fg.record("-q", script).returncode == 0
    check(fg, fg.trace)
    assert len(read_trace(fg.trace).lanes) < 10
