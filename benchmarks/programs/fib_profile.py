"""Times fib(N) under profilers, and prints one line: {"calls": C, "seconds": {"untraced": [...], ...}}.

Usage: fib_profile.py N ROUNDS

All run in turn, ROUNDS times, with all functions profiled. "function_graph" is the tracer of that name,
with a ring buffer that nobody reads.
"""

import contextlib
import cProfile
import json
import os
import shutil
import sys
import tempfile
import time

from fib_calls import calls_of

from funcgraph import FunctionProfile, _engine


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


@contextlib.contextmanager
def function_graph():
    folder = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    handle = _engine.start(folder, mode="overwrite")
    try:
        yield
    finally:
        _engine.stop(handle)
        shutil.rmtree(folder)


VARIANTS = {
    "untraced": contextlib.nullcontext,
    "function_graph": function_graph,
    "profile": FunctionProfile,
    "graph_time": lambda: FunctionProfile(graph_time=False),
    "sleep_time": lambda: FunctionProfile(sleep_time=False),
    "cProfile": cProfile.Profile,
}


def timed(n, variant):
    with VARIANTS[variant]() as profile:
        fib(12)
        start = time.perf_counter()
        fib(n)
        seconds = time.perf_counter() - start
    if isinstance(profile, FunctionProfile):
        [hits] = [row.hit for row in profile.rows() if row.name == "__main__.fib"]
        assert hits == calls_of(12) + calls_of(n), hits
    return seconds


def main(n, rounds):
    seconds = {variant: [] for variant in VARIANTS}
    for _ in range(rounds):
        for variant, times in seconds.items():
            times.append(timed(n, variant))
    print(json.dumps({"calls": calls_of(n), "seconds": seconds}))


main(*map(int, sys.argv[1:]))
