"""Times calls with a user in C that reads an argument by name. Prints {"calls": C, "seconds": {...}}.

Usage: arguments.py CALLS ROUNDS READS...

The user reads the argument READS times at each entry. All READS run in turn, ROUNDS times.
"""

import json
import sys
import time

import native_users

ARGUMENT = "third"


def called(first, second, third, *rest, key=None):
    pass


def timed(calls, reads):
    native_users.add_reading("__main__.called", ARGUMENT, reads)
    called(1, 2, 3)
    start = time.perf_counter()
    for _ in range(calls):
        called(1, 2, 3)
    seconds = time.perf_counter() - start
    counts = native_users.clear()
    assert counts == [calls + 1], counts
    return seconds


def main(calls, rounds, *variants):
    seconds = {reads: [] for reads in variants}
    for _ in range(int(rounds)):
        for reads in variants:
            seconds[reads].append(timed(int(calls), int(reads)))
    print(json.dumps({"calls": int(calls), "seconds": seconds}))


main(*sys.argv[1:])
