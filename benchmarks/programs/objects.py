"""Passes an object of ATTRIBUTES attributes to a function CALLS times, in ROUNDS rounds.

Prints the seconds of each round and the calls of one, as JSON.

Usage: objects.py ATTRIBUTES CALLS ROUNDS [PAUSE_S]
"""

import json
import sys
import time


class Order:
    def __init__(self, attributes):
        for n in range(attributes):
            setattr(self, f"field{n}", 1000 * n)

    def __repr__(self):  # for tools that call it
        return f"Order({vars(self)})"


def pay(order):
    return None


def round_of(order, calls):
    for _ in range(calls):
        pay(order)


def main():
    attributes, calls, rounds = map(int, sys.argv[1:4])
    pause = float(sys.argv[4]) if len(sys.argv) > 4 else 0.0
    order = Order(attributes)
    round_of(order, 100)  # CPython specialises it, and a tracer creates its records
    seconds = []
    for _ in range(rounds):
        time.sleep(pause)
        start = time.perf_counter()
        round_of(order, calls)
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"seconds": seconds, "calls": calls}))


if __name__ == "__main__":
    main()
