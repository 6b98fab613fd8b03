"""Runs a mix of Python code, to measure what tracing costs functions that no filter matches.

Usage: mixed.py ROUNDS [evaluator]

Prints the seconds of each round as JSON. The filter matches only `requested`, which runs once. "evaluator"
sets a frame evaluator that does nothing (3.11), without funcgraph.
"""

import json
import re
import sys
import textwrap
import time


class Node:
    def __init__(self, key):
        self.key, self.left, self.right = key, None, None

    def insert(self, key):
        side = "left" if key < self.key else "right"
        child = getattr(self, side)
        if child is None:
            setattr(self, side, Node(key))
        else:
            child.insert(key)

    def __iter__(self):
        if self.left:
            yield from self.left
        yield self.key
        if self.right:
            yield from self.right


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def requested():
    return 1


def work():
    root = Node(500)
    for key in range(1, 400):
        root.insert(key * 7919 % 1000)
    keys = list(root)
    fib(16)
    text = json.dumps([{"key": key, "text": str(key)} for key in keys], indent=1)
    words = re.findall(r"\w+", textwrap.fill(text[:4000], 60))
    try:
        raise LookupError(words[0])
    except LookupError:
        return len(words)


def main():
    if "evaluator" in sys.argv[2:]:
        import least_callbacks

        least_callbacks.set_evaluator(False)
    requested()
    for _ in range(3):
        work()
    seconds = []
    for _ in range(int(sys.argv[1])):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()
