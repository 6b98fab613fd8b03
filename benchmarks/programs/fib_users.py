"""Times fib(N) with users in C, and prints one line: {"calls": C, "seconds": {"users": [...], ...}}.

Usage: fib_users.py N ROUNDS WHAT=USERS+OTHERS...

WHAT has USERS users of fib and OTHERS users of functions that never run. All run in turn, ROUNDS times.
"""

import json
import sys
import time

import native_users
from fib_calls import calls_of


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def timed(n, users, others):
    for _ in range(users):
        native_users.add("__main__.fib")
    for i in range(others):
        native_users.add(f"elsewhere{i}.*")
    fib(12)
    start = time.perf_counter()
    fib(n)
    seconds = time.perf_counter() - start
    counts = native_users.clear()
    expected = [calls_of(12) + calls_of(n)] * users + [0] * others
    assert counts == expected, (counts, expected)
    return seconds


def main(n, rounds, *variants):
    named = {}
    for variant in variants:
        name, _, counts = variant.partition("=")
        users, _, others = counts.partition("+")
        named[name] = (int(users), int(others))
    seconds = {name: [] for name in named}
    for _ in range(int(rounds)):
        for name, (users, others) in named.items():
            seconds[name].append(timed(int(n), users, others))
    print(json.dumps({"calls": calls_of(int(n)), "seconds": seconds}))


main(*sys.argv[1:])
