"""Calls a function that does nothing, without end. Prints {"calls": N, "seconds": [S], "cpu_s": C}.

Usage: loop.py N
"""

import json
import sys
import time


def step():
    pass


def main(calls):
    for _ in range(1000):
        step()  # CPython specialises the call, and a tracer creates its records
    start, cpu_start = time.perf_counter(), time.process_time()
    for _ in range(calls):
        step()
    seconds, cpu_s = time.perf_counter() - start, time.process_time() - cpu_start
    print(json.dumps({"calls": calls, "seconds": [seconds], "cpu_s": cpu_s}))


main(int(sys.argv[1]))
