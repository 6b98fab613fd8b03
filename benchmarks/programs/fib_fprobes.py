"""Times fib(N, 2) with fprobes on it, and prints {"calls": C, "seconds": {"untraced": [...], ...}}.

Usage: fib_fprobes.py N ROUNDS OTHERS

"C" is an fprobe whose C entry handler reads both arguments; "entry" is the same without an exit handler.
"others" has no fprobe on fib and OTHERS on other functions; "both" has both. "python" is an fprobe whose
Python handlers read both arguments and the result. "monitoring" is a pair given to sys.monitoring that
reads the same through sys._getframe. "least" is a pair in C given to sys.monitoring that does nothing; on
3.11 it is a frame evaluator that does nothing. All run in turn, ROUNDS times.
"""

import contextlib
import json
import sys
import time

import least_callbacks
import native_fprobes
from fib_calls import calls_of

import funcgraph

TOOL_ID = 4


def fib(n, two):
    return n if n < two else fib(n - 1, two) + fib(n - two, two)


def make_others(count):
    scope = {"__name__": "elsewhere"}
    exec("\n".join(f"def f{i}(): pass" for i in range(count)), scope)
    return [scope[f"f{i}"] for i in range(count)]


@contextlib.contextmanager
def native(n, functions):
    for function in functions:
        native_fprobes.add(function)
    yield
    exits, _ = native_fprobes.clear()
    assert exits == ((calls_of(12) + calls_of(n)) if fib in functions else 0)


@contextlib.contextmanager
def native_entry(n, function):
    native_fprobes.add_entry(function)
    yield
    exits, total = native_fprobes.clear()
    assert (exits, total > 0) == (0, True)


totals = [0, 0]


def on_entry(fp, entry_ip, ret_ip, regs, entry_data):
    totals[0] += regs.get_argument(0) + regs.get_argument(1)


def on_exit(fp, entry_ip, ret_ip, regs, entry_data):
    totals[1] += regs.get_return_value()


def on_start(code, offset):
    values = sys._getframe(1).f_locals
    totals[0] += values["n"] + values["two"]


def on_return(code, offset, value):
    totals[1] += value


@contextlib.contextmanager
def monitored(*callbacks):
    monitoring = sys.monitoring
    events = monitoring.events.PY_START, monitoring.events.PY_RETURN
    monitoring.use_tool_id(TOOL_ID, "pair")
    for event, callback in zip(events, callbacks, strict=True):
        monitoring.register_callback(TOOL_ID, event, callback)
    monitoring.set_local_events(TOOL_ID, fib.__code__, sum(events))
    yield
    monitoring.set_local_events(TOOL_ID, fib.__code__, 0)
    for event in events:
        monitoring.register_callback(TOOL_ID, event, None)
    monitoring.free_tool_id(TOOL_ID)


@contextlib.contextmanager
def evaluated():
    least_callbacks.set_evaluator(False)
    yield
    least_callbacks.set_evaluator(None)


def variants(n, others):
    found = {
        "untraced": contextlib.nullcontext,
        "C": lambda: native(n, [fib]),
        "entry": lambda: native_entry(n, fib),
        "others": lambda: native(n, others),
        "both": lambda: native(n, [*others, fib]),
        "python": lambda: funcgraph.registered_fprobe(funcgraph.Fprobe(on_entry, on_exit), "__main__.fib"),
    }
    if hasattr(sys, "monitoring"):
        found["monitoring"] = lambda: monitored(on_start, on_return)
        found["least"] = lambda: monitored(least_callbacks.empty, least_callbacks.empty)
    else:
        found["least"] = evaluated
    return found


def timed(n, variant):
    with variant():
        fib(12, 2)
        start = time.perf_counter()
        fib(n, 2)
        return time.perf_counter() - start


def main(n, rounds, count):
    found = variants(n, make_others(count))
    seconds = {name: [] for name in found}
    sums = {name: set() for name in found}
    for _ in range(rounds):
        for name, variant in found.items():
            totals[:] = 0, 0
            seconds[name].append(timed(n, variant))
            sums[name].add(tuple(totals))
    assert sums["python"] == sums.get("monitoring", sums["python"]), sums
    assert len(sums["python"]) == 1, sums
    assert (0, 0) not in sums["python"], sums
    print(json.dumps({"calls": calls_of(n), "seconds": seconds}))


main(*map(int, sys.argv[1:]))
