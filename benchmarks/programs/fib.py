"""Runs fib(N) ROUNDS times. Prints the seconds of each round and the calls of one round, as JSON.

Usage: fib.py N ROUNDS [PAUSE_S [empty|clock]]

In a pause before each round the recorder can empty the buffer. Without a pause it has to keep up.
"""

import json
import sys
import time

from fib_calls import calls_of


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def hook_with(kind):
    import least_callbacks

    if sys.version_info < (3, 12):
        least_callbacks.set_evaluator(kind == "clock")
        return
    callback = getattr(least_callbacks, kind)
    monitoring = sys.monitoring
    monitoring.use_tool_id(4, "least")
    monitoring.register_callback(4, monitoring.events.PY_START, callback)
    monitoring.register_callback(4, monitoring.events.PY_RETURN, callback)
    monitoring.set_local_events(4, fib.__code__, monitoring.events.PY_START | monitoring.events.PY_RETURN)


def main():
    n, rounds = int(sys.argv[1]), int(sys.argv[2])
    pause = float(sys.argv[3]) if len(sys.argv) > 3 else 0.0
    if len(sys.argv) > 4:
        hook_with(sys.argv[4])
    fib(12)  # CPython specialises it, and a tracer creates its records
    seconds = []
    for _ in range(rounds):
        if pause:
            time.sleep(pause)
        start = time.perf_counter()
        fib(n)
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"seconds": seconds, "calls": calls_of(n)}))


if __name__ == "__main__":
    main()
