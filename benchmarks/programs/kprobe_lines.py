"""Times a loop of ten lines with a kprobe; prints {"lines": L, "hits": H, "seconds": {"untraced": [...]}}.

Usage: kprobe_lines.py TURNS ROUNDS

"elsewhere": the probe is on a line of the same function that the loop never executes. "hit": it is on a
line of the loop, with a handler that does nothing. "reading": the handler reads a variable. "monitoring": a
callback of sys.monitoring on that line reads the variable through sys._getframe. All run in turn, ROUNDS
times.
"""

import contextlib
import json
import sys
import time

import funcgraph

TOOL_ID = 4
LINES = 10


def loop(turns):
    a = b = c = 0
    for _ in range(turns):
        a = a + 1
        b = b + 2
        c = a + b
        a = c - b
        b = a + 1
        c = b - 1
        a = c + 2
        b = b + a - c
        c = 3  # the probed line
    if turns < 0:
        c = 4  # never executed
    return c


FIRST = loop.__code__.co_firstlineno
PROBED, ELSEWHERE = FIRST + 11, FIRST + 13


def nothing(kprobe, regs):
    pass


def reading(kprobe, regs):
    regs.get_local("c")


def on_line(code, line):
    if line != PROBED:
        return sys.monitoring.DISABLE
    sys._getframe(1).f_locals["c"]
    return None


def probed(handler, line):
    return lambda: funcgraph.probed(funcgraph.Kprobe(handler, loop, line=line))


@contextlib.contextmanager
def monitored():
    monitoring = sys.monitoring
    monitoring.use_tool_id(TOOL_ID, "lines")
    monitoring.register_callback(TOOL_ID, monitoring.events.LINE, on_line)
    monitoring.set_local_events(TOOL_ID, loop.__code__, monitoring.events.LINE)
    yield
    monitoring.set_local_events(TOOL_ID, loop.__code__, 0)
    monitoring.register_callback(TOOL_ID, monitoring.events.LINE, None)
    monitoring.free_tool_id(TOOL_ID)


def variants():
    found = {
        "untraced": contextlib.nullcontext,
        "elsewhere": probed(nothing, ELSEWHERE),
        "hit": probed(nothing, PROBED),
        "reading": probed(reading, PROBED),
    }
    if hasattr(sys, "monitoring"):
        found["monitoring"] = monitored
    return found


def timed(turns, variant):
    with variant() as kprobe:
        loop(1000)
        start = time.perf_counter()
        loop(turns)
        seconds = time.perf_counter() - start
        assert kprobe is None or kprobe.hits == (turns + 1000 if kprobe.line == PROBED else 0)
        return seconds


def main(turns, rounds):
    found = variants()
    seconds = {name: [] for name in found}
    for _ in range(rounds):
        for name, variant in found.items():
            seconds[name].append(timed(turns, variant))
    print(json.dumps({"lines": LINES * turns, "hits": turns, "seconds": seconds}))


main(*map(int, sys.argv[1:]))
