"""Times reading a trace, and prints one line: {"events": N, "seconds": {"columns": [...], ...}}.

Usage: open_trace.py TRACE ROUNDS

All ways run in turn, ROUNDS times.
"""

import json
import sys
import time

import funcgraph

WAYS = {
    "columns": lambda trace: sum(map(len, trace.columns())),
    "events": lambda trace: sum(1 for _ in trace.events()),
    "calls": lambda trace: sum(1 for _ in trace.calls()),
}


def main(path, rounds):
    seconds = {way: [] for way in WAYS}
    with funcgraph.open(path) as trace:
        for _ in range(rounds):
            for way, count in WAYS.items():
                start = time.perf_counter()
                found = count(trace)
                seconds[way].append(time.perf_counter() - start)
                assert found == trace.nr_events or (way == "calls" and found > 0), (way, found)
        print(json.dumps({"events": trace.nr_events, "seconds": seconds}))


main(sys.argv[1], int(sys.argv[2]))
