"""Times fib(N) with pairs of Python callbacks, and prints {"calls": C, "seconds": {"untraced": [...], ...}}.

Usage: fib_callbacks.py N ROUNDS

Each pair runs twice: given to sys.monitoring directly, and as a user of funcgraph. A "trivial" pair only
returns, a "counting" pair counts calls by the function's name. All run in turn, ROUNDS times.
"""

import contextlib
import json
import sys
import time

from fib_calls import calls_of

import funcgraph

TOOL_ID = 4


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def trivial_start(code, offset):
    return True


def trivial_end(code, offset, value):
    return None


def trivial_entry(trace, ops, regs):
    return True


def trivial_return(trace, ops, regs):
    return None


counts = {"fib": 0, "__main__.fib": 0}


def counting_start(code, offset):
    counts[code.co_qualname] += 1


def counting_end(code, offset, value):
    counts[code.co_qualname] += 1


def counting_entry(trace, ops, regs):
    counts[trace.func.name] += 1
    return True


def counting_return(trace, ops, regs):
    counts[trace.func.name] += 1


@contextlib.contextmanager
def monitored(start, end):
    monitoring = sys.monitoring
    events = monitoring.events.PY_START, monitoring.events.PY_RETURN
    monitoring.use_tool_id(TOOL_ID, "pair")
    for event, callback in zip(events, (start, end), strict=True):
        monitoring.register_callback(TOOL_ID, event, callback)
    monitoring.set_local_events(TOOL_ID, fib.__code__, sum(events))
    yield
    monitoring.set_local_events(TOOL_ID, fib.__code__, 0)
    for event in events:
        monitoring.register_callback(TOOL_ID, event, None)
    monitoring.free_tool_id(TOOL_ID)


def registered(entry, end):
    return funcgraph.registered(funcgraph.FgraphOps(entry, end, filter=["__main__.fib"], name="pair"))


def variants():
    found = {
        "untraced": contextlib.nullcontext,
        "trivial": lambda: registered(trivial_entry, trivial_return),
        "counting": lambda: registered(counting_entry, counting_return),
    }
    if hasattr(sys, "monitoring"):
        found["monitoring trivial"] = lambda: monitored(trivial_start, trivial_end)
        found["monitoring counting"] = lambda: monitored(counting_start, counting_end)
    return found


def timed(n, variant):
    with variant():
        fib(12)
        start = time.perf_counter()
        fib(n)
        return time.perf_counter() - start


def main(n, rounds):
    found = variants()
    seconds = {name: [] for name in found}
    for _ in range(rounds):
        for name, variant in found.items():
            seconds[name].append(timed(n, variant))
    expected = 2 * rounds * (calls_of(12) + calls_of(n))
    assert counts["__main__.fib"] == expected, (counts, expected)
    assert counts["fib"] == (expected if hasattr(sys, "monitoring") else 0), (counts, expected)
    print(json.dumps({"calls": calls_of(n), "seconds": seconds}))


main(*map(int, sys.argv[1:]))
